#if UDP
    import Testing

    @testable import MeshSecurity

    @Suite struct PairingExchangeTests {
        static let secret = PairingSecret(bytes: Array(1...16))
        static let methods: [PairingExchange.Method] = [.secret(secret), .digits]

        @Test(arguments: methods) func `Two devices pair, and each learns the other's name`(
            method: PairingExchange.Method
        ) {
            var meeting = PairingMeeting(methods: [method, method], names: ["Phone\u{202E}", "Watch of Ada"])
            meeting.run()
            #expect(meeting.paired == ["Watch of Ada", "Phone"] && meeting.errors == [nil, nil])
            #expect(meeting.sides.allSatisfy { $0.isOver })
            #expect(meeting.messages.count == (method == .digits ? 5 : 4))
            #expect(meeting.messages.allSatisfy { $0.bytes.count <= PairingExchange.messageBytesMax })
            #expect(meeting.codes[0] == meeting.codes[1] && meeting.codes[0]?.count == (method == .digits ? 6 : nil))
        }

        @Test func `There are always six digits, the same on both devices`() {
            var codes: Set<String> = []
            for seed in 0..<400 {
                var meeting = PairingMeeting(seed: UInt64(seed))
                meeting.run()
                #expect(meeting.paired == ["Watch", "Phone"], "seed \(seed)")
                let code = meeting.codes[0] ?? ""
                #expect(code.utf8.count == 6 && code.utf8.allSatisfy { (48...57).contains($0) }, "seed \(seed)")
                codes.insert(code)
            }
            #expect(codes.count > 395)
            #expect(codes.contains { $0.hasPrefix("0") })
        }

        @Test func `Every nonce is new`() {
            let openings = (0..<50).map { _ -> [PairingStep]? in
                var exchange = PairingExchange(
                    method: .digits, role: .initiator, local: .sample(1), remote: .sample(2), localName: "", now: .zero)
                return try? exchange.begin()
            }
            #expect(Set(openings).count == 50)
        }

        @Test(arguments: methods) func `A message that differs by one bit ends the exchange for its receiver`(
            method: PairingExchange.Method
        ) {
            var honest = PairingMeeting(methods: [method, method])
            honest.run()
            for (index, message) in honest.messages.enumerated() {
                for bit in 0..<(8 * message.bytes.count) {
                    var meeting = PairingMeeting(methods: [method, method])
                    meeting.between = { number, bytes in
                        guard number == index else { return [bytes] }
                        var changed = bytes
                        changed[bit / 8] ^= 0x80 >> UInt8(bit % 8)
                        return [changed]
                    }
                    meeting.run()
                    #expect(meeting.paired[1 - message.from] == nil, "message \(index), bit \(bit)")
                    // The sender of a last message can't know that it was changed.
                    #expect(meeting.paired[message.from] == nil || index == honest.messages.count - 1 || index == 3)
                }
            }
        }

        @Test(arguments: methods) func `A message cut at any length, or longer, ends the exchange for its receiver`(
            method: PairingExchange.Method
        ) {
            var honest = PairingMeeting(methods: [method, method])
            honest.run()
            for (index, message) in honest.messages.enumerated() {
                let lengths = Array(0..<message.bytes.count) + [message.bytes.count + 1, 166, 167, 1 << 16]
                for length in lengths where length != message.bytes.count {
                    var meeting = PairingMeeting(methods: [method, method])
                    meeting.between = { number, bytes in
                        number == index
                            ? [Array((bytes + [UInt8](repeating: 0, count: length)).prefix(length))] : [bytes]
                    }
                    meeting.run()
                    let error = meeting.errors[1 - message.from]
                    #expect(error == (length > PairingExchange.messageBytesMax ? .oversized : .malformed), "\(length)")
                    #expect(meeting.paired[1 - message.from] == nil)
                }
            }
        }

        @Test(arguments: methods) func `A replayed message ends the exchange`(method: PairingExchange.Method) {
            for index in 0..<5 {
                var meeting = PairingMeeting(methods: [method, method])
                meeting.between = { number, bytes in number == index ? [bytes, bytes] : [bytes] }
                meeting.run()
                guard index < meeting.messages.count else { continue }
                let receiver = 1 - meeting.messages[index].from
                let isLast = meeting.paired[receiver] != nil
                #expect(meeting.errors[receiver] == (isLast ? .over : .outOfOrder), "\(index)")
            }
        }

        @Test(arguments: methods) func `A reflected message is detected, and so are two sides with one role`(
            method: PairingExchange.Method
        ) throws {
            var honest = PairingMeeting(methods: [method, method])
            honest.run()
            for (index, message) in honest.messages.enumerated() {
                var meeting = PairingMeeting(methods: [method, method])
                meeting.between = { number, bytes in number == index ? [] : [bytes] }
                meeting.run()
                meeting.attempt(message.from) { exchange throws(PairingError) in
                    try exchange.receive(message.bytes, now: .seconds(101))
                }
                let expected: PairingError = meeting.paired[message.from] == nil ? .reflected : .over
                #expect(meeting.errors[message.from] == expected, "\(index)")
            }
            for role in [PairingExchange.Role.initiator, .responder] {
                var meeting = PairingMeeting(methods: [method, method], roles: [role, role])
                meeting.run()
                #expect(meeting.paired == [nil, nil])
                #expect(meeting.errors == (role == .initiator ? [.reflected, .reflected] : [nil, nil]))
            }
            var alone = PairingMeeting(methods: [method, method], ids: [.sample(1), .sample(1)])
            alone.run()
            #expect(alone.errors == [.samePeer, .samePeer])
        }

        @Test(arguments: methods) func `A nonce reflected under the other role is detected`(
            method: PairingExchange.Method
        ) throws {
            var meeting = PairingMeeting(methods: [method, method])
            let nonce = meeting.sides[0].localNonce
            // The answer contains the initiator's own nonce. The digits would reveal it too late.
            meeting.between = { number, bytes in
                number == 1 ? [Array(bytes.prefix(4)) + nonce + bytes.dropFirst(36)] : [bytes]
            }
            meeting.run()
            #expect(meeting.errors[0] == .reflected && meeting.paired == [nil, nil])
        }

        @Test(arguments: methods) func `A message of any kind out of turn ends the exchange`(
            method: PairingExchange.Method
        ) throws {
            var honest = PairingMeeting(methods: [method, method])
            honest.run()
            for side in 0..<2 {
                let incoming = honest.messages.filter { $0.from != side }.map(\.bytes)
                for expected in 0...incoming.count {
                    for (index, bytes) in incoming.enumerated() where index != expected {
                        var exchange = PairingMeeting(methods: [method, method]).sides[side]
                        _ = try exchange.begin()
                        for earlier in incoming.prefix(expected) {
                            _ = try exchange.receive(earlier, now: .seconds(101))
                        }
                        let isOver = exchange.isOver
                        let error = caught(PairingError.self) {
                            _ = try exchange.receive(bytes, now: .seconds(101))
                        }
                        #expect(error == (isOver ? .over : .outOfOrder), "\(side) \(expected) \(index)")
                        #expect(caught(PairingError.self) { _ = try exchange.begin() } == .over)
                    }
                }
            }
        }

        @Test func `Nothing happens before begin, which works once`() throws {
            for side in 0..<2 {
                var exchange = PairingMeeting().sides[side]
                let refusal = PairingMessage(method: 2, role: exchange.role.other, kind: .refusal).bytes
                #expect(
                    caught(PairingError.self) { _ = try exchange.receive(refusal, now: .seconds(100)) } == .outOfOrder)
                exchange = PairingMeeting().sides[side]
                _ = try exchange.begin()
                #expect(caught(PairingError.self) { _ = try exchange.begin() } == .outOfOrder)
                #expect(exchange.isOver)
            }
        }

        @Test func `A wrong secret ends the exchange for both at the first message that proves it`() {
            for bit in 0..<128 {
                var other = Self.secret.bytes
                other[bit / 8] ^= 1 << UInt8(bit % 8)
                var meeting = PairingMeeting(secrets: [Self.secret, PairingSecret(bytes: other)])
                meeting.run()
                #expect(meeting.errors == [.wrongSecret, nil] && meeting.paired == [nil, nil])
                #expect(meeting.messages.count == 2)
                // A second attempt.
                #expect(caught(PairingError.self) { _ = try meeting.sides[0].receive([], now: .zero) } == .over)
            }
        }

        @Test func `The secret is never sent, and its proofs are never the same twice`() {
            var seen: Set<[UInt8]> = []
            for seed in 0..<50 {
                var meeting = PairingMeeting(secrets: [Self.secret, Self.secret], seed: UInt64(seed))
                meeting.run()
                for message in meeting.messages {
                    #expect(message.bytes.firstRange(of: Self.secret.bytes) == nil)
                    #expect(seen.insert(message.bytes).inserted)
                }
            }
        }

        @Test func `Different methods or versions can't pair`() throws {
            var meeting = PairingMeeting(methods: [.digits, .secret(Self.secret)])
            meeting.run()
            #expect(meeting.errors == [nil, .differentMethod])
            for version in UInt8.min ... .max where version != 1 {
                var other = PairingMeeting()
                other.between = { _, bytes in [[version] + bytes.dropFirst()] }
                other.run()
                #expect(other.errors == [nil, .unsupportedVersion])
            }
        }

        @Test func `A refusal is sent to the other side and ends the exchange for both`() throws {
            for side in 0..<2 {
                for hasOtherAgreed in [false, true] {
                    var (no, yes) = try Self.comparing(side)
                    if hasOtherAgreed {
                        guard case .send(let bytes) = try yes.confirm(true, now: .seconds(101)).first else { return }
                        #expect(try no.receive(bytes, now: .seconds(101)) == [])
                    }
                    let steps = try no.confirm(false, now: .seconds(102))
                    guard case .send(let refusal) = steps.first else { throw PairingError.malformed }
                    #expect(steps.count == 1 && no.isOver)
                    #expect(caught(PairingError.self) { _ = try yes.receive(refusal, now: .seconds(102)) } == .declined)
                    for call in 0..<2 {
                        let over = caught(PairingError.self) {
                            _ = try call == 0 ? no.confirm(true, now: .zero) : yes.confirm(true, now: .zero)
                        }
                        #expect(over == .over)
                    }
                }
            }
        }

        @Test func `A code cannot be confirmed before it is shown, or twice`() throws {
            for agrees in [true, false] {
                for side in 0..<2 {
                    var early = PairingMeeting().sides[side]
                    _ = try early.begin()
                    let error = caught(PairingError.self) { _ = try early.confirm(agrees, now: .seconds(100)) }
                    #expect(error == .outOfOrder && early.isOver)
                    var (exchange, _) = try Self.comparing(side)
                    _ = try exchange.confirm(true, now: .seconds(100))
                    let second = caught(PairingError.self) { _ = try exchange.confirm(agrees, now: .seconds(100)) }
                    #expect(second == .outOfOrder && exchange.isOver)
                }
            }
        }

        @Test func `Neither side trusts the other before both people have agreed`() throws {
            for side in 0..<2 {
                var (first, second) = try Self.comparing(side)
                let steps = try first.confirm(true, now: .seconds(101))
                guard case .send(let bytes) = steps.first else { throw PairingError.malformed }
                #expect(steps.count == 1)
                #expect(try second.receive(bytes, now: .seconds(101)) == [])
                #expect(try second.confirm(true, now: .seconds(101)).count == 2)
            }
        }

        @Test(arguments: methods) func `The exchange ends after 60 seconds, at any step`(
            method: PairingExchange.Method
        ) throws {
            for late in 0..<5 {
                var meeting = PairingMeeting(methods: [method, method])
                meeting.now = .seconds(160) - .nanoseconds(1)
                meeting.run()
                #expect(meeting.paired == ["Watch", "Phone"])
                guard late < meeting.messages.count else { continue }
                let side = 1 - meeting.messages[late].from
                var exchange = PairingMeeting(methods: [method, method]).sides[side]
                #expect(exchange.deadline == .seconds(160))
                _ = try exchange.begin()
                for message in meeting.messages.prefix(late) where message.from != side {
                    _ = try exchange.receive(message.bytes, now: .seconds(159))
                }
                var ticking = exchange
                try ticking.tick(now: .seconds(160) - .nanoseconds(1))
                #expect(caught(PairingError.self) { try ticking.tick(now: .seconds(160)) } == .timedOut)
                try ticking.tick(now: .seconds(200))
                for now in [Duration.seconds(160), .seconds(1_000_000)] {
                    var exchange = exchange
                    let bytes = meeting.messages[late].bytes
                    #expect(caught(PairingError.self) { _ = try exchange.receive(bytes, now: now) } == .timedOut)
                    #expect(caught(PairingError.self) { _ = try exchange.receive(bytes, now: .zero) } == .over)
                }
            }
        }

        /// Two sides that see the digits. The side with the given number comes first.
        private static func comparing(_ side: Int) throws -> (PairingExchange, PairingExchange) {
            var sides = PairingMeeting().sides
            func sent(_ steps: [PairingStep]) -> [UInt8] {
                guard case .send(let bytes) = steps.first else { return [] }
                return bytes
            }
            let opening = sent(try sides[0].begin())
            _ = try sides[1].begin()
            let answer = sent(try sides[1].receive(opening, now: .seconds(100)))
            let reveal = sent(try sides[0].receive(answer, now: .seconds(100)))
            _ = try sides[1].receive(reveal, now: .seconds(100))
            return (sides[side], sides[1 - side])
        }
    }
#endif
