#if UDP
    import MeshBase
    import NIOCore

    /// Splits the bytes from TLS into records. Holds at most one incomplete record.
    struct RecordDecoder {
        /// Maximum size of a body after the hello.
        static let bodyBytesMax = 64 << 10
        /// Maximum size of a body up to the hello.
        static let helloBytesMax = 1 << 10

        enum Failure: Error, Equatable, CustomStringConvertible {
            case tooLong(Int)
            case malformed(Record.Kind)

            var description: String {
                switch self {
                case .tooLong(let count): "a record of \(count) bytes, which is too long"
                case .malformed(let kind): "a malformed '\(kind)' record"
                }
            }
        }

        private var pending = ByteBuffer()
        /// Maximum size of the next record's body.
        var bodyBytesMax = RecordDecoder.helloBytesMax

        /// The number of bytes held.
        var pendingBytes: Int { pending.readableBytes }

        mutating func append(_ bytes: ByteBuffer) {
            if pending.readableBytes == 0 {
                pending = bytes
            } else {
                pending.discardReadBytes()
                pending.writeImmutableBuffer(bytes)
            }
        }

        /// Returns the next record, or nil if it isn't complete yet.
        /// - Throws: `Failure`. The decoder can't continue after it.
        mutating func next() throws(Failure) -> Record? {
            guard let length = pending.getInteger(at: pending.readerIndex, as: UInt32.self) else { return nil }
            guard length <= bodyBytesMax else { throw .tooLong(Int(clamping: length)) }
            guard pending.readableBytes >= Record.headerBytes + Int(length) else { return nil }
            pending.moveReaderIndex(forwardBy: 4)
            guard let number = pending.readInteger(as: UInt8.self), let body = pending.readSlice(length: Int(length))
            else {
                return nil
            }
            guard let kind = Record.Kind(rawValue: number) else { return .unknown(number) }
            guard let record = Self.record(kind, body) else { throw .malformed(kind) }
            return record
        }

        private static func record(_ kind: Record.Kind, _ body: ByteBuffer) -> Record? {
            switch kind {
            case .hello: hello(body).map { .hello($0) }
            case .stream: .stream(body)
            case .datagram: .datagram(body)
            case .ping: .ping
            case .pong: .pong
            case .goodbye: goodbye(body).map { .goodbye($0) }
            case .datagramsReceived: .datagramsReceived
            }
        }

        private static func hello(_ body: ByteBuffer) -> Hello? {
            var body = body
            guard let (newest, oldest, startID) = body.readMultipleIntegers(as: (UInt8, UInt8, UInt64).self),
                let publicKey = body.readBytes(length: Hello.publicKeyBytes),
                let port = body.readInteger(as: UInt16.self)
            else { return nil }
            return Hello(
                newest: newest, oldest: oldest, startID: startID, publicKey: publicKey, datagramPort: port,
                features: body.readInteger() ?? 0)
        }

        private static func goodbye(_ body: ByteBuffer) -> Goodbye? {
            var body = body
            guard let number = body.readInteger(as: UInt8.self) else { return nil }
            let detail = String(decoding: body.readableBytesView.prefix(Goodbye.detailBytesMax), as: UTF8.self)
            return Goodbye(code: Goodbye.Code(rawValue: number) ?? .protocolError, detail: detail.printable())
        }
    }
#endif
