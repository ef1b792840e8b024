import MeshEngine
import MeshFoundation
import MeshIdentity

/// Two engines in one process that call each other directly: the baseline for a link within one process.
struct DirectEngines {
    private var asking = LinkPeers.engine(of: LinkPeers.asking, with: LinkPeers.answering)
    private var answering = LinkPeers.engine(of: LinkPeers.answering, with: LinkPeers.asking)

    init() throws { for _ in 0..<4 { try settle() } }

    mutating func flood(_ count: Int) throws -> Duration {
        let start = ContinuousClock.now
        for _ in 0..<(count / EngineEnd.batch) {
            let now = Date()
            let events = try (0..<EngineEnd.batch).map { _ in
                try AnySessionSyncEnvelope(asking.submitLocal(.plain, at: now))
            }
            for event in events { try Self.hand(event, to: &answering) }
            try settle()
        }
        return start.duration(to: .now)
    }

    mutating func ask(_ count: Int) throws -> [Duration] {
        try (1...count).map { number in
            let start = ContinuousClock.now
            try Self.hand(AnySessionSyncEnvelope(asking.submitLocal(.question, at: Date())), to: &answering)
            try Self.hand(AnySessionSyncEnvelope(answering.submitLocal(.plain, at: Date())), to: &asking)
            let time = start.duration(to: .now)
            if number % EngineEnd.batch == 0 { try settle() }
            return time
        }
    }

    private static func hand(_ event: AnySessionSyncEnvelope, to engine: inout LinkEngine) throws {
        _ = try engine.receive(
            SessionSyncEnvelope(metadata: event.metadata, payload: event.decodePayload(as: LinkMessage.self)))
    }

    /// Exchanges acknowledgements in both directions.
    private mutating func settle() throws {
        for _ in 0..<2 {
            let now = Date()
            asking.tick(at: now)
            answering.tick(at: now)
            for control in asking.takeControls() { try answering.receiveControl(control, at: now) }
            for control in answering.takeControls() { try asking.receiveControl(control, at: now) }
        }
    }
}

extension LinkEngine {
    mutating func takeControls() -> [SessionSyncEnvelope<SessionControl>] {
        let directives = takeDirectives()
        if let last = directives.confirmed.last { markSideEffects(through: last.position) }
        return directives.outgoing.compactMap { if case .control(let control, _) = $0 { control } else { nil } }
    }
}
