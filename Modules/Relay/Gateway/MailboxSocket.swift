#if WebSocket
    /// A WebSocket to a gateway that is open. Every call returns at once, from any thread; what a broken socket does not take is
    /// lost.
    protocol MailboxSocket: Sendable {
        func send(_ bytes: [UInt8])
        /// In good order.
        func close()
        /// As a broken cable does.
        func drop()
    }

    /// What happens on a socket, one call after another.
    protocol MailboxSocketObserver: AnyObject, Sendable {
        func opened(_ socket: any MailboxSocket)
        func received(_ bytes: [UInt8])
        /// So many bytes have left.
        func flushed(_ count: Int)
        /// The last call, of a socket that was opened. The code is the gateway's.
        func closed(_ code: UInt16?)
    }

    /// Returns once a socket is open, or throws.
    typealias MailboxDial = @Sendable (any MailboxSocketObserver) async throws -> Void
#endif
