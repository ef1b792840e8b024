#if UDP
    import Foundation
    import MeshBase
    import MeshSecurity
    import MeshTestSupport
    import MeshTransport
    import NIOCore
    import NIOPosix
    import Testing

    @testable import MeshUDPTransport

    /// A peer of another implementation with a sealed channel to a link, and a socket to send anything from.
    private final class DatagramPeer: Sendable {
        let raw: RawPeer
        private let sealer: Locked<DatagramSealer>
        private let socket: any Channel
        let destination: SocketAddress
        private let heard = Locked<[[UInt8]]>([])

        init(_ link: TestPeer, _ identity: PeerIdentity) async throws {
            try link.trust(identity.peerID)
            raw = try await RawPeer.connect(to: try #require(link.link.port), .init(identity: identity))
            let heard = heard
            socket = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Ear(heard))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            let agreement = DatagramKeyAgreement()
            raw.greet(
                publicKey: agreement.publicKey, datagramPort: UInt16(try #require(socket.localAddress?.port)))
            let raw = raw
            try await eventually("a connection") { raw.hello != nil && link.recorder.isConnected }
            let hello = try #require(raw.hello)
            let sealed = try agreement.agree(
                with: hello.publicKey, local: identity.peerID, remote: link.id, isInitiator: true)
            sealer = Locked(sealed.sealer)
            destination = try SocketAddress(ipAddress: "127.0.0.1", port: Int(hello.datagramPort))
        }

        /// The packets that its socket has received.
        var packets: [[UInt8]] { heard.withLock { $0 } }

        func seal(_ bytes: [UInt8]) throws -> [UInt8] { try sealer.withLock { try $0.seal(bytes) } }

        func send(_ packet: [UInt8]) {
            socket.writeAndFlush(
                AddressedEnvelope(remoteAddress: destination, data: ByteBuffer(bytes: packet)), promise: nil)
        }

        func close() {
            raw.close()
            socket.close(promise: nil)
        }

        private final class Ear: ChannelInboundHandler {
            typealias InboundIn = AddressedEnvelope<ByteBuffer>

            private let heard: Locked<[[UInt8]]>

            init(_ heard: Locked<[[UInt8]]>) { self.heard = heard }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) {
                let bytes = Array(unwrapInboundIn(data).data.readableBytesView)
                heard.withLock { $0.append(bytes) }
            }
        }
    }

    @Suite struct SealedDatagramTests {
        @Test("Reordered datagrams arrive, replayed and forged ones do not")
        func replay() async throws {
            let watch = try TestPeer().open()
            let phone = try await DatagramPeer(watch, PeerIdentity())
            let packets = try (1...4).map { try phone.seal([UInt8($0)]) }
            var forged = packets[0]
            forged[forged.count - 1] ^= 1
            for packet in [packets[2], packets[0], packets[2], forged, packets[1], packets[0]] { phone.send(packet) }
            try await eventually("all of it") {
                watch.recorder.packets(on: .datagram).count == 3 && watch.link.statistics.datagramsRefused == 3
            }
            phone.send(packets[3])
            try await eventually("the next") { watch.recorder.packets(on: .datagram).count == 4 }
            #expect(watch.recorder.packets(on: .datagram) == [[3], [1], [2], [4]])
            #expect(watch.recorder.disconnectionCount == 0)
            phone.close()
            await watch.link.close()
        }

        @Test("A stranger's datagrams get no answer, whatever is in them")
        func strangers() async throws {
            let watch = try TestPeer().open()
            let phone = try await DatagramPeer(watch, PeerIdentity())
            try await eventually("a probe") { !phone.packets.isEmpty }
            let lengths = [0, 1, 8, 31, 32, 64, 1232]
            for length in lengths { phone.send(Array(repeating: 0xAB, count: length)) }
            phone.send(try phone.seal([1]))
            try await eventually("the good one") { watch.recorder.packets(on: .datagram) == [[1]] }
            #expect(watch.link.statistics.datagramsForeign == UInt64(lengths.count))
            // Only probes of 32 bytes have come back.
            #expect(phone.packets.allSatisfy { $0.count == SealedDatagrams.overhead })
            phone.close()
            await watch.link.close()
        }

        @Test("A delayed datagram redirects nothing, whatever its source address")
        func heldBack() async throws {
            let watch = try TestPeer(change: {
                $0.times.heartbeat = .seconds(1)
                $0.bounds.missedHeartbeatsMax = 1_000
            }).open()
            let phone = try await DatagramPeer(watch, PeerIdentity())
            let (held, newest) = (try phone.seal([1]), try phone.seal([2]))
            let heard = Locked(0)
            let attacker = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(Counter(heard))
                    }
                }
                .bind(host: "127.0.0.1", port: 0).get()
            phone.send(newest)
            try await eventually("the newest") { watch.recorder.packets(on: .datagram).count == 1 }
            try await attacker.writeAndFlush(
                AddressedEnvelope(remoteAddress: phone.destination, data: ByteBuffer(bytes: held)))
            try await eventually("the one held back") { watch.recorder.packets(on: .datagram).count == 2 }
            let before = phone.packets.count
            try await eventually("a probe") { phone.packets.count > before + 1 || heard.withLock { $0 } > 0 }
            #expect(heard.withLock { $0 } == 0)
            try await attacker.close()
            phone.close()
            await watch.link.close()
        }

        private final class Counter: ChannelInboundHandler {
            typealias InboundIn = AddressedEnvelope<ByteBuffer>

            private let count: Locked<Int>

            init(_ count: Locked<Int>) { self.count = count }

            func channelRead(context: ChannelHandlerContext, data: NIOAny) { count.withLock { $0 += 1 } }
        }

        @Test("Keys die with their connection")
        func keysDie() async throws {
            let watch = try TestPeer().open()
            let phone = try await DatagramPeer(watch, PeerIdentity())
            let late = try phone.seal([9])
            phone.raw.close()
            try await eventually("the end") { watch.recorder.disconnectionCount == 1 }
            let before = watch.link.statistics.datagramsForeign
            phone.send(late)
            try await eventually("a stranger's datagram") { watch.link.statistics.datagramsForeign == before + 1 }
            #expect(watch.recorder.packets(on: .datagram).isEmpty)
            phone.close()
            await watch.link.close()
        }

        @Test("Datagrams use the stream until the peer receives them, and again when it no longer does")
        func fallback() async throws {
            let watch = try TestPeer(change: { $0.times.heartbeat = .seconds(1) }).open()
            let phone = try await DatagramPeer(watch, PeerIdentity())
            let pings = Task {
                while !Task.isCancelled {
                    phone.raw.write { $0.writeRecord(.ping) }
                    try await Task.sleep(for: .milliseconds(50))
                }
            }
            defer { pings.cancel() }
            func overStream() -> Int {
                phone.raw.records.count { if case .datagram = $0 { true } else { false } }
            }
            func overSocket() -> Int { phone.packets.count { $0.count > SealedDatagrams.overhead } }
            try await watch.send([1], on: .datagram)
            try await eventually("the stream") { overStream() == 1 }
            #expect(overSocket() == 0)
            try await eventually("sealed datagrams once they are heard") {
                phone.raw.write { $0.writeRecord(.datagramsReceived) }
                try? watch.link.send(LinkPacket(lane: .datagram, bytes: [2]), to: watch.recorder.current ?? "")
                return overSocket() > 0
            }
            // The peer no longer confirms datagrams.
            let before = overStream()
            try await eventually("the stream again") {
                try? watch.link.send(LinkPacket(lane: .datagram, bytes: [3]), to: watch.recorder.current ?? "")
                return overStream() > before
            }
            try await eventually("sealed datagrams again") {
                phone.raw.write { $0.writeRecord(.datagramsReceived) }
                let count = overSocket()
                try? watch.link.send(LinkPacket(lane: .datagram, bytes: [4]), to: watch.recorder.current ?? "")
                return overSocket() > count
            }
            #expect(watch.recorder.disconnectionCount == 0)
            phone.close()
            await watch.link.close()
        }
    }
#endif
