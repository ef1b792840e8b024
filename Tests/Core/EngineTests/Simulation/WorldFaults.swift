import MeshEngine
import MeshIdentity

extension World {
    func planFaults(_ span: Double) {
        for _ in 0..<random.below(7) {
            let moment = random.unit() * span
            let length = random.exponential(600)
            let peer = random.below(size)
            switch random.unit() {
            case ..<0.45: planPartition(moment, oneWay: random.chance(0.5), length)
            case ..<0.6:
                at(moment) { [unowned self] in isUp[peer] = false }
                at(moment + length) { [unowned self] in isUp[peer] = true }
            case ..<0.75: at(moment) { [unowned self] in pausedUntil[peer] = now + length }
            case ..<0.9:
                let jump = random.pick([-3_600_000.0, -40_000, 40_000, 3_600_000])
                at(moment) { [unowned self] in skew[peer] += jump }
            default: at(moment) { [unowned self] in try relaunch(peer) }
            }
        }
        if size == 2 { planLostStores(span) }
    }

    /// Alone, both at once, close together, while apart.
    private func planLostStores(_ span: Double) {
        for _ in 0..<random.pick([0, 1, 1, 2, 3]) {
            let moment = random.unit() * span
            let peer = random.below(2)
            at(moment) { [unowned self] in loseStore(peer) }
            switch random.unit() {
            case ..<0.15: at(moment) { [unowned self] in loseStore(1 - peer) }
            case ..<0.45: at(moment + random.unit() * 250) { [unowned self] in loseStore(1 - peer) }
            case ..<0.65:
                planPartition(
                    max(0, moment - random.unit() * 400), oneWay: random.chance(0.5), 400 + random.unit() * 600)
            default: break
            }
        }
    }

    private func planPartition(_ moment: Double, oneWay: Bool, _ length: Double) {
        at(moment) { [unowned self] in
            var side = Set((0..<size).filter { _ in random.chance(0.5) })
            if side.isEmpty || side.count == size { side = [0] }
            for one in 0..<size {
                for other in 0..<size where side.contains(one) != side.contains(other) {
                    if side.contains(one) || !oneWay { severed.insert([one, other]) }
                }
            }
            at(length) { [unowned self] in severed = [] }
        }
    }

    /// A crash with its store kept: what was not written is gone.
    func relaunch(_ peer: Int) throws {
        count("relaunches")
        engines[peer] = try TapEngine(
            restoring: disks[peer].image, reducer: TapReducer(), conflictPolicy: TapPolicy(), seed: random.next(),
            options: options)
        confirmed[peer] = disks[peer].confirmed
        isUnsaved[peer] = false
        try settle(peer)
    }

    func loseStore(_ peer: Int) {
        count("lost stores")
        // What nobody else's store has is gone for good.
        var elsewhere: Set<Int> = []
        for other in 0..<size where other != peer { elsewhere.formUnion(held(on: disks[other])) }
        mayBeLost.formUnion(accepted.subtracting(elsewhere))
        lives[peer] += 1
        engines[peer] = makeEngine(SessionSource(peerID: "peer\(peer)", incarnation: random.bits()))
        confirmed[peer] = []
        disks[peer] = Disk(image: engines[peer].image)
        isUnsaved[peer] = false
    }

    private func held(on disk: Disk) -> Set<Int> {
        var ids: Set<Int> = []
        for record in disk.image.log { if case .event(let tap) = record.content { ids.insert(tap.id) } }
        // What the base folded was confirmed, the rejected ones included.
        if let group = disk.image.head.group, let stream = streams[group] {
            for (position, id) in stream where position < disk.image.base.count { ids.insert(id) }
        }
        return ids.union(disk.image.base.reduced.state)
    }

    func heal() {
        loss = 0
        tail = 0
        crashRate = 0
        severed = []
        isUp = Array(repeating: true, count: size)
        pausedUntil = Array(repeating: 0, count: size)
    }
}
