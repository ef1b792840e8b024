import MeshRegister

// Two peers find their differences in three steps: 256 digests, prints of the buckets that differ, then versions.
extension KeyReplica {
    func answer(_ digests: [UInt64], _ nonce: UInt64, to peer: inout KeyPeer) {
        let mine = digest().buckets
        let isDiffering = zip(mine, digests).map { $0 != $1 }
        var places = [[Int]](repeating: [], count: KeyLimits.bucketCount)
        for place in table.records.indices where isShareable(place) {
            let bucket = table.records[place].bucket
            if !isDiffering[bucket] {
                peer.confirm(place)
                continue
            }
            if digests[bucket] == 0, isRemovalConfirmed(place) { continue }
            // The peer may have lost its store or restored an older one.
            peer.unconfirm(place)
            if digests[bucket] != 0 {
                places[bucket].append(place)
            } else {
                peer.enqueue(place)
            }
        }
        peer.sentRecord = StateVector()
        var answer = KeyMessage(nonce: 0)
        answer.answers = nonce
        answer.isAcknowledgement = !isDiffering.contains(true)
        let printsMax = min(KeyLimits.listMax, configuration.messageBytes / KeyBudget.printBytes)
        for bucket in isDiffering.indices where isDiffering[bucket] && digests[bucket] != 0 {
            // Lists as many complete buckets as fit. The peer finds the others when it asks again.
            guard answer.prints.count + places[bucket].count <= printsMax || answer.buckets.isEmpty else {
                answer.isPartial = true
                break
            }
            answer.buckets.append(bucket)
            answer.prints += places[bucket].prefix(printsMax).map { table.records[$0].print }.sorted()
            // If one bucket exceeds the message, the peer gets its other keys themselves.
            for place in places[bucket].dropFirst(printsMax) { peer.enqueue(place) }
        }
        peer.answer = answer
    }

    /// Compares prints from an answer. Requests the keys that only the peer has and queues those that only this replica
    /// has. If both have an unmatched print in the same bucket, the prints may be two versions of one key. Then this
    /// replica doesn't queue its key but states the key's version.
    func compare(_ message: KeyMessage, with peer: inout KeyPeer) {
        var theirs = Set(message.prints)
        let buckets = Set(message.buckets)
        var mine: [Int] = []
        for place in table.records.indices where isShareable(place) && buckets.contains(table.records[place].bucket) {
            if theirs.remove(table.records[place].print) != nil {
                peer.confirm(place)
            } else if isAutomatic(place) {
                mine.append(place)
            }
        }
        let open = Set(theirs.map(KeyDigest.bucket(ofPrint:)))
        var answer = peer.answer ?? KeyMessage(nonce: 0)
        answer.compared = message.nonce
        // The peer takes each print that isn't wanted for confirmed, so they are all listed. They fit, as the prints did.
        answer.wantedPrints = theirs.sorted()
        var budget = KeyBudget(configuration.messageBytes, after: answer)
        for place in mine.sorted(by: { table.records[$0].name < table.records[$1].name }) {
            if open.contains(table.records[place].bucket), answer.versions.count < KeyLimits.listMax,
                let version = table.records[place].version, budget.take(version)
            {
                answer.versions.append(version)
            } else {
                peer.enqueue(place)
            }
        }
        peer.answer = answer
    }

    /// Handles the result of the peer's comparison. The peer lacks the prints that it wants and has the others.
    func applyComparison(_ nonce: UInt64, _ message: KeyMessage, with peer: inout KeyPeer) {
        // After a relaunch, `listing` is nil. Wanted keys are still sent, and the next exchange confirms the others.
        let listed = peer.listing.flatMap { $0.nonce == nonce ? $0.prints : nil } ?? []
        if !listed.isEmpty { peer.listing = nil }
        let wanted = Set(message.wantedPrints)
        guard !listed.isEmpty || !wanted.isEmpty else { return }
        for place in table.records.indices where isShareable(place) {
            let print = table.records[place].print
            if wanted.contains(print) {
                peer.enqueue(place)
            } else if listed.contains(print) {
                peer.confirm(place)
            }
        }
    }

    func compareVersions(_ versions: [KeyMessage.Version], with peer: inout KeyPeer) {
        var wants: [String] = []
        for name in versions {
            let place = table.place(of: name.key)
            guard let place, let mine = table.records[place].entry?.version else {
                isWritableByPeers(place) ? wants.append(name.key) : peer.reportRefusal(name)
                continue
            }
            if mine < name.version { isWritableByPeers(place) ? wants.append(name.key) : peer.reportRefusal(name) }
            if mine > name.version, isShareable(place) { peer.enqueue(place) }
            if mine == name.version { peer.confirm(place) }
        }
        guard !wants.isEmpty else { return }
        var answer = peer.answer ?? KeyMessage(nonce: 0)
        answer.wants = []
        var budget = KeyBudget(configuration.messageBytes, after: answer)
        // The peer states the versions of the others again when its retry asks.
        answer.wants = Array(wants.prefix { budget.take(name: $0) })
        peer.answer = answer
    }
}
