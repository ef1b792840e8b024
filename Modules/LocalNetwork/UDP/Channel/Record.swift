#if UDP
    import NIOCore

    /// What travels inside TLS: records of a length (4 bytes, of the body), a kind (1 byte) and a body. Numbers have the
    /// highest byte first. Kinds that are unknown are skipped, and so is what follows the known fields of a body.
    enum Record: Equatable {
        case hello(Hello)
        /// A piece of the lane `stream`.
        case stream(ByteBuffer)
        /// A packet of the lane `datagram`, which had no other way.
        case datagram(ByteBuffer)
        /// Somebody is here.
        case ping
        case pong
        case goodbye(Goodbye)
        /// Sealed datagrams of the receiver have been opened lately.
        case heard
        case unknown(UInt8)

        enum Kind: UInt8 {
            case hello = 1
            case stream, datagram, ping, pong, goodbye, heard
        }

        /// Length and kind.
        static let headerBytes = 5
    }

    /// The first record of either side, before which nothing is told to anybody.
    struct Hello: Equatable {
        static let version: UInt8 = 1
        static let publicKeyBytes = 32

        /// The newest and the oldest version that it speaks.
        var newest = Hello.version
        var oldest = Hello.version
        /// Drawn at random when the link began.
        var startID: UInt64
        /// Of the key agreement for datagrams, of this connection only.
        var publicKey: [UInt8]
        /// Where it receives datagrams; 0 for nowhere.
        var datagramPort: UInt16
        /// What it understands beside that; a bit for each.
        var features: UInt8 = 0

        /// Of `features`: sealed packets that hold several messages.
        static let bundles: UInt8 = 1
        /// Of `features`: a connection that is silent for five heartbeats, and dead only after ten.
        static let patience: UInt8 = 2

        var takesBundles: Bool { features & Self.bundles != 0 }
        var isPatient: Bool { features & Self.patience != 0 }

        var isUnderstood: Bool { oldest <= Self.version && newest >= Self.version }
    }

    /// Why a side ends a connection.
    struct Goodbye: Equatable, CustomStringConvertible {
        /// What the receiver makes of a code that it does not know is the same as `protocolError`: it comes again, ever later.
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
