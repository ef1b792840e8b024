#if UDP
    import Foundation
    import NIOCore
    import NIOPosix
    import SessionMesh

    /// One end of a datagram connection over any transport.
    protocol DatagramEnd: AnyObject, Sendable {
        /// Passes all datagrams to the socket, or to its event loop, before it returns.
        func send(_ datagrams: [[UInt8]])
        func close() async
    }

    /// The baseline: bare SwiftNIO with one channel, and one flush for datagrams that are sent together.
    final class BareEnd: DatagramEnd, @unchecked Sendable {
        private let channel: any Channel
        /// The destination. The waiting side learns it from the first datagram. Used only on the event loop.
        private var remote: SocketAddress?

        var port: Int { channel.localAddress?.port ?? 0 }

        init(to port: Int?, receive: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) async throws {
            let handler = Handler(receive)
            channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelOption(.datagramVectorReadMessageCount, value: 32)
                .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 32 * 2048))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(handler) }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            let remote = try port.map { try SocketAddress(ipAddress: "127.0.0.1", port: $0) }
            try await channel.eventLoop.submit {
                self.remote = remote
                handler.end = self
            }.get()
        }

        func send(_ datagrams: [[UInt8]]) {
            let write: @Sendable () -> Void = { [self] in
                guard let remote else { return }
                for datagram in datagrams {
                    let data = channel.allocator.buffer(bytes: datagram)
                    channel.write(AddressedEnvelope(remoteAddress: remote, data: data), promise: nil)
                }
                channel.flush()
            }
            if channel.eventLoop.inEventLoop { write() } else { channel.eventLoop.execute(write) }
        }

        func close() async { try? await channel.close().get() }

        private final class Handler: ChannelInboundHandler, @unchecked Sendable {
            typealias InboundIn = AddressedEnvelope<ByteBuffer>

            weak var end: BareEnd?
            private let receive: @Sendable (UnsafeRawBufferPointer) -> Void

            init(_ receive: @escaping @Sendable (UnsafeRawBufferPointer) -> Void) { self.receive = receive }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                let envelope = unwrapInboundIn(data)
                if end?.remote == nil { end?.remote = envelope.remoteAddress }
                envelope.data.withUnsafeReadableBytes(receive)
            }
        }
    }

    /// The datagram lane of a `UDPLink`.
    final class LinkEnd: DatagramEnd, LinkObserver, @unchecked Sendable {
        let link: UDPLink
        private let receive: @Sendable (UnsafeRawBufferPointer) -> Void
        private let addresses = AsyncStream.makeStream(of: LinkAddress.self)
        private var address: LinkAddress?

        init(_ configuration: UDPLinkConfiguration, receive: @escaping @Sendable (UnsafeRawBufferPointer) -> Void)
            throws
        {
            link = UDPLink(configuration)
            self.receive = receive
            try link.open(self)
        }

        /// Returns once datagrams no longer travel over the stream.
        func connect() async throws {
            for await address in addresses.stream {
                self.address = address
                break
            }
            while true {
                let before = link.statistics.datagramsSent
                send([[DatagramMeter.Kind.ignored.rawValue]])
                try await Task.sleep(for: .milliseconds(10))
                if link.statistics.datagramsSent > before { return }
            }
        }

        func send(_ datagrams: [[UInt8]]) {
            guard let address else { return }
            // Datagrams that don't fit are lost, as with bare SwiftNIO.
            for datagram in datagrams { try? link.send(LinkPacket(lane: .datagram, bytes: datagram), to: address) }
        }

        func close() async { await link.close() }

        func found(_ address: LinkAddress, as peerID: String?) {}
        func connected(_ address: LinkAddress, as peerID: String?) {
            self.address = address
            addresses.continuation.yield(address)
        }
        func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
            if lane == .datagram { receive(bytes) }
        }
        func writable(_ address: LinkAddress) {}
        func disconnected(_ address: LinkAddress, reason: String?) {}
        func failed(_ reason: String) {}
    }
#endif
