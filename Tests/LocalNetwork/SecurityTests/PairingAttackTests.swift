#if UDP
    import Crypto
    import MeshBase
    import Testing

    @testable import MeshSecurity

    /// An attacker between the two sides, who has a connection to each and answers with a key of its own.
    @Suite struct PairingAttackTests {
        private static let (initiator, responder, attacker) = (PeerID.sample(1), PeerID.sample(2), PeerID.sample(3))

        @Test func `A relay without the secret cannot pair by forwarding messages`() throws {
            let secret = PairingSecret(bytes: Array(1...16))
            var (left, right) = Self.victims(.secret(secret), seed: 1)
            let opening = try Self.sent(left.begin())
            _ = try right.begin()
            let answer = try Self.sent(right.receive(opening, now: .zero))
            // The proof covers the keys that each side has seen.
            #expect(caught(PairingError.self) { _ = try left.receive(answer, now: .zero) } == .wrongSecret)
            let reveal = PairingMessage(
                method: 1, role: .initiator, kind: .reveal, field: [UInt8](repeating: 0, count: 32))
            #expect(caught(PairingError.self) { _ = try right.receive(reveal.bytes, now: .zero) } == .wrongSecret)
        }

        @Test func `A relay between the two leads to different digits`() throws {
            var same = 0
            for seed in 0..<2000 {
                var (left, right) = Self.victims(.digits, seed: UInt64(seed))
                let opening = try Self.sent(left.begin())
                _ = try right.begin()
                let answer = try Self.sent(right.receive(opening, now: .zero))
                let shown = try left.receive(answer, now: .zero)
                // The commitment covers the keys, so the responder detects at once that it was made for others.
                let reveal = try Self.sent(shown)
                #expect(caught(PairingError.self) { _ = try right.receive(reveal, now: .zero) } == .wrongCommitment)
                same += try Self.codes(seed: UInt64(seed)) { $0 == $1 } ? 1 : 0
            }
            // The chance is one in a million each, so none among these seeds.
            #expect(same == 0)
        }

        @Test func `A committed side can't choose another nonce after it has seen the answer`() throws {
            for seed in 0..<200 {
                var random = SplitMix64(seed: UInt64(seed) + 1_000_000)
                var right = Self.victims(.digits, seed: UInt64(seed)).1
                var mine = Self.exchange(.digits, .initiator, Self.attacker, Self.responder, &random)
                _ = try right.begin()
                let answer = try Self.sent(right.receive(try Self.sent(mine.begin()), now: .zero))
                _ = try mine.receive(answer, now: .zero)
                let other = (0..<32).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
                let reveal = PairingMessage(method: 2, role: .initiator, kind: .reveal, field: other)
                #expect(
                    caught(PairingError.self) { _ = try right.receive(reveal.bytes, now: .zero) } == .wrongCommitment)
            }
        }

        @Test func `A forged agreement, or one over other digits, is detected`() throws {
            for method in [PairingExchange.Method.digits, .secret(PairingSecret(bytes: Array(1...16)))] {
                var meeting = PairingMeeting(methods: [method, method])
                meeting.between = { number, bytes in
                    bytes[3] == PairingMessage.Kind.agreement.rawValue
                        ? [Array(bytes.prefix(4)) + [UInt8](repeating: UInt8(number), count: 32)] : [bytes]
                }
                meeting.run()
                #expect(meeting.errors[0] == .wrongAgreement)
                #expect(meeting.paired[0] == nil)
            }
        }

        @Test func `Random bytes end the exchange and never trap`() throws {
            var random = SplitMix64(seed: 3)
            for method in [PairingExchange.Method.digits, .secret(PairingSecret(bytes: Array(1...16)))] {
                for round in 0..<5000 {
                    var (left, right) = Self.victims(method, seed: UInt64(round))
                    _ = try left.begin()
                    _ = try right.begin()
                    var bytes = (0..<Int(random.upTo(200))).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
                    // Most messages get past the header.
                    let header: [UInt8] = [1, method.number, UInt8(1 + random.upTo(1)), UInt8(1 + random.upTo(5))]
                    for (index, byte) in header.enumerated() where index < bytes.count && random.happens(rate: 0.95) {
                        bytes[index] = byte
                    }
                    if bytes.count > 36 { bytes[36] = UInt8(random.upTo(70)) }
                    for exchange in [left, right] {
                        var exchange = exchange
                        let steps = try? exchange.receive(bytes, now: .zero)
                        #expect(steps?.contains { if case .paired = $0 { true } else { false } } != true)
                        #expect((steps == nil) == exchange.isOver)
                    }
                }
            }
        }

        /// Compares the digits that two victims see when the attacker follows the protocol with both.
        private static func codes(seed: UInt64, _ compare: (String, String) -> Bool) throws -> Bool {
            var random = SplitMix64(seed: seed &+ 1_000_000)
            var (left, right) = victims(.digits, seed: seed)
            var toLeft = exchange(.digits, .responder, attacker, initiator, &random)
            var toRight = exchange(.digits, .initiator, attacker, responder, &random)
            _ = try toLeft.begin()
            _ = try right.begin()
            let answer = try sent(toLeft.receive(try sent(left.begin()), now: .zero))
            let shown = try left.receive(answer, now: .zero)
            let rightAnswer = try sent(right.receive(try sent(toRight.begin()), now: .zero))
            let reveal = try sent(toRight.receive(rightAnswer, now: .zero))
            guard case .compare(let first) = shown.last,
                case .compare(let second) = try right.receive(reveal, now: .zero).last
            else { throw PairingError.malformed }
            return compare(first, second)
        }

        /// Two victims that believe they are connected to the attacker's key, as TLS shows it to them.
        private static func victims(
            _ method: PairingExchange.Method, seed: UInt64
        ) -> (PairingExchange, PairingExchange) {
            var random = SplitMix64(seed: seed)
            return (
                exchange(method, .initiator, initiator, attacker, &random),
                exchange(method, .responder, responder, attacker, &random)
            )
        }

        private static func exchange(
            _ method: PairingExchange.Method, _ role: PairingExchange.Role, _ local: PeerID, _ remote: PeerID,
            _ random: inout SplitMix64
        ) -> PairingExchange {
            PairingExchange(
                method: method, role: role, local: local, remote: remote, localName: role.name, now: .zero,
                nonce: (0..<32).map { _ in UInt8.random(in: 0 ... .max, using: &random) })
        }

        private static func sent(_ steps: [PairingStep]) throws -> [UInt8] {
            guard case .send(let bytes) = steps.first else { throw PairingError.malformed }
            return bytes
        }
    }
#endif
