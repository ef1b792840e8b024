import MeshEngine
import MeshIdentity

/// What must never happen, and what must have happened in the end.
extension World {
    func check(_ alarms: [SessionAlarm], of peer: Int) throws {
        for alarm in alarms { throw Broken(description: "\(engines[peer].source) raises \(alarm)") }
    }

    /// The confirmed streams of members are prefixes of one another, and what is confirmed is on every member's disk.
    func checkConfirmed(_ event: SessionConfirmedEvent<Tap>, at peer: Int) throws {
        let engine = engines[peer]
        guard let group = engine.group else { throw Broken(description: "\(engine.source) confirms without a group") }
        let id = event.envelope.payload.id
        if let known = streams[group]?[event.position], known != id {
            throw Broken(description: "\(engine.source) confirms \(id) at \(event.position), was \(known)")
        }
        if let eventID = eventIDs[id], eventID != event.envelope.metadata.eventID {
            throw Broken(description: "\(engine.source) confirms \(id) under another event id")
        }
        streams[group, default: [:]][event.position] = id
        let metadata = event.envelope.metadata
        let author = SessionSource(peerID: metadata.sourcePeerID, incarnation: metadata.incarnation)
        for member in engine.membership.open where member.source != engine.source {
            let disk = disks.first { $0.image.head.source == member.source && $0.image.head.group == group }
            guard let disk, disk.image.head.held[author] < metadata.sequence else { continue }
            throw Broken(description: "\(engine.source) confirms \(id), which \(member.source) does not hold")
        }
    }

    func checkEnd() throws {
        for (peer, engine) in engines.enumerated() {
            func fail(_ text: String) -> Broken { Broken(description: "\(engine.source): \(text)") }
            guard engine.isSealed, let group = engine.group, group == engines[0].group else {
                throw fail("not joined: \(String(describing: engine.group)) sealed \(engine.isSealed)")
            }
            guard engine.state == engines[0].state else {
                throw fail("state differs: \(engine.state) and \(engines[0].state)")
            }
            guard engine.confirmedCount == engines[0].confirmedCount, engine.chain == engines[0].chain else {
                throw fail("chain differs")
            }
            guard Set(engine.state).count == engine.state.count else { throw fail("duplicates in \(engine.state)") }
            let stream = (streams[group] ?? [:]).values
            let ids = Set(stream)
            guard ids.count == stream.count else { throw fail("confirmed twice") }
            guard ids.isSubset(of: accepted) else { throw fail("holds events never accepted") }
            let lost = accepted.subtracting(ids).subtracting(mayBeLost)
            guard lost.isEmpty else { throw fail("lost \(lost.sorted())") }
            guard engine.logCount == 0 || engine.confirmedCount >= UInt64(engine.logCount),
                engine.ownUnconfirmedCount == 0
            else { throw fail("\(engine.ownUnconfirmedCount) never confirmed") }
            guard !engine.isProvisional else { throw fail("a provisional state is still shown") }
            guard effects[[peer, lives[peer]]] ?? [] == Set(confirmed[peer]) else {
                throw fail("side effects differ from what was confirmed")
            }
            guard engine.logCount <= 64 else { throw fail("\(engine.logCount) entries not freed") }
        }
        let limit = bound * (size + 2) + 32 + 8
        guard statistics["max log"] ?? 0 <= limit else { throw Broken(description: "log exceeds \(limit)") }
        count("accepted", accepted.count)
        count("confirmed", engines[0].state.count)
    }
}
