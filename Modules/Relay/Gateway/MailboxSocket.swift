#if WebSocket
    /// An open WebSocket to a gateway. Its methods return at once, and can be called on any thread. A broken socket
    /// discards the bytes passed to `send`.
    protocol MailboxSocket: Sendable {
        func send(_ bytes: [UInt8])
        /// Closes the connection properly.
        func close()
        /// Breaks the connection, as a lost network does.
        func drop()
    }

    /// The receiver of a socket's events, one call at a time.
    protocol MailboxSocketObserver: AnyObject, Sendable {
        func opened(_ socket: any MailboxSocket)
        func received(_ bytes: [UInt8])
        /// Reports that this number of bytes has been sent.
        func flushed(_ count: Int)
        /// Reports the end of an opened socket, with the gateway's close code. It is the last call.
        func closed(_ code: UInt16?)
    }

    /// Opens a socket and reports it with `opened`. A failure is thrown, or reported with `closed` after `opened`.
    typealias MailboxDial = @Sendable (any MailboxSocketObserver) async throws -> Void
#endif
