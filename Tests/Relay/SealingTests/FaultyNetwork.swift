#if MQTT || WebSocket
    import MeshBase
    import MeshSecurity
    import MeshTransport

    @testable import MeshRelay

    /// Two peers at a broker in virtual time. While it is faulty, messages are late or rejected, peers freeze, and
    /// connections break with late wills. The broker keeps sessions and retained messages.
    struct FaultyNetwork {
        private struct Place {
            var isThere = false
            var standsStillUntil = Duration.zero
            var will: RelayMessage?
            var filters: [String] = []
            /// Messages that the broker will deliver, in order.
            var waiting: [RelayMessage] = []
            var tokens: UInt8 = 0
            var isConnected = false
        }

        private(set) var cores: [RelayLinkCore]
        private var places = [Place(), Place()]
        private var lateWills: [(due: Duration, will: RelayMessage)] = []
        /// The newest message of each topic, in order of arrival, so that a seed replays independently of the peers'
        /// IDs.
        private var retained: [RelayMessage] = []
        private var random: SplitMix64
        private var isFaulty = true
        private var now = Duration.seconds(1)
        private(set) var received: [[[UInt8]]] = [[], []]

        init(seed: UInt64) throws {
            random = SplitMix64(seed: seed)
            cores = try (0..<2).map { _ in
                try RelayLinkCore(
                    own: OwnKey(PeerIdentity()), limits: [.datagram: 60_000, .queue: 130_000, .latest: 130_000],
                    answerTime: .seconds(4))
            }
            let ids = cores.map(\.own.id)
            for index in 0..<2 { cores[index].trust([ids[1 - index]]) }
        }

        var areConnected: Bool { places.allSatisfy(\.isConnected) }

        mutating func wait(_ duration: Duration) {
            let end = now + duration
            while now < end { step() }
        }

        /// Ends losses and delays.
        mutating func recover() { isFaulty = false }

        mutating func send(_ byte: UInt8, from index: Int) throws {
            deliver(try cores[index].seal(LinkPacket(lane: .datagram, bytes: [byte]), to: cores[1 - index].own.id))
        }

        private mutating func happens(_ rate: Double) -> Bool { isFaulty && random.happens(rate: rate) }
        private mutating func moment(upTo seconds: UInt64) -> Duration { now + .seconds(Int(random.upTo(seconds))) }

        private mutating func step() {
            now += .milliseconds(250)
            for (_, will) in lateWills.filter({ $0.due <= now }) { deliver(will) }
            lateWills.removeAll { $0.due <= now }
            for index in 0..<2 {
                if !places[index].isThere {
                    if !happens(0.8) { connect(index) }
                } else if happens(0.01) {
                    disconnect(index)
                }
                if happens(0.01) { places[index].standsStillUntil = moment(upTo: 30) }
                guard !isFaulty || places[index].standsStillUntil <= now else { continue }
                if let due = cores[index].dueAt, due <= now { cores[index].tick(now) }
                perform(index)
                while places[index].isThere, !places[index].waiting.isEmpty, !happens(0.3) { read(index) }
            }
        }

        private mutating func connect(_ index: Int) {
            places[index].tokens += 1
            places[index].will = cores[index].willConnect(token: [UInt8](repeating: places[index].tokens, count: 16))
            places[index].isThere = true
            cores[index].relayConnected()
            perform(index)
            cores[index].subscribed(now)
            perform(index)
        }

        private mutating func disconnect(_ index: Int) {
            places[index].isThere = false
            places[index].waiting.removeAll { !$0.isAcknowledged }
            if let will = places[index].will {
                lateWills.append((moment(upTo: 10), will))
            }
            cores[index].relayDisconnected()
            perform(index)
        }

        private mutating func read(_ index: Int) {
            let (message, now) = (places[index].waiting.removeFirst(), now)
            message.bytes.withUnsafeBytes { cores[index].received($0, on: message.topic, now) }
            perform(index)
        }

        private mutating func perform(_ index: Int) {
            for directive in cores[index].takeDirectives() {
                switch directive {
                case .publish(let message): if !happens(0.1) { deliver(message) }
                case .subscribe(let filters):
                    places[index].filters = filters
                    places[index].waiting += retained.filter { message in
                        filters.contains { Self.matches(message.topic, $0) }
                    }
                case .connected: places[index].isConnected = true
                case .disconnected: places[index].isConnected = false
                case .received(let bytes, _, _): received[index].append(bytes)
                case .found, .report, .connectedAsGuest, .unsubscribe: break
                }
            }
        }

        private mutating func deliver(_ message: RelayMessage) {
            if message.isRetained {
                retained.removeAll { $0.topic == message.topic }
                retained.append(message)
            }
            for index in 0..<2 where places[index].filters.contains(where: { Self.matches(message.topic, $0) }) {
                if places[index].isThere || message.isAcknowledged { places[index].waiting.append(message) }
            }
        }

        private static func matches(_ topic: String, _ filter: String) -> Bool {
            filter.hasSuffix("#") ? topic.hasPrefix(filter.dropLast()) : topic == filter
        }
    }
#endif
