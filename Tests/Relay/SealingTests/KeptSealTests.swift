#if MQTT || WebSocket
    import MeshSecurity
    import Testing

    @testable import MeshRelay

    struct KeptSealTests {
        private let sender: OwnKey
        private let receiver: OwnKey
        private let receiverKey: PeerKey

        init() throws {
            sender = try OwnKey(PeerIdentity())
            receiver = try OwnKey(PeerIdentity())
            receiverKey = try #require(PeerKey(receiver.compressedPublicKey, of: receiver.id))
        }

        private func open(_ bytes: [UInt8], _ opener: inout KeptOpener, topic: String = "t") throws -> [UInt8] {
            try bytes.withUnsafeBytes { bytes throws(SealError) in try opener.open(bytes, from: topic) }
        }

        @Test func `A sealed message is opened, in order, and adds 91 bytes`() throws {
            var sealer = try KeptSealer(from: sender, to: receiverKey)
            var opener = KeptOpener(from: sender.id, to: receiver)
            for size in [0, 1, 256, 130_000] {
                let bytes = [UInt8](repeating: UInt8(size & 0xFF), count: size)
                let sealed = try sealer.seal(bytes, for: "t")
                #expect(sealed.count == size + KeptSeal.overhead)
                #expect(try open(sealed, &opener) == bytes)
            }
            #expect(KeptSeal.overhead == 91)
        }

        @Test func `A waiting message is opened by a newly launched receiver`() throws {
            var sealer = try KeptSealer(from: sender, to: receiverKey)
            _ = try sealer.seal([1], for: "t")
            let waiting = try sealer.seal([2], for: "t")
            var opener = KeptOpener(from: sender.id, to: receiver)
            #expect(try open(waiting, &opener) == [2])
        }

        @Test func `Replayed and overtaken messages are rejected`() throws {
            var sealer = try KeptSealer(from: sender, to: receiverKey)
            var opener = KeptOpener(from: sender.id, to: receiver)
            let first = try sealer.seal([1], for: "t")
            let second = try sealer.seal([2], for: "t")
            #expect(try open(second, &opener) == [2])
            for message in [first, second] {
                #expect(throws: SealError.replayed) { try open(message, &opener) }
            }
            // An opener without memory accepts both.
            for (message, bytes) in [(first, [1]), (second, [2])] as [([UInt8], [UInt8])] {
                var forgetful = KeptOpener(from: sender.id, to: receiver)
                #expect(try open(message, &forgetful) == bytes)
            }
        }

        @Test
        func `A dropped message doesn't block later ones, and is rejected if it arrives after them`()
            throws
        {
            var sealer = try KeptSealer(from: sender, to: receiverKey)
            var opener = KeptOpener(from: sender.id, to: receiver)
            let messages = try (0..<5 as Range<UInt8>).map { try sealer.seal([$0], for: "t") }
            #expect(try open(messages[0], &opener) == [0])
            #expect(try open(messages[4], &opener) == [4])
            #expect(throws: SealError.replayed) { try open(messages[2], &opener) }
            let next = try sealer.seal([5], for: "t")
            #expect(try open(next, &opener) == [5])
        }

        @Test func `A restarted sender's messages are opened in addition to its earlier ones`() throws {
            var sealers = try (0..<2).map { _ in try KeptSealer(from: sender, to: receiverKey) }
            var opener = KeptOpener(from: sender.id, to: receiver)
            let earlier = try sealers[0].seal([1], for: "t")
            let later = try sealers[1].seal([2], for: "t")
            #expect(try open(later, &opener) == [2])
            #expect(try open(earlier, &opener) == [1])
            #expect(throws: SealError.replayed) { try open(earlier, &opener) }
        }

        @Test func `A lying trusted sender can't make a receiver hold more than its bounds`() throws {
            var sealer = try KeptSealer(from: sender, to: receiverKey)
            var opener = KeptOpener(from: sender.id, to: receiver)
            for index in 0..<KeptOpener.topicsMax {
                let sealed = try sealer.seal([], for: "\(index)")
                _ = try open(sealed, &opener, topic: "\(index)")
            }
            let more = try sealer.seal([], for: "one more")
            #expect(throws: SealError.exhausted) { try open(more, &opener, topic: "one more") }
            let known = try sealer.seal([1], for: "0")
            #expect(try open(known, &opener, topic: "0") == [1])
        }

        @Test func `A message that its sender sealed many launches ago isn't opened again`() throws {
            var opener = KeptOpener(from: sender.id, to: receiver)
            var messages: [[UInt8]] = []
            for launch in 0..<3 * KeptOpener.contextsMax {
                var sealer = try KeptSealer(from: sender, to: receiverKey)
                messages.append(try sealer.seal([UInt8(launch)], for: "t"))
                #expect(try open(messages[launch], &opener) == [UInt8(launch)])
            }
            for message in messages { #expect(throws: SealError.replayed) { try open(message, &opener) } }
        }

        @Test func `A message opens only under its topic, sender and receiver`() throws {
            var sealer = try KeptSealer(from: sender, to: receiverKey)
            let sealed = try sealer.seal([1, 2, 3], for: "t")
            var opener = KeptOpener(from: sender.id, to: receiver)
            #expect(throws: SealError.forged) { try open(sealed, &opener, topic: "u") }
            var stranger = KeptOpener(from: try OwnKey(PeerIdentity()).id, to: receiver)
            #expect(throws: SealError.forged) { try open(sealed, &stranger) }
            var other = KeptOpener(from: sender.id, to: try OwnKey(PeerIdentity()))
            #expect(throws: SealError.forged) { try open(sealed, &other) }
            #expect(try open(sealed, &opener) == [1, 2, 3])
        }

        @Test func `Every changed byte and every cut is detected, without any effect`() throws {
            var sealer = try KeptSealer(from: sender, to: receiverKey)
            let sealed = try sealer.seal([7, 8, 9], for: "t")
            var opener = KeptOpener(from: sender.id, to: receiver)
            for index in sealed.indices {
                var changed = sealed
                changed[index] ^= 1
                #expect(throws: SealError.self, "byte \(index)") { try open(changed, &opener) }
                #expect(throws: SealError.self, "cut at \(index)") { try open(Array(sealed[..<index]), &opener) }
            }
            #expect(try open(sealed, &opener) == [7, 8, 9])
        }
    }
#endif
