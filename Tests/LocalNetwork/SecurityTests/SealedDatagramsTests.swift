#if UDP
    import Crypto
    import Foundation
    import MeshBase
    import Testing

    @testable import MeshSecurity

    @Suite struct SealedDatagramsTests {
        @Test func `Packets of every length can be sealed and opened both ways`() throws {
            let channel = try DatagramChannel()
            var random = SplitMix64(seed: 1)
            for count in Array(0...300) + [1200, 1472, 65_474, 65_475] {
                let plaintext = (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
                for (from, to) in [(channel.left, channel.right), (channel.right, channel.left)] {
                    let packet = try from.seal(plaintext)
                    #expect(packet.count == count + SealedDatagrams.overhead)
                    #expect(try to.open(packet) == plaintext)
                    #expect(packet.withUnsafeBytes(SealedDatagrams.keyID) == to.datagrams.localKeyID)
                    #expect(count < 16 || packet.firstRange(of: plaintext) == nil)
                }
            }
            #expect(channel.left.datagrams.localKeyID == channel.right.datagrams.remoteKeyID)
            #expect(channel.left.datagrams.localKeyID != channel.left.datagrams.remoteKeyID)
        }

        @Test func `A receiver without bundles refuses one, and its counter is not spent`() throws {
            let channel = try DatagramChannel()
            var bundle = [UInt8](repeating: 0, count: SealedDatagrams.overhead + 3)
            try bundle.withUnsafeMutableBytes { packet in
                try [UInt8]([0, 1, 9]).withUnsafeBytes { plaintext in
                    try channel.left.datagrams.sealer.seal(plaintext, isBundle: true, into: packet)
                }
            }
            #expect(channel.right.refusal(of: bundle) == .unknownKey)
            let opened = try bundle.withUnsafeBytes { try channel.right.datagrams.opener.openPacket($0) }
            #expect(opened.isBundle && Array(opened.plaintext) == [0, 1, 9])
            #expect(channel.right.refusal(of: bundle) == .unknownKey)
            var message = try channel.left.seal([1])
            message[7] ^= 1
            let error = caught(SealError.self) {
                _ = try message.withUnsafeBytes { bytes throws(SealError) in
                    try channel.right.datagrams.opener.openPacket(bytes)
                }
            }
            #expect(error == .forged)
        }

        @Test func `Sealer and opener work independently`() throws {
            let first = DatagramKeyAgreement()
            let second = DatagramKeyAgreement()
            let keys = [first.publicKey, second.publicKey]
            let left = try first.agree(with: keys[1], local: .sample(1), remote: .sample(2), isInitiator: true)
            let right = try second.agree(with: keys[0], local: .sample(2), remote: .sample(1), isInitiator: false)
            var sealer = left.sealer
            var opener = right.opener
            #expect(try opener.open(sealer.seal([1, 2, 3])) == [1, 2, 3])
        }

        @Test func `The newest packet is distinguished from overtaken ones`() throws {
            let channel = try DatagramChannel()
            let packets = try (0..<4).map { try channel.left.seal([UInt8($0)]) }
            #expect(channel.right.datagrams.opener.nextCounter == 0)
            for (packet, next) in [(2, 3), (0, 3), (3, 4), (1, 4)] as [(Int, UInt64)] {
                _ = try channel.right.open(packets[packet])
                #expect(channel.right.datagrams.opener.nextCounter == next)
            }
            var forged = packets[3]
            forged[15] = 200
            #expect(channel.right.refusal(of: forged) == .forged)
            #expect(channel.right.datagrams.opener.nextCounter == 4)
        }

        @Test func `A plaintext that is too long is not sealed, and a packet of that length is refused`() throws {
            let channel = try DatagramChannel()
            let plaintext = [UInt8](repeating: 0, count: SealedDatagrams.plaintextBytesMax + 1)
            #expect(caught(SealError.self) { _ = try channel.left.seal(plaintext) } == .oversized)
            #expect(channel.left.datagrams.sealer.counter == 0)
            #expect(channel.right.refusal(of: plaintext + [UInt8](repeating: 0, count: 32)) == .malformed)
            for count in 0..<32 {
                let short = [UInt8](repeating: 0, count: count)
                #expect(channel.right.refusal(of: short) == .malformed)
                #expect(short.withUnsafeBytes(SealedDatagrams.keyID) == nil)
            }
        }

        @Test func `A packet with a flipped bit is rejected, and the original is still accepted`() throws {
            for plaintext in [[], Array(1...70)] as [[UInt8]] {
                let channel = try DatagramChannel()
                let packet = try channel.left.seal(plaintext)
                for bit in 0..<(8 * packet.count) {
                    var changed = packet
                    changed[bit / 8] ^= 0x80 >> UInt8(bit % 8)
                    let expected: SealError = bit < 64 ? .unknownKey : .forged
                    #expect(channel.right.refusal(of: changed) == expected, "bit \(bit)")
                }
                #expect(try channel.right.open(packet) == plaintext)
            }
        }

        @Test func `A shortened or extended packet is rejected`() throws {
            let channel = try DatagramChannel()
            let packet = try channel.left.seal(Array(1...70))
            for count in 0..<packet.count {
                #expect(channel.right.refusal(of: Array(packet[..<count])) == (count < 32 ? .malformed : .forged))
            }
            #expect(channel.right.refusal(of: packet + [0]) == .forged)
            #expect(channel.right.refusal(of: packet + packet) == .forged)
            #expect(try channel.right.open(packet) == Array(1...70))
        }

        @Test func `A packet that is reflected, or belongs to another channel, is refused`() throws {
            let (channel, other) = (try DatagramChannel(), try DatagramChannel())
            let packet = try channel.left.seal([1])
            _ = try channel.right.seal([2])
            #expect(channel.left.refusal(of: packet) == .unknownKey)
            for end in [other.left, other.right] {
                #expect(end.refusal(of: packet) == .unknownKey)
                // The packet, under the key id that the end expects.
                let id = withUnsafeBytes(of: end.datagrams.localKeyID.bigEndian, Array.init)
                #expect(end.refusal(of: id + packet.dropFirst(8)) == .forged)
            }
            let id = withUnsafeBytes(of: channel.left.datagrams.localKeyID.bigEndian, Array.init)
            #expect(channel.left.refusal(of: id + packet.dropFirst(8)) == .forged)
        }

        @Test(arguments: 0..<30 as Range<UInt64>)
        func `Despite loss, duplicates and reordering, each packet is accepted at most once`(
            seed: UInt64
        ) throws {
            var random = SplitMix64(seed: seed)
            let channel = try DatagramChannel()
            let packets = try (0..<2500).map { try channel.left.seal(withUnsafeBytes(of: $0, Array.init)) }
            let spread = random.upTo(4000)
            let arriving = packets.indices.flatMap { index in
                (0..<random.upTo(3)).map { _ in (time: UInt64(index) + random.upTo(spread), index: index) }
            }.sorted { ($0.time, $0.index) < ($1.time, $1.index) }
            var accepted: Set<Int> = []
            var highest = -1
            for (_, index) in arriving {
                let isTooOld = highest - index >= Int(ReplayWindow.size)
                let expected: SealError? = isTooOld ? .tooOld : accepted.contains(index) ? .replayed : nil
                #expect(channel.right.refusal(of: packets[index]) == expected, "seed \(seed), packet \(index)")
                guard expected == nil else { continue }
                accepted.insert(index)
                highest = max(highest, index)
            }
            #expect(!accepted.isEmpty)
        }

        @Test func `A forged counter doesn't move the window`() throws {
            let channel = try DatagramChannel()
            let packets = try (0..<10).map { try channel.left.seal([$0]) }
            for counter in [10, 2000, 1 << 40, UInt64.max - 1] {
                let forged =
                    packets[0].prefix(8) + withUnsafeBytes(of: counter.bigEndian, Array.init) + packets[0].dropFirst(16)
                #expect(channel.right.refusal(of: Array(forged)) == .forged)
            }
            let last = packets[0].prefix(8) + [UInt8](repeating: 0xFF, count: 8) + packets[0].dropFirst(16)
            #expect(channel.right.refusal(of: Array(last)) == .malformed)
            for (index, packet) in packets.enumerated() { #expect(try channel.right.open(packet) == [UInt8(index)]) }
        }

        @Test func `The last counter is used once, and none after it`() throws {
            let key = DatagramKey(id: 7, key: SymmetricKey(data: [UInt8](repeating: 1, count: 32)))
            var sealer = DatagramSealer(key, counter: .max - 2)
            var opener = DatagramOpener(key)
            for number in UInt8(1)...2 { #expect(try opener.open(sealer.seal([number])) == [number]) }
            for _ in 0..<3 {
                #expect(caught(SealError.self) { _ = try sealer.seal([3]) } == .exhausted)
            }
            #expect(sealer.counter == .max)
        }

        @Test func `After 2^36 forgeries a key opens nothing more`() throws {
            let key = DatagramKey(id: 7, key: SymmetricKey(data: [UInt8](repeating: 1, count: 32)))
            var sealer = DatagramSealer(key)
            var opener = DatagramOpener(key, forgeries: DatagramOpener.forgeriesMax - 1)
            let packet = try sealer.seal([1])
            #expect(try opener.open(packet) == [1])
            var forged = try sealer.seal([2])
            forged[20] ^= 1
            #expect(caught(SealError.self) { _ = try opener.open(forged) } == .forged)
            let honest = try sealer.seal([3])
            #expect(caught(SealError.self) { _ = try opener.open(honest) } == .exhausted)
        }

        @Test func `Keys differ with the peers, the roles and every agreement`() throws {
            let privateKeys = [[UInt8](repeating: 1, count: 32), [UInt8](repeating: 2, count: 32)]
            var ids: Set<UInt64> = []
            for pair in [(1, 2), (2, 1), (1, 3), (3, 2)] as [(UInt8, UInt8)] {
                for keys in [privateKeys, privateKeys.reversed()] {
                    let peers = [PeerID.sample(pair.0), .sample(pair.1)]
                    let channel = try DatagramChannel(ids: peers, privateKeys: keys)
                    #expect(ids.insert(channel.left.datagrams.localKeyID).inserted)
                    #expect(ids.insert(channel.left.datagrams.remoteKeyID).inserted)
                }
            }
            for _ in 0..<20 { #expect(ids.insert(try DatagramChannel().left.datagrams.localKeyID).inserted) }
        }

        @Test func `Peers with the same role or different peer IDs can't read each other's packets`() throws {
            for (roles, remote) in [([true, true], UInt8(1)), ([true, false], 3)] {
                let first = DatagramKeyAgreement()
                let second = DatagramKeyAgreement()
                let keys = [first.publicKey, second.publicKey]
                let left = DatagramEnd(
                    try first.agree(with: keys[1], local: .sample(1), remote: .sample(2), isInitiator: roles[0]))
                let right = DatagramEnd(
                    try second.agree(with: keys[0], local: .sample(2), remote: .sample(remote), isInitiator: roles[1]))
                #expect(right.refusal(of: try left.seal([1])) == .unknownKey)
            }
        }

        @Test func `An invalid, weak or own public key is rejected`() {
            func refusal(_ publicKey: [UInt8]?) -> SealError? {
                let agreement = DatagramKeyAgreement()
                let publicKey = publicKey ?? agreement.publicKey
                do throws(SealError) {
                    _ = try agreement.agree(with: publicKey, local: .sample(1), remote: .sample(2), isInitiator: true)
                    return nil
                } catch {
                    return error
                }
            }
            for count in 0...70 where count != 32 {
                #expect(refusal([UInt8](repeating: 9, count: count)) == .malformed)
            }
            #expect(refusal(nil) == .malformed)
            // Points of low order on the curve: https://cr.yp.to/ecdh.html#validate
            let weak = [
                String(repeating: "00", count: 32), "01" + String(repeating: "00", count: 31),
                "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
                "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
                "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
                "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
            ]
            for point in weak { #expect(refusal(bytes(hex: point)) == .weakKey, "\(point)") }
        }

        @Test func `Random bytes are refused and never trap`() throws {
            var random = SplitMix64(seed: 9)
            let channel = try DatagramChannel()
            let id = withUnsafeBytes(of: channel.right.datagrams.localKeyID.bigEndian, Array.init)
            for _ in 0..<4000 {
                let noise = (0..<random.upTo(120)).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
                #expect(channel.right.refusal(of: noise) != nil)
                #expect(channel.right.refusal(of: id + noise) != nil)
            }
            #expect(try channel.right.open(channel.left.seal([1])) == [1])
        }
    }
#endif
