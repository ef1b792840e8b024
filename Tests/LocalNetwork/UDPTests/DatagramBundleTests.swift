#if UDP
    import Foundation
    import MeshBase
    import MeshLocalNetworkLab
    import MeshSecurity
    import MeshTestSupport
    import MeshTransport
    import NIOCore
    import Testing

    @testable import MeshUDPTransport

    @Suite struct DatagramBundleTests {
        /// Both sides of a channel, used in one direction.
        private struct Channel: ~Copyable {
            var left: SealedDatagrams
            var right: SealedDatagrams

            init() throws {
                let (first, second) = (PeerIdentity().peerID, PeerIdentity().peerID)
                let left = DatagramKeyAgreement()
                let right = DatagramKeyAgreement()
                let keys = [left.publicKey, right.publicKey]
                let here = try left.agree(with: keys[1], local: first, remote: second, isInitiator: true)
                let there = try right.agree(with: keys[0], local: second, remote: first, isInitiator: false)
                self.left = here
                self.right = there
            }

            /// The messages in the packets, or nil if a packet is invalid or too long.
            mutating func open(_ packets: [ByteBuffer]) throws -> [[UInt8]]? {
                var messages: [[UInt8]] = []
                for packet in packets {
                    guard packet.readableBytes <= 1232 else { return nil }
                    let opened = try packet.withUnsafeReadableBytes { try right.opener.openPacket($0) }
                    let isWhole = opened.plaintext.withUnsafeBytes { plaintext in
                        guard opened.isBundle else {
                            messages.append(Array(plaintext))
                            return true
                        }
                        return DatagramBundle.read(plaintext) { messages.append(Array($0)) }
                    }
                    guard isWhole else { return nil }
                }
                return messages
            }
        }

        @Test("Messages of every length arrive whole and in order, bundled or not")
        func wholeAndInOrder() throws {
            for seed in 0..<40 as Range<UInt64> {
                var random = SplitMix64(seed: seed)
                let longest = [8, 300, 1200][Int.random(in: 0..<3, using: &random)]
                let messages = (0..<60).map { number in
                    [UInt8](repeating: UInt8(number), count: Int.random(in: 1...longest, using: &random))
                }
                for bundles in [false, true] {
                    var channel = try Channel()
                    let packets = DatagramBundle.seal(messages, bundles: bundles, with: &channel.left.sealer)
                    #expect(bundles || packets.count == messages.count)
                    let opened = try channel.open(packets)
                    #expect(opened == messages, "seed \(seed), bundles: \(bundles)")
                }
            }
        }

        @Test("Four messages of 256 bytes take one packet, and those that fill one take one each")
        func packetCounts() throws {
            var channel = try Channel()
            let small = [[UInt8]](repeating: [UInt8](repeating: 1, count: 256), count: 64)
            #expect(DatagramBundle.seal(small, bundles: true, with: &channel.left.sealer).count == 16)
            for count in 1196...1200 {
                let large = [[UInt8]](repeating: [UInt8](repeating: 1, count: count), count: 3)
                let packets = DatagramBundle.seal(large, bundles: true, with: &channel.left.sealer)
                #expect(packets.map(\.readableBytes) == [Int](repeating: count + 32, count: 3))
            }
        }

        @Test("A bundle with a cut or with false lengths is detected at once")
        func malformed() {
            let bundle: [UInt8] = [0, 2, 7, 7, 0, 1, 8, 0, 3, 9, 9, 9]
            let ends = [0, 4, 7, 12]
            for count in 0...bundle.count {
                var taken = 0
                let isWhole = bundle.prefix(count).withUnsafeBytes { bytes in
                    DatagramBundle.read(bytes) { _ in taken += 1 }
                }
                #expect(isWhole == ends.contains(count), "cut at \(count)")
                #expect(taken == ends.count { $0 > 0 && $0 <= count })
            }
            for lie in [[0, 0], [0, 0, 1], [255, 255, 1], [0, 1], [1, 0, 1]] as [[UInt8]] {
                #expect(!lie.withUnsafeBytes { DatagramBundle.read($0) { _ in } })
            }
        }

        @Test("In transit, a message can't become a bundle, nor a bundle a message")
        func turnedBit() throws {
            for bundles in [false, true] {
                var channel = try Channel()
                let messages: [[UInt8]] = bundles ? [[0, 1, 2], [3]] : [[0, 1, 2]]
                var packet = DatagramBundle.seal(messages, bundles: bundles, with: &channel.left.sealer)[0]
                let last: UInt8 = try #require(packet.getInteger(at: 7))
                packet.setInteger(last ^ 1, at: 7)
                #expect(throws: SealError.forged) { _ = try channel.open([packet]) }
                packet.setInteger(last, at: 7)
                let opened = try channel.open([packet])
                #expect(opened == messages)
            }
        }

        @Test("Each message of a burst between two links arrives once")
        func burst() async throws {
            let network = InMemoryNetwork()
            let (phone, watch) = try trustingPair(TestPeer(on: network), TestPeer(on: network))
            try phone.open()
            try watch.open()
            try await eventually("a connection") { phone.recorder.isConnected && watch.recorder.isConnected }
            try await eventually("sealed datagrams") {
                try? phone.link.send(LinkPacket(lane: .datagram, bytes: [0]), to: phone.recorder.current ?? "")
                return watch.link.statistics.datagramsReceived > 0
            }
            let messages = (1...100).map { [UInt8($0)] + [UInt8](repeating: 3, count: 40) }
            for message in messages { try await phone.send(message, on: .datagram) }
            try await eventually("all of it") {
                watch.recorder.packets(on: .datagram).count { $0.count == 41 } == messages.count
            }
            #expect(watch.recorder.packets(on: .datagram).filter { $0.count == 41 } == messages)
            #expect(watch.link.statistics.datagramsRefused == 0)
            await phone.link.close()
            await watch.link.close()
        }
    }
#endif
