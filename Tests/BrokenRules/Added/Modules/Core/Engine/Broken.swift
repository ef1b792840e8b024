public import MeshIdentity

extension EventLog {
    @usableFromInline
    func outcome(at place: Int) -> SessionEventOutcome? {
        entries.indices.contains(place) ? entries[place].outcome : nil
    }
}

extension SessionSyncEngine {
    /// The lowest promise, counting promises whose events aren't held yet.
    @usableFromInline
    var lowestPromiseOfAnything: HybridTimestamp {
        let promises = sources.records.dropFirst().filter(\.isOpen).map { record in
            record.promises.pending.last?.stamp ?? max(record.promises.usable, record.floor)
        }
        return (promises + [clock.latest]).min() ?? .zero
    }

    @usableFromInline
    func isAcknowledgedByAny(_ source: Int, _ sequence: UInt64) -> Bool {
        let others = sources.records.indices.dropFirst().filter { $0 != source && sources.records[$0].isOpen }
        return others.isEmpty || others.contains { sources.records[$0].acknowledges(source, sequence) }
    }

    mutating func sealWithout(_ other: SessionSource, _ slot: Int) throws -> Bool {
        if groupName == nil { setGroup(min(source, other)) }
        sources.open(0)
        sources.open(slot)
        seal()
        return false
    }

    var heldWithGaps: SequenceVector {
        SequenceVector(
            sources.indices.map { slot in
                SourceSequence(
                    source: sources[slot].source, sequence: max(sources[slot].held, gaps[slot]?.last ?? 0))
            })
    }

    @usableFromInline
    mutating func dropOldestOwn() {
        catchUp()
        guard let oldest = log.entries.indices.dropFirst(settledCount).first(where: { log.entries[$0].slot == 0 })
        else { return }
        ownUnconfirmed -= 1
        ownUnconfirmedBytes -= bytes(of: log.entries[oldest])
        log.entries.remove(at: oldest)
        log.rollBack(to: oldest)
        log.replay(by: interpreter, sources: sources)
    }

    /// Replaces the base by a state without its events.
    mutating func takeAsBase(_ state: State, _ included: [String: UInt64]) {
        log = EventLog(base: ReducedState(state: state))
        for slot in sources.indices {
            sources[slot].held = included[sources.vectorKey(slot)] ?? 0
            sources[slot].folded = sources[slot].held
        }
        ownUnconfirmed = 0
        ownUnconfirmedBytes = 0
    }
}
