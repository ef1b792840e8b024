import MeshDiagnostics
import MeshEngine
import MeshFoundation
import MeshIdentity

// What an inspector is told of one seed, by the true time that no peer knows. Nothing of it changes what a seed does.
extension World {
    private func entry(_ peer: Int, _ kind: DiagnosticsEntry.Kind, _ step: DiagnosticsEntry.Step? = nil)
        -> DiagnosticsEntry
    {
        DiagnosticsEntry(
            at: 1_767_225_600 + Double(now) / 1_000_000, peer: Schedule.name(of: peer), kind: kind, step: step)
    }

    /// - Parameter message: the frame's number, under which it arrives.
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

    /// An event that later ones were rolled back for.
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

    /// How a peer stands, if that is another way than before.
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

    /// The last states, and what was found wrong.
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
    /// A state, with events or without.
    fileprivate var isCopy: Bool {
        switch self {
        case .checkpoint, .snapshot: true
        case .event, .unread, .control, .relay, .lie: false
        }
    }
}
