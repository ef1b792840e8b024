import Foundation
import MeshBase
import MeshIdentity
import MeshTransport
import MeshVirtualTime
import MeshWire

@testable import MeshDelivery

/// Two cores and the link between them, on one thread and in virtual time, all from one seed.
struct CoreWorld {
    struct Conditions {
        var lane = LinkLane.datagram
        var lossRate = 0.3
        var duplicationRate = 0.1
        var reorderingRate = 0.33
        /// Latency in nanoseconds.
        var latency: ClosedRange<UInt64> = 5_000_000...50_000_000
        /// Nanoseconds that the link needs for each frame. Meanwhile any number of frames waits in the link.
        var frameTime: UInt64 = 0
        /// Probability that a connection breaks in one step.
        var breakRate = 0.0
        var cancelRate = 0.0
        var expiryRate = 0.0
        var features = 1
    }

    enum Side: Int, CaseIterable {
        case left, right
        var other: Side { self == .left ? .right : .left }
        var id: String { self == .left ? "left" : "right" }
    }

    private enum Event {
        case arrival(Side, WireFrame, connection: Int)
        case tick(Side)
        case reconnect
    }

    let conditions: Conditions
    private(set) var random: SplitMix64
    private(set) var now: UInt64 = 1
    private var due = EventQueue<Event>()
    private var connection = 0
    private var isConnected = false
    private var lastArrival: [UInt64] = [0, 0]
    private var freeAt: [UInt64] = [0, 0]
    private var wakes: [UInt64] = [.max, .max]
    private var cores: [DeliveryCore]
    /// The messages that each side has handed to its caller.
    private(set) var delivered: [[(feature: String, sequence: UInt64)]] = [[], []]
    private(set) var accepted: [String: [UInt64]] = [:]
    private(set) var withdrawn: Set<String> = []
    /// The number of frames that each side has sent.
    private(set) var framesSent = [0, 0]
    /// The fraction of frames that a lossy lane loses from now on.
    var lossRate: Double
    /// Sides whose frames are lost, on any lane.
    var muted: Set<Side> = []
    private(set) var sequences: [String: UInt64] = [:]

    static let address: LinkAddress = "link"

    init(
        seed: UInt64, _ conditions: Conditions = Conditions(), earlierVersions: Set<Side> = []
    ) {
        self.conditions = conditions
        random = SplitMix64(seed: seed)
        lossRate = conditions.lossRate
        cores = Side.allCases.map { side in
            var configuration = DeliveryConfiguration()
            if earlierVersions.contains(side) { configuration.abilities = [] }
            let settings = DeliveryCore.Settings(configuration, lanes: [conditions.lane], codec: 2, codecs: [2])
            return DeliveryCore(localPeer: peer(side.id), settings: settings, outbox: UInt32(side.rawValue + 1))
        }
        connect()
    }

    private var time: DeliveryTime { DeliveryTime(elapsed: now, wall: 1_767_225_600_000 + now / 1_000_000) }

    subscript(side: Side) -> DeliveryCore { cores[side.rawValue] }

    private mutating func schedule(_ event: Event, at time: UInt64) { due.enter(event, at: time) }

    // MARK: Acting

    mutating func connect() {
        connection += 1
        isConnected = true
        for side in Side.allCases { cores[side.rawValue].connected(Self.address, as: nil, time) }
        for side in Side.allCases { settle(side) }
    }

    mutating func disconnect() {
        isConnected = false
        for side in Side.allCases { cores[side.rawValue].disconnected(Self.address, reason: nil, time) }
        for side in Side.allCases { settle(side) }
    }

    /// Ends and restarts one end of the connection, unnoticed by the other end.
    mutating func restartConnection(_ side: Side) {
        cores[side.rawValue].disconnected(Self.address, reason: nil, time)
        cores[side.rawValue].connected(Self.address, as: nil, time)
        settle(side)
    }

    /// - Returns: false if the core is full or has no peer yet.
    mutating func send(feature: String, options: DeliveryOptions = .init(), from side: Side = .left) throws -> Bool {
        let sequence = (sequences[feature] ?? 0) + 1
        let envelope = try encodedEnvelope(sequence, feature: feature)
        let item = DeliveryCore.Item(message: .envelope(envelope), byteCount: 100, options: options)
        guard case .accepted = try cores[side.rawValue].send(item, mode: .reliableEventually, to: nil, time) else {
            return false
        }
        sequences[feature] = sequence
        accepted[feature, default: []].append(sequence)
        settle(side)
        return true
    }

    mutating func cancel(feature: String, sequence: UInt64, from side: Side = .left) {
        let id = MessageID(metadata(sequence, feature: feature))
        if cores[side.rawValue].cancel(id) { withdrawn.insert("\(feature)#\(sequence)") }
        settle(side)
    }

    mutating func noteExpiry(feature: String, sequence: UInt64) { withdrawn.insert("\(feature)#\(sequence)") }

    /// Runs everything that is due within `nanoseconds`.
    mutating func advance(by nanoseconds: UInt64) {
        let target = now + nanoseconds
        while let next = due.nextTime, next <= target, let (time, event) = due.take() {
            now = max(now, time)
            switch event {
            case .arrival(let side, let frame, let number):
                guard isConnected, number == connection else { continue }
                do {
                    try cores[side.rawValue].receive(frame, on: conditions.lane, from: Self.address, self.time)
                } catch {
                    fatalError("a frame of this library cannot be read: \(error)")
                }
                settle(side)
            case .tick(let side):
                guard wakes[side.rawValue] <= now else { continue }
                wakes[side.rawValue] = .max
                cores[side.rawValue].tick(self.time)
                settle(side)
            case .reconnect: if !isConnected { connect() }
            }
        }
        now = target
    }

    mutating func breakConnection(for nanoseconds: UInt64) {
        guard isConnected else { return }
        disconnect()
        schedule(.reconnect, at: now + nanoseconds)
    }

    // MARK: Directives

    private mutating func settle(_ side: Side) {
        while true {
            let directives = cores[side.rawValue].takeDirectives()
            for arrival in directives.arrivals {
                if case .durable(let envelope) = arrival {
                    delivered[side.rawValue].append((envelope.metadata.featureID, envelope.metadata.sequence))
                }
            }
            for event in directives.diagnostics {
                if case .expired(let metadata?, _) = event {
                    withdrawn.insert("\(metadata.featureID)#\(metadata.sequence)")
                }
            }
            guard !directives.writable.isEmpty else { break }
            while let next = cores[side.rawValue].nextFrame(for: Self.address, time) {
                transmit(next.frame, from: side)
            }
        }
        let deadline = cores[side.rawValue].deadline
        if deadline < wakes[side.rawValue] {
            wakes[side.rawValue] = deadline
            schedule(.tick(side), at: max(deadline, now))
        }
    }

    private mutating func transmit(_ frame: WireFrame, from side: Side) {
        guard isConnected else { return }
        framesSent[side.rawValue] += 1
        let isLossy = conditions.lane == .datagram
        func draw(_ rate: Double) -> Bool { isLossy && random.happens(rate: rate) }
        let isLost = draw(lossRate) || muted.contains(side)
        let isDoubled = draw(conditions.duplicationRate)
        let isLate = draw(conditions.reorderingRate)
        guard !isLost else { return }
        freeAt[side.rawValue] = max(freeAt[side.rawValue], now) + conditions.frameTime
        for _ in 0..<(isDoubled ? 2 : 1) {
            var arrival = freeAt[side.rawValue] + latency()
            if isLate {
                arrival += latency() * 3
            } else {
                arrival = max(arrival, lastArrival[side.rawValue])
                lastArrival[side.rawValue] = arrival
            }
            schedule(.arrival(side.other, frame, connection: connection), at: arrival)
        }
    }

    private mutating func latency() -> UInt64 {
        conditions.latency.lowerBound + random.upTo(conditions.latency.upperBound - conditions.latency.lowerBound)
    }
}

func encodedEnvelope(_ sequence: UInt64, feature: String) throws -> AnySessionSyncEnvelope {
    AnySessionSyncEnvelope(
        metadata: metadata(sequence, feature: feature),
        payload: EncodedPayload(bytes: [UInt8](repeating: 1, count: 100), codec: CompactCodec()))
}
