import MeshBase
public import MeshFoundation
public import MeshIdentity

/// A type whose `reduce` turns events into state, with equal results on every peer.
///
/// ```swift
/// struct ScoreReducer: SessionSyncReducer {
///     func reduce(state: inout Score.State, event: Score.Event, context: SessionEventContext) {
///         switch event {
///         case .home: state.home += 1
///         case .away: state.away += 1
///         }
///     }
/// }
/// ```
///
/// To the implementer: `reduce` must be pure and deterministic. It must read nothing but its arguments: no clock, no
/// randomness, no settings of the device, and nothing that distinguishes a local event from a remote one. An error
/// rejects the event: a local one is never submitted, a remote one is recorded without effect.
public protocol SessionSyncReducer<State, Event>: Sendable {
    /// The type of the feature's state.
    associatedtype State: Codable & Sendable
    /// The type of the events that change the state.
    associatedtype Event: Codable & Sendable

    /// Applies one event to the state.
    ///
    /// - Throws: any error, to reject the event; changes to `state` are then undone.
    func reduce(state: inout State, event: Event, context: SessionEventContext) throws
}

/// The facts that a reducer may use in addition to the event. They are equal on every replica.
///
/// ```swift
/// struct Laps: SessionFeature {
///     static let featureID = "laps"
///     struct Lap: Codable, Sendable { var id: UUID, at: Date, by: String }
///     enum Event: Codable, Sendable { case lap }
///     typealias State = [Lap]
///     let initialState: [Lap] = []
///
///     func reduce(state: inout [Lap], event: Event, context: SessionEventContext) {
///         let tap = context.metadata
///         state.append(Lap(id: context.uuid(), at: tap.causalTimestamp, by: tap.sourcePeerID))
///     }
/// }
/// ```
public struct SessionEventContext: Sendable {
    /// The metadata of the event: author, time, session and event ID.
    public let metadata: SessionSyncMetadata

    /// Creates a context for tests of a reducer. In a session, the engine creates it.
    @inlinable
    public init(metadata: SessionSyncMetadata) { self.metadata = metadata }
}

/// A rule that decides whether an event still makes sense at its place, for local and remote events alike.
///
/// ```swift
/// struct UpToTen: SessionConflictPolicy {
///     func shouldApply(event: Score.Event, context: SessionConflictContext<Score.State>) -> Bool {
///         max(context.state.home, context.state.away) < 10       // a tap after the end of the game changes nothing
///     }
/// }
/// ```
///
/// To the implementer: `shouldApply` must be pure and deterministic, like a reducer.
public protocol SessionConflictPolicy<State, Event>: Sendable {
    /// The type of the feature's state.
    associatedtype State: Codable & Sendable
    /// The type of the events that change the state.
    associatedtype Event: Codable & Sendable

    /// Returns true if the event is to be reduced. A rejected event keeps its sequence and changes nothing.
    func shouldApply(event: Event, context: SessionConflictContext<State>) -> Bool
}

/// The facts that a policy may use in addition to the event. They are equal on every replica.
public struct SessionConflictContext<State: Sendable>: Sendable {
    /// The state before the event, at the event's place in the order.
    public let state: State
    /// The metadata of the last earlier event in the order that had an effect; nil if there is none.
    public let lastAppliedMetadata: SessionSyncMetadata?
    /// The metadata of the event to judge.
    public let metadata: SessionSyncMetadata

    /// Creates a context for tests of a policy. In a session, the engine creates it.
    @inlinable
    public init(state: State, lastAppliedMetadata: SessionSyncMetadata?, metadata: SessionSyncMetadata) {
        self.state = state
        self.lastAppliedMetadata = lastAppliedMetadata
        self.metadata = metadata
    }
}

/// A conflict policy that applies every event.
public struct AcceptingConflictPolicy<State: Codable & Sendable, Event: Codable & Sendable>: SessionConflictPolicy {
    /// Creates a policy that rejects nothing.
    public init() {}

    /// Returns true for every event.
    @inlinable
    public func shouldApply(event: Event, context: SessionConflictContext<State>) -> Bool { true }
}

/// Randomness that is equal on every device. A reducer must not use any other.
///
/// ```swift
/// case .addLap: state.laps.append(Lap(id: context.uuid(), …))
/// case .deal:
///     var random = context.randomNumberGenerator
///     state.cards = random.shuffled(state.cards)
/// ```
extension SessionEventContext {
    /// Returns an ID for something that the event creates. It is derived from the event's ID, so it doesn't depend on
    /// the event's place.
    ///
    /// - Parameter number: distinguishes the IDs of one event: the same number gives the same ID.
    /// - Returns: a UUID of version 8 (RFC 9562, 5.8). Complexity: O(1).
    public func uuid(_ number: UInt64 = 0) -> UUID { UUID(seed(for: number)) }

    /// A generator that starts over each time you read this property. Keep it in a variable while the event is reduced.
    public var randomNumberGenerator: SessionRandomNumberGenerator {
        SessionRandomNumberGenerator(generator: SplitMix64(seed: seed(for: .max).low))
    }

    private func seed(for number: UInt64) -> StableHash {
        withUnsafeBytes(of: metadata.eventID.uuid) { StableHash($0, seed: number) }
    }
}

/// A generator with the same results on every device and in every version of this library.
///
/// The standard library's methods, such as `Int.random(in:using:)` and `shuffled(using:)`, may give other results in
/// apps built with another version of Swift. Use the methods of this type instead. Not for secrets.
public struct SessionRandomNumberGenerator: RandomNumberGenerator, Sendable {
    var generator: SplitMix64

    public mutating func next() -> UInt64 { generator.next() }

    /// Returns a number in the range. All are equally likely: the bias is less than the range's size times 2⁻⁶⁴.
    public mutating func integer(in range: ClosedRange<Int>) -> Int {
        let width = UInt64(bitPattern: Int64(range.upperBound)) &- UInt64(bitPattern: Int64(range.lowerBound))
        return range.lowerBound &+ Int(truncatingIfNeeded: generator.upTo(width))
    }

    /// Returns the next number in 0..<1, a multiple of 2⁻⁵³.
    public mutating func fraction() -> Double { generator.fraction() }

    /// Returns the elements in random order. O(n). Source: Fisher, Yates, in Durstenfeld's form (CACM 7, 1964).
    public mutating func shuffled<Element>(_ elements: [Element]) -> [Element] {
        var elements = elements
        for last in elements.indices.dropFirst().reversed() { elements.swapAt(last, integer(in: 0...last)) }
        return elements
    }
}

/// The reducer and policy that give events their effect, and the metadata that all events of a session share.
@usableFromInline
struct EventInterpreter<State, Event, Reducer, ConflictPolicy>: Sendable
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable, Event: Codable & Sendable
{
    @usableFromInline let sessionID: UUID
    @usableFromInline let featureID: String
    @usableFromInline let payloadType: String
    @usableFromInline let reducer: Reducer
    @usableFromInline let conflictPolicy: ConflictPolicy

    /// The metadata that reducers read about an entry.
    @inlinable @inline(__always)
    func metadata(of entry: EntryHeader, source: SessionSource) -> SessionSyncMetadata {
        SessionSyncMetadata(
            protocolVersion: 1, sessionID: sessionID, featureID: featureID, sourcePeerID: source.peerID,
            explicitEventID: entry.eventID, sequence: entry.sequence, causalTimestamp: entry.causalTimestamp,
            monotonicTimestamp: entry.monotonicTimestamp, payloadType: payloadType, stamp: entry.stamp,
            incarnation: source.incarnation)
    }

    @inlinable @inline(__always)
    func metadata(of entry: EntryHeader, in sources: SourceTable) -> SessionSyncMetadata {
        metadata(of: entry, source: sources.records[entry.slot].source)
    }
}

extension ReducedState {
    /// The number of explicit event IDs that are remembered. Part of the state: every replica forgets the same ones.
    public static var recentEventIDsMax: Int { 256 }
}

extension SessionSyncEngine {
    /// Reduces the events after the last checkpoint again and compares the states. That finds reducers that read a
    /// clock, generate IDs or depend on the order of a set. Costs up to 32 events, two digests and a copy of the log.
    @usableFromInline
    mutating func checkReducer() {
        guard !log.isBehind, options.reducesTwice || isSampleDue, let last = log.entries.last else { return }
        var again = log
        again.rollBack(to: again.entries.count - 1)
        let first = again.marks[again.marks.count - 1].count
        again.replay(by: interpreter, sources: sources)
        guard differ(again.current.state, log.current.state), !hasRaisedNondeterministic else { return }
        hasRaisedNondeterministic = !options.reducesTwice
        let culprit = culprit(from: first) ?? last
        pending.raise(
            .nondeterministicReducer(
                eventSequence: SourceSequence(source: sources[culprit.slot].source, sequence: culprit.sequence)))
    }

    /// The first event that gives two results from the same state; nil if none did this time.
    private func culprit(from first: Int) -> LogEntry<Event>? {
        var step = log
        step.rollBack(to: first)
        let rest = step.entries[first...]
        step.entries.removeSubrange(first...)
        step.replay(by: interpreter, sources: sources)
        for entry in rest {
            var twin = step
            for log in [0, 1] {
                var next = log == 0 ? step : twin
                next.entries.append(entry)
                _ = next.reduceEntry(at: next.entries.count - 1, by: interpreter, sources: sources)
                if log == 0 { step = next } else { twin = next }
            }
            if differ(step.current.state, twin.current.state) { return entry }
        }
        return nil
    }

    /// True if the reducer should be checked now. Every event adds credit, and a check costs the size of state and log.
    /// So small states are checked with every event, and one of a megabyte with every thousandth.
    private var isSampleDue: Bool {
        mutating get {
            samplingCredit = min(samplingCredit + Self.creditOfAnEvent, Self.creditMax)
            guard samplingCredit >= Self.creditOfAnEvent else { return false }
            samplingCredit -=
                2 * (encoded(log.current.state)?.count ?? 0) + log.entries.count * MemoryLayout<LogEntry<Event>>.stride
            return true
        }
    }

    private static var creditOfAnEvent: Int { 2048 }
    private static var creditMax: Int { 1 << 20 }

    private func differ(_ left: State, _ right: State) -> Bool {
        if let stateDigest = options.stateDigest { return stateDigest(left) != stateDigest(right) }
        guard let left = encoded(left), let right = encoded(right), left != right else { return false }
        // Two equal sets may list their elements in different orders.
        return options.reducesTwice || left.sorted() != right.sorted()
    }

    private func encoded(_ state: State) -> Data? {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try? encoder.encode([state])
    }
}
