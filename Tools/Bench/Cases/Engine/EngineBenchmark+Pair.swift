import MeshBase
import MeshBenchmarks
import MeshEngine
import MeshFoundation
import MeshIdentity

/// Two members that call each other directly: the phone submits and the watch receives.
struct Pair {
    typealias Engine = SessionSyncEngine<Int, Int, SummingReducer, AcceptingConflictPolicy<Int, Int>>

    static let batch = 256
    static let payloadType = "event"

    private var phone: Engine
    private var watch: Engine
    private var now = Date(timeIntervalSince1970: 1_767_225_600)

    init() throws {
        phone = Engine.benchmark("phone", SummingReducer())
        watch = Engine.benchmark("watch", SummingReducer())
        for _ in 0..<4 { try settle() }
    }

    /// Returns the time of submitting.
    mutating func submit(count: Int) throws -> Duration { try exchange(count).submit }

    /// Returns the time of receiving.
    mutating func receive(count: Int) throws -> Duration { try exchange(count).receive }

    /// Returns the time of submitting, receiving, acknowledging and confirming on both sides.
    mutating func round(count: Int) throws -> Duration {
        let start = ContinuousClock.now
        _ = try exchange(count)
        try settle()
        return ContinuousClock.now - start
    }

    private mutating func exchange(_ count: Int) throws -> (submit: Duration, receive: Duration) {
        let start = ContinuousClock.now
        let envelopes = try envelopes(count: count)
        let submitted = ContinuousClock.now
        for index in envelopes.indices { _ = try watch.receive(envelopes[index]) }
        let received = ContinuousClock.now
        return (submitted - start, received - submitted)
    }

    /// Returns events that the phone has submitted.
    mutating func envelopes(count: Int) throws -> [SessionSyncEnvelope<Int>] {
        now += 0.001
        var envelopes: [SessionSyncEnvelope<Int>] = []
        envelopes.reserveCapacity(count)
        for number in 0..<count { envelopes.append(try phone.submitLocal(number, at: now)) }
        return envelopes
    }

    /// Passes an event to the watch. Throws if the watch doesn't apply it.
    mutating func receive(_ envelope: SessionSyncEnvelope<Int>) throws {
        guard case .applied = try watch.receive(envelope) else { throw NotApplied() }
    }

    /// Exchanges acknowledgements, and delivers the messages that follow from them.
    mutating func settle() throws {
        for _ in 0..<2 {
            now += 0.001
            phone.tick(at: now)
            watch.tick(at: now)
            try deliver(phone.takeMessages(), to: \.watch)
            try deliver(watch.takeMessages(), to: \.phone)
        }
    }

    private mutating func deliver(
        _ messages: [SessionOutgoing<Int, Int>], to receiver: WritableKeyPath<Pair, Engine>
    ) throws {
        for message in messages {
            switch message {
            case .control(let envelope, _): try self[keyPath: receiver].receiveControl(envelope, at: now)
            case .events(let envelopes, _):
                for envelope in envelopes { _ = try self[keyPath: receiver].receive(envelope) }
            case .relay(let envelope, _): try self[keyPath: receiver].receiveRelay(envelope, at: now)
            case .checkpoint(let checkpoint, let metadata, _):
                try self[keyPath: receiver].adopt(checkpoint, from: metadata, at: now)
            }
        }
    }
}

/// The benchmark doesn't measure what it says: an event was not applied.
struct NotApplied: Error {}

/// A log whose receiver already holds the newest 100 events when an earlier one arrives.
struct LateArrivals {
    typealias Engine = SessionSyncEngine<Int, Int, SpinningReducer, AcceptingConflictPolicy<Int, Int>>

    static let depth = 100

    private var engine: Engine
    private let late: [SessionSyncEnvelope<Int>]
    private let start = Date(timeIntervalSince1970: 1_767_225_600)

    init(rounds: Int) throws {
        engine = Engine.benchmark("phone", SpinningReducer(rounds: rounds), isPaired: false)
        var author = Engine.benchmark("watch", SpinningReducer(rounds: 1), isPaired: false)
        let start = start
        late = try (0..<1_000).map { try author.submitLocal($0, at: start.addingTimeInterval(Double($0) + 0.5)) }
        for number in 0..<Self.depth {
            _ = try engine.submitLocal(number, at: start.addingTimeInterval(Double(number)))
        }
    }

    /// Returns the mean over many checkpoint phases.
    mutating func nanosecondsPerEvent() throws -> Double {
        var time = Duration.zero
        for (number, envelope) in late.enumerated() {
            // One new event at the end for each late event, so the depth stays the same.
            let moment = start.addingTimeInterval(Double(number + Self.depth))
            _ = try engine.submitLocal(number, at: moment)
            let begin = ContinuousClock.now
            _ = try engine.receive(envelope)
            time += ContinuousClock.now - begin
            if number % 64 == 63 { _ = engine.takeApplied() }
        }
        return time / .nanoseconds(1) / Double(late.count)
    }
}

/// Two devices that have written equally many events, alternating in time, while disconnected.
struct Merge<State: Codable & Sendable, Reducer: SessionSyncReducer<State, Int>> {
    typealias Engine = SessionSyncEngine<State, Int, Reducer, AcceptingConflictPolicy<State, Int>>

    private let initialState: State
    private let reducer: Reducer
    private let apart: Engine
    private let watchs: [SessionSyncEnvelope<Int>]
    // The events of both devices in their order.
    private let all: [SessionSyncEnvelope<Int>]

    init(_ count: Int, _ initialState: State, _ reducer: Reducer) throws {
        (self.initialState, self.reducer) = (initialState, reducer)
        func engine(_ peerID: String) -> Engine {
            Engine.benchmark(peerID, initialState, reducer, isPaired: false, ownMax: count)
        }
        let start = Date(timeIntervalSince1970: 1_767_225_600)
        var (phone, watch) = (engine("phone"), engine("watch"))
        let phones = try (0..<count).map { try phone.submitLocal($0, at: start.addingTimeInterval(Double($0))) }
        let watchs = try (0..<count).map { try watch.submitLocal($0, at: start.addingTimeInterval(Double($0) + 0.5)) }
        (apart, self.watchs) = (phone, watchs)
        all = zip(phones, watchs).flatMap { [$0, $1] }
    }

    /// Returns the time in which the phone merges the watch's events.
    /// - Parameter batchSize: The number of events in one answer of a peer.
    func merged(batchSize: Int) throws -> Duration {
        var engine = apart
        let begin = ContinuousClock.now
        var rest = watchs[...]
        while !rest.isEmpty {
            let batch = rest.prefix(batchSize)
            try engine.gather { for envelope in batch { _ = try $0.receive(envelope) } }
            _ = engine.takeApplied()
            rest = rest.dropFirst(batch.count)
        }
        engine.catchUp()
        _ = engine.takeApplied()
        return ContinuousClock.now - begin
    }

    /// Returns the time in which a third device applies both devices' events in order.
    func inOrder() throws -> Duration {
        var engine = Engine.benchmark("tablet", initialState, reducer, isPaired: false, ownMax: all.count)
        let begin = ContinuousClock.now
        for envelope in all {
            _ = try engine.receive(envelope)
            _ = engine.takeApplied()
        }
        return ContinuousClock.now - begin
    }
}

/// Two members whose state grows with each event.
struct GrowingPair {
    typealias Engine = SessionSyncEngine<[Int], Int, ListReducer, AcceptingConflictPolicy<[Int], Int>>

    private var phone: Engine
    private var watch: Engine
    private var now = Date(timeIntervalSince1970: 1_767_225_600)

    init(count: Int) throws {
        let list = Array(0..<count)
        phone = Engine.benchmark("phone", list, ListReducer())
        watch = Engine.benchmark("watch", list, ListReducer())
        for _ in 0..<4 { try settle() }
    }

    /// Returns the time of one event: submitted, received, acknowledged and confirmed on both sides.
    mutating func nanosecondsPerEvent(of count: Int) throws -> Double {
        let start = ContinuousClock.now
        for number in 0..<count {
            now += 0.01
            _ = try watch.receive(try phone.submitLocal(number, at: now))
            if number % 10 == 9 { try settle() }
        }
        return (ContinuousClock.now - start) / .nanoseconds(1) / Double(count)
    }

    private mutating func settle() throws {
        for _ in 0..<2 {
            now += 0.001
            phone.tick(at: now)
            watch.tick(at: now)
            let (phones, watchs) = (phone.takeMessages(), watch.takeMessages())
            for case .control(let envelope, _) in phones { try watch.receiveControl(envelope, at: now) }
            for case .control(let envelope, _) in watchs { try phone.receiveControl(envelope, at: now) }
        }
    }
}

extension SessionSyncEngine where State == Int, Event == Int {
    fileprivate static func benchmark(_ peerID: String, _ reducer: Reducer, isPaired: Bool = true) -> Self
    where ConflictPolicy == AcceptingConflictPolicy<Int, Int> {
        benchmark(peerID, 0, reducer, isPaired: isPaired)
    }
}

extension SessionSyncEngine where Event == Int {
    fileprivate static func benchmark(
        _ peerID: String, _ initialState: State, _ reducer: Reducer, isPaired: Bool = true, ownMax: Int? = nil
    ) -> Self where ConflictPolicy == AcceptingConflictPolicy<State, Int> {
        let members = ["phone", "watch"].map { SessionSource(peerID: $0, incarnation: 1) }
        var options = SessionEngineOptions<State, Int>()
        options.samplesReducer = false
        options.ownUnconfirmedMax = ownMax ?? options.ownUnconfirmedMax
        options.ownUnconfirmedBytesMax = .max
        options.catchesUpLater = true
        return Self(
            sessionID: UUID(uuid: (1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16)), featureID: "bench",
            localPeerID: peerID, payloadType: Pair.payloadType, snapshotPayloadType: "state",
            initialState: initialState, reducer: reducer, conflictPolicy: AcceptingConflictPolicy(), incarnation: 1,
            seed: 1, members: isPaired ? members : [], options: options)
    }

    fileprivate mutating func takeMessages() -> [SessionOutgoing<State, Int>] {
        _ = takeApplied()
        let directives = takeDirectives()
        if let last = directives.confirmed.last { markSideEffects(through: last.position) }
        return directives.outgoing
    }
}

struct SummingReducer: SessionSyncReducer {
    func reduce(state: inout Int, event: Int, context: SessionEventContext) { state &+= event }
}

struct ListReducer: SessionSyncReducer {
    func reduce(state: inout [Int], event: Int, context: SessionEventContext) { state.append(event) }
}

/// A reducer that takes a given time for each event.
struct SpinningReducer: SessionSyncReducer {
    let rounds: Int

    func reduce(state: inout Int, event: Int, context: SessionEventContext) {
        state = Self.spin(state ^ event, rounds: rounds)
    }

    /// Returns the number of rounds that take the given time on this machine.
    static func rounds(nanoseconds: Double) -> Int {
        var value = 1
        let rounds = 1_000
        let time = BenchmarkStopwatch().nanoseconds { value = spin(value, rounds: rounds) }
        return max(1, Int(nanoseconds / time * Double(rounds)))
    }

    @inline(never)
    private static func spin(_ value: Int, rounds: Int) -> Int {
        var value = value
        for _ in 0..<rounds { value = (value ^ value >> 29) &* 0x5851_F42D_4C95_7F2D }
        return value
    }
}
