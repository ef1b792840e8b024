public import Foundation
public import MeshEngine
public import MeshIdentity

/// The work that a session repeats for each event, compiled for the app's types.
///
/// Swift compiles a generic type of another module without specialization. It then looks up layouts and conformances
/// for each event, which costs several times the actual work. So these few steps are inlinable. They are instantiated
/// where an app creates its session, because `SyncedSession`'s initializers are inlinable too.
@usableFromInline
struct SessionHotPath<State, Event, Reducer, ConflictPolicy>: Sendable
where
    Reducer: SessionSyncReducer<State, Event>, ConflictPolicy: SessionConflictPolicy<State, Event>,
    State: Codable & Sendable, Event: Codable & Sendable
{
    @usableFromInline typealias Engine = SessionSyncEngine<State, Event, Reducer, ConflictPolicy>
    /// A handler of payloads that aren't events of this type.
    @usableFromInline typealias Other = (AnySessionSyncEnvelope, inout Engine) throws -> EventResult

    @usableFromInline
    let receive: @Sendable (inout Engine, ArraySlice<AnySessionSyncEnvelope>, Other) -> [EventResult]
    @usableFromInline
    let submit: @Sendable (inout Engine, Event, Date) throws -> SessionSyncEnvelope<Event>
    @usableFromInline let catchUp: @Sendable (inout Engine, _ limit: Int) -> Void
    @usableFromInline let takeApplied: @Sendable (inout Engine, _ keepsEvents: Bool) -> AppliedBatch<Event>
    @usableFromInline let takeDirectives: @Sendable (inout Engine) -> SessionDirectives<State, Event>

    @inlinable
    init() {
        receive = { Self.receive($1, into: &$0, $2) }
        submit = { try $0.submitLocal($1, at: $2) }
        catchUp = { $0.catchUp(atMost: $1) }
        takeApplied = { AppliedBatch($0.takeApplied(), of: $0.localPeerID, keepsEvents: $1) }
        takeDirectives = { $0.takeDirectives() }
    }

    /// Receives events. Late ones are inserted together, so the events after them are reduced only once.
    @inlinable
    static func receive(
        _ events: ArraySlice<AnySessionSyncEnvelope>, into engine: inout Engine, _ receiveOther: Other
    ) -> [EventResult] {
        engine.gather { engine in
            var results: [EventResult] = []
            results.reserveCapacity(events.count)
            for erased in events {
                do {
                    results.append(try receiveEvent(erased, into: &engine, receiveOther))
                } catch {
                    results.append(.refused(error))
                }
            }
            return results
        }
    }

    @inlinable
    static func receiveEvent(
        _ erased: AnySessionSyncEnvelope, into engine: inout Engine, _ receiveOther: Other
    ) throws -> EventResult {
        guard erased.metadata.payloadType == engine.payloadType,
            let event = try? erased.decodePayload(as: Event.self)
        else { return try receiveOther(erased, &engine) }
        switch try engine.receive(SessionSyncEnvelope(metadata: erased.metadata, payload: event)) {
        case .applied: return .applied
        case .duplicate: return .duplicate
        case .ignored: return .ignored
        case .snapshotRequired: return .early
        }
    }
}

/// The result of receiving an event. Omits the state in the engine's result, to avoid a copy of it per event.
@usableFromInline
enum EventResult {
    case applied, duplicate, ignored, unread, early
    case refused(any Error)
}

/// The events that an engine has put in their places, and their counts.
@usableFromInline
struct AppliedBatch<Event: Codable & Sendable> {
    /// All events, if the caller keeps them.
    @usableFromInline var events: [SessionAppliedEvent<Event>] = []
    @usableFromInline let isEmpty: Bool
    /// Other peers' events that had an effect.
    @usableFromInline var arrivals: [SessionSyncEnvelope<Event>] = []
    @usableFromInline var lateCount = 0
    @usableFromInline var repeatedCount = 0
    @usableFromInline var ignoredCount = 0

    @inlinable
    init(_ applied: [SessionAppliedEvent<Event>], of localPeerID: String, keepsEvents: Bool) {
        isEmpty = applied.isEmpty
        if keepsEvents { events = applied }
        arrivals.reserveCapacity(applied.count)
        for event in applied where event.envelope.metadata.sourcePeerID != localPeerID {
            switch event.outcome {
            case .applied:
                if event.replayedCount > 0 { lateCount += 1 }
                arrivals.append(event.envelope)
            case .repeated: repeatedCount += 1
            case .rejected, .unread: ignoredCount += 1
            }
        }
    }
}
