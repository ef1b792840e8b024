#if UDP
    import MeshSecurity
    import NIOCore

    /// The socket for the sealed datagrams of all peers. It answers nothing, so a sender without the key of an open
    /// connection gets no byte back. Confined to the event loop.
    final class DatagramPort: ChannelInboundHandler, @unchecked Sendable {
        typealias InboundIn = AddressedEnvelope<ByteBuffer>

        /// Maximum number of datagrams per system call.
        static let vectorCount = 32
        /// Maximum number of bytes in each datagram.
        static let packetBytesMax = 2048

        private let channel: any Channel
        private unowned let hub: LinkHub
        /// True for an IPv6 socket, which reaches IPv4 by mapped addresses.
        private let isIPv6: Bool

        init(_ channel: any Channel, _ hub: LinkHub) {
            self.channel = channel
            self.hub = hub
            isIPv6 = channel.localAddress?.protocol == .inet6
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let envelope = unwrapInboundIn(data)
            envelope.data.withUnsafeReadableBytes { hub.received(datagram: $0, from: envelope.remoteAddress) }
        }

        /// Ignores errors: a network error for one packet, such as an unreachable port, doesn't affect the socket.
        func errorCaught(context: ChannelHandlerContext, error: any Error) {}

        /// - Parameter done: Called once the system has accepted or refused all packets.
        func write(_ packets: [ByteBuffer], to address: SocketAddress, done: (() -> Void)? = nil) {
            guard let last = packets.last else { return }
            let address = isIPv6 ? address.mappedToIPv6 : address
            for packet in packets.dropLast() {
                channel.write(AddressedEnvelope(remoteAddress: address, data: packet), promise: nil)
            }
            let promise = done.map { done in
                let promise = channel.eventLoop.makePromise(of: Void.self)
                promise.futureResult.assumeIsolated().whenComplete { _ in done() }
                return promise
            }
            channel.writeAndFlush(AddressedEnvelope(remoteAddress: address, data: last), promise: promise)
        }
    }
#endif
