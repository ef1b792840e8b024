import MeshDiagnostics
import MeshEngine
import MeshFoundation
import MeshIdentity

// The recording of one seed for an inspector, in true time, which no peer knows. It has no effect on the run.
extension World {
    private func entry(_ peer: Int, _ kind: DiagnosticsEntry.Kind, _ step: DiagnosticsEntry.Step? = nil)
        -> DiagnosticsEntry
    {
        DiagnosticsEntry(
            at: 1_767_225_600 + Double(now) / 1_000_000, peer: Schedule.name(of: peer), kind: kind, step: step)
    }

    /// - Parameter message: The frame's number, which it keeps until it arrives.
    func record(
        _ frame: Frame<Feature>, _ step: DiagnosticsEntry.Step, _ message: UInt64, from sender: Int, to receiver: Int
    ) {
        guard let record = options.record else { return }
        var entry = entry(step == .received ? receiver : sender, frame.isCopy ? .snapshot : .envelope, step)
        entry.from = Schedule.name(of: sender)
        entry.to = Schedule.name(of: receiver)
        entry.feature = Feature.id
        entry.message = "\(message)"
        entry.text = "\(frame)"
        if case .event(let envelope) = frame { entry.event = RecordedJSON.text(of: envelope.payload) }
        record(entry)
    }

    /// Records an event that was inserted below later ones, for which the engine rolled those back.
    func record(_ event: SessionAppliedEvent<Feature.Event>, at peer: Int) {
        guard let record = options.record, event.replayedCount > 0 else { return }
        var entry = entry(peer, .envelope, .late)
        entry.from = event.envelope.metadata.sourcePeerID
        entry.feature = Feature.id
        entry.sequence = event.envelope.metadata.sequence
        entry.event = RecordedJSON.text(of: event.envelope.payload)
        entry.text = "\(event.replayedCount) later events are rolled back and reduced again"
        record(entry)
    }

    func record(note text: () -> String, of peer: Int) {
        guard let record = options.record else { return }
        var entry = entry(peer, .note)
        entry.text = text()
        record(entry)
    }

    /// Records a peer's state if it has changed.
    func recordState(of peer: Int) {
        guard let record = options.record, situations[peer].isRunning else { return }
        let engine = replicas[peer].engine
        let head = engine.image.head
        var entry = entry(peer, .state)
        entry.feature = Feature.id
        entry.confirmed = engine.confirmedCount
        entry.vector = Dictionary(head.held.entries.map { ("\($0.source)", $0.sequence) }) { max($0, $1) }
        entry.state = RecordedJSON.text(of: engine.state)
        if var known = recordedStates[peer] {
            known.at = entry.at
            if known == entry { return }
        }
        recordedStates[peer] = entry
        entry.cut = head.cut.milliseconds
        record(entry)
    }

    /// Records the last states, and the failure if there is one.
    func recordEnd() {
        guard let record = options.record else { return }
        for peer in replicas.indices { recordState(of: peer) }
        guard let failure = outcome.failure else { return }
        var entry = entry(0, .note)
        entry.peer = "the checks"
        entry.text = failure
        record(entry)
    }
}

extension Frame {
    /// True if the frame carries a state, with or without events.
    fileprivate var isCopy: Bool {
        switch self {
        case .checkpoint, .snapshot: true
        case .event, .unread, .control, .relay, .lie: false
        }
    }
}
