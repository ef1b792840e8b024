#if UDP
    import MeshSecurity
    import NIOCore

    /// The one socket for the sealed datagrams of all peers. It answers nothing: who has no key of a connection that stands
    /// gets no byte back. Confined to the event loop.
    final class DatagramPort: ChannelInboundHandler, @unchecked Sendable {
        typealias InboundIn = AddressedEnvelope<ByteBuffer>

        /// Datagrams that one call to the system may bring, and the room for each.
        static let vectorCount = 32
        static let packetBytesMax = 2048

        private let channel: any Channel
        private unowned let hub: LinkHub
        /// An IPv6 socket speaks to IPv4 by mapped addresses.
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

        /// What the network says to single packets, such as that nobody is there, is no end of the socket.
        func errorCaught(context: ChannelHandlerContext, error: any Error) {}

        /// - Parameter done: is called once all have been handed to the system or have failed.
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
