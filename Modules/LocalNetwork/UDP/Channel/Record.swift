#if UDP
    import NIOCore

    // The protocol inside TLS; Docs/Internals/SecuritySpecification.md "The link" has its rules. Terms:
    // - record: a length (4 bytes, of the body), a kind (1 byte) and a body. Numbers are big-endian.
    // - hello: the first record of each side, with its versions, start ID, datagram key and datagram port.
    // - start ID: a random number that a link generates when it starts.
    // - goodbye: the last record of a side, with the reason for the end.
    // - datagrams received: the confirmation that the receiver's UDP datagrams arrive (see `DatagramPath`).

    /// A record of the protocol inside TLS. Receivers skip unknown kinds, and bytes after the known fields of a body.
    enum Record: Equatable {
        case hello(Hello)
        /// A piece of the lane `stream`.
        case stream(ByteBuffer)
        /// A packet of the lane `datagram` that can't go by UDP.
        case datagram(ByteBuffer)
        /// A request for a sign of life. The answer is `pong`.
        case ping
        case pong
        case goodbye(Goodbye)
        /// A confirmation that UDP datagrams of the receiver were opened recently.
        case datagramsReceived
        case unknown(UInt8)

        enum Kind: UInt8 {
            case hello = 1
            case stream, datagram, ping, pong, goodbye, datagramsReceived
        }

        /// The number of bytes of length and kind.
        static let headerBytes = 5
    }

    /// The first record of each side. The hub reports a connection to the observer only after it.
    struct Hello: Equatable {
        static let version: UInt8 = 1
        static let publicKeyBytes = 32

        /// The newest and the oldest protocol version that the sender supports.
        var newest = Hello.version
        var oldest = Hello.version
        /// The start ID of the sender's link.
        var startID: UInt64
        /// The sender's public key for datagrams, for this connection only.
        var publicKey: [UInt8]
        /// The UDP port at which the sender receives datagrams; 0 for none.
        var datagramPort: UInt16
        /// The optional features that the sender supports, one bit each.
        var features: UInt8 = 0

        /// The bit of `features` for sealed packets that hold several messages.
        static let bundles: UInt8 = 1
        /// The bit of `features` for a patient heartbeat: a ping after five silent beats, and death only after ten.
        static let patience: UInt8 = 2

        var acceptsBundles: Bool { features & Self.bundles != 0 }
        var isPatient: Bool { features & Self.patience != 0 }

        var isUnderstood: Bool { oldest <= Self.version && newest >= Self.version }
    }

    /// The reason for which a side ends a connection.
    struct Goodbye: Equatable, CustomStringConvertible {
        /// The codes of a goodbye. A receiver treats an unknown one as `protocolError` and retries with growing delays.
        enum Code: UInt8 {
            case closing = 1
            case duplicate, unpaired, unsupportedVersion, protocolError, clonedIdentity
        }

        static let detailBytesMax = 200

        var code: Code
        var detail = ""

        var description: String { detail.isEmpty ? "\(code)" : "\(code): \(detail)" }
    }

    // MARK: - Writing

    extension ByteBuffer {
        mutating func write(_ hello: Hello) {
            writeRecord(.hello) { body in
                body.writeMultipleIntegers(hello.newest, hello.oldest, hello.startID)
                body.writeBytes(hello.publicKey)
                body.writeInteger(hello.datagramPort)
                body.writeInteger(hello.features)
            }
        }

        mutating func write(_ goodbye: Goodbye) {
            writeRecord(.goodbye) { body in
                body.writeInteger(goodbye.code.rawValue)
                body.writeBytes(goodbye.detail.utf8.prefix(Goodbye.detailBytesMax))
            }
        }

        mutating func writeRecord(_ kind: Record.Kind, _ bytes: [UInt8] = []) {
            writeMultipleIntegers(UInt32(truncatingIfNeeded: bytes.count), kind.rawValue)
            writeBytes(bytes)
        }

        private mutating func writeRecord(_ kind: Record.Kind, _ body: (inout ByteBuffer) -> Void) {
            let start = writerIndex
            writeMultipleIntegers(UInt32(0), kind.rawValue)
            body(&self)
            setInteger(UInt32(truncatingIfNeeded: writerIndex - start - Record.headerBytes), at: start)
        }
    }
#endif
