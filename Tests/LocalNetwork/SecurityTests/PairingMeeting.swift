#if UDP
    import MeshBase

    @testable import MeshSecurity

    /// Two devices that pair, the connection between them, and two people who compare the digits.
    struct PairingMeeting {
        /// Both sides. The first is the initiator.
        var sides: [PairingExchange]
        /// Changes, drops or repeats a message. The index counts messages of both directions.
        var between: (_ index: Int, _ message: [UInt8]) -> [[UInt8]] = { [$1] }
        var now = Duration.seconds(100)

        private(set) var messages: [(from: Int, bytes: [UInt8])] = []
        private(set) var codes: [String?] = [nil, nil]
        private(set) var paired: [String?] = [nil, nil]
        private(set) var errors: [PairingError?] = [nil, nil]
        /// Messages in flight, oldest first.
        private var underWay: [(to: Int, bytes: [UInt8])] = []

        /// - Parameter secrets: the secrets of the two sides, or nil to compare digits.
        init(secrets: [PairingSecret]? = nil, seed: UInt64 = 1, names: [String] = ["Phone", "Watch"]) {
            self.init(
                methods: secrets.map { $0.map { .secret($0) } } ?? [.digits, .digits], seed: seed, names: names)
        }

        init(
            methods: [PairingExchange.Method], seed: UInt64 = 1, names: [String] = ["Phone", "Watch"],
            roles: [PairingExchange.Role] = [.initiator, .responder], ids: [PeerID] = [.sample(1), .sample(2)]
        ) {
            var random = SplitMix64(seed: seed)
            sides = (0..<2).map { side in
                PairingExchange(
                    method: methods[side], role: roles[side], local: ids[side], remote: ids[1 - side],
                    localName: names[side], now: .seconds(100),
                    nonce: (0..<32).map { _ in UInt8.random(in: 0 ... .max, using: &random) })
            }
        }

        /// Runs until no message is in flight.
        mutating func run() {
            for side in 0..<2 { attempt(side) { exchange throws(PairingError) in try exchange.begin() } }
            while !underWay.isEmpty || bothSee {
                if underWay.isEmpty {
                    compareCodes()
                } else {
                    let (side, bytes) = underWay.removeFirst()
                    let now = now
                    attempt(side) { exchange throws(PairingError) in try exchange.receive(bytes, now: now) }
                }
            }
        }

        private var bothSee: Bool {
            sides.allSatisfy { $0.stage == .comparing && !$0.hasAgreed } && codes.allSatisfy { $0 != nil }
        }

        private mutating func compareCodes() {
            let agree = codes[0] == codes[1]
            let now = now
            for side in 0..<2 {
                attempt(side) { exchange throws(PairingError) in try exchange.confirm(agree, now: now) }
            }
        }

        mutating func attempt(
            _ side: Int, _ body: (inout PairingExchange) throws(PairingError) -> [PairingStep]
        ) {
            guard errors[side] == nil else { return }
            do throws(PairingError) {
                for step in try body(&sides[side]) {
                    switch step {
                    case .send(let bytes):
                        for bytes in between(messages.count, bytes) { underWay.append((1 - side, bytes)) }
                        messages.append((side, bytes))
                    case .compare(let code): codes[side] = code
                    case .paired(let name): paired[side] = name
                    }
                }
            } catch {
                errors[side] = error
            }
        }
    }
#endif
