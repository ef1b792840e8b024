#if WebSocket
    import NIOCore

    /// The header that a proxy sends before a connection's own bytes, versions 1 and 2: HAProxy's PROXY protocol
    /// (https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt).
    ///
    /// Deviation: version 1 accepts TCP4 and TCP6 only with addresses of that family, and the additional fields (TLV) of
    /// version 2 are skipped unread.
    struct ProxyHeader: Equatable, Sendable {
        /// The error for bytes that aren't a header.
        struct Malformed: Error {}

        /// Maximum number of bytes of the addresses and additional fields in version 2.
        static let fieldBytesMax = 4096
        /// Maximum number of bytes of version 1, with its line end.
        static let lineBytesMax = 107
        private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10]
        private static let word = Array("PROXY ".utf8)

        /// The IP address of the proxy's client. nil if the proxy connects for itself, or doesn't know the address.
        var client: String?
        /// The number of bytes of the header.
        var byteCount: Int

        /// Reads the header at the beginning of a connection's bytes.
        ///
        /// - Returns: nil if more bytes are needed, at most `fieldBytesMax` + 16 in total.
        static func read(_ bytes: [UInt8]) throws(Malformed) -> ProxyHeader? {
            if bytes.starts(with: signature.prefix(bytes.count)) { return try readBinary(bytes) }
            guard bytes.starts(with: word.prefix(bytes.count)) else { throw Malformed() }
            return try readLine(bytes)
        }

        // MARK: Version 1

        private static func readLine(_ bytes: [UInt8]) throws(Malformed) -> ProxyHeader? {
            guard let end = bytes.prefix(lineBytesMax).firstIndex(of: 10) else {
                guard bytes.count < lineBytesMax else { throw Malformed() }
                return nil
            }
            guard bytes[end - 1] == 13 else { throw Malformed() }
            let fields = String(decoding: bytes[word.count..<end - 1], as: UTF8.self)
                .split(separator: " ", omittingEmptySubsequences: false).map(String.init)
            if fields.first == "UNKNOWN" { return ProxyHeader(client: nil, byteCount: end + 1) }
            guard fields.count == 5, UInt16(fields[3]) != nil, UInt16(fields[4]) != nil,
                let family = [("TCP4", "."), ("TCP6", ":")].first(where: { $0.0 == fields[0] })?.1,
                fields[1...2].allSatisfy({ $0.contains(family) && isAddress($0) })
            else { throw Malformed() }
            return ProxyHeader(client: fields[1], byteCount: end + 1)
        }

        /// Checks the characters only. Budgets parse addresses, and count one that they can't parse by its text.
        private static func isAddress(_ text: String) -> Bool {
            text.utf8.count <= 45 && text.allSatisfy { $0.isHexDigit && $0.isASCII || $0 == ":" || $0 == "." }
        }

        // MARK: Version 2

        private static func readBinary(_ bytes: [UInt8]) throws(Malformed) -> ProxyHeader? {
            guard bytes.count >= 16 else { return nil }
            let (version, command) = (bytes[12] >> 4, bytes[12] & 15)
            let count = Int(bytes[14]) << 8 | Int(bytes[15])
            guard version == 2, command <= 1, count <= fieldBytesMax else { throw Malformed() }
            guard bytes.count >= 16 + count else { return nil }
            let fields = bytes[16..<16 + count]
            let header = ProxyHeader(client: nil, byteCount: 16 + count)
            // The proxy's own connection, such as a health check.
            guard command == 1 else { return header }
            switch bytes[13] >> 4 {
            case 1:
                guard count >= 12 else { throw Malformed() }
                return ProxyHeader(
                    client: fields.prefix(4).map(String.init).joined(separator: "."), byteCount: 16 + count)
            case 2:
                guard count >= 36 else { throw Malformed() }
                let groups = stride(from: 16, to: 32, by: 2).map { UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]) }
                let text = groups.map { String($0, radix: 16) }.joined(separator: ":")
                return ProxyHeader(client: text, byteCount: 16 + count)
            // Unspecified, or a Unix socket.
            case 0, 3: return header
            default: throw Malformed()
            }
        }
    }

    /// Removes the header of a trusted proxy from a connection. Closes a connection that begins with anything else.
    final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
        typealias InboundIn = ByteBuffer
        typealias InboundOut = ByteBuffer

        private var received = ByteBuffer()
        private var hasHeader = false
        private var isClosed = false
        private let onClient: (String?) -> Bool

        /// - Parameter onClient: called with the client's address, nil for the proxy itself. Returns false to close.
        init(onClient: @escaping (String?) -> Bool) { self.onClient = onClient }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            if hasHeader { return context.fireChannelRead(data) }
            guard !isClosed else { return }
            var bytes = unwrapInboundIn(data)
            received.writeBuffer(&bytes)
            let header: ProxyHeader?
            do { header = try ProxyHeader.read(Array(received.readableBytesView)) } catch { return close(context) }
            guard let header else { return }
            guard onClient(header.client) else { return close(context) }
            hasHeader = true
            received.moveReaderIndex(forwardBy: header.byteCount)
            if received.readableBytes > 0 { context.fireChannelRead(wrapInboundOut(received)) }
            context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
        }

        private func close(_ context: ChannelHandlerContext) {
            isClosed = true
            context.close(promise: nil)
        }
    }
#endif
