import MeshEngine

extension World {
    func begin(_ planned: PlannedFault, _ index: Int32) throws(Violation) {
        let peer = planned.peer
        if case .membership(let what) = planned.fault { return try begin(what, by: peer, index) }
        switch planned.fault {
        case .partition(let side, let isOneWay):
            outcome.faults[isOneWay ? .oneWayPartition : .partition] += 1
            if membership != nil, planned.duration >= 2_000 { outcome.faults[.longPartition] += 1 }
            cut(side, isOneWay, by: 1)
        case .stop:
            outcome.faults[.stop] += 1
            situations[peer].isRunning = false
        case .pause:
            outcome.faults[.pause] += 1
            situations[peer].pausedUntil = now + UInt64(planned.duration) * 1_000
        case .crash:
            outcome.faults[.crash] += 1
            try relaunch(peer)
        case .loseStore:
            guard canLosePeer(peer) else { break }
            outcome.faults[.lostStore] += 1
            if schedule.faults.contains(where: { $0.at == planned.at && $0.peer < peer && $0.fault == .loseStore }) {
                outcome.faults[.bothStoresLost] += 1
            }
            try loseStore(peer)
        case .restoreStore(let age):
            outcome.faults[.restoredStore] += 1
            try restoreStore(peer, age: age)
        case .clockJump(let jump):
            outcome.faults[.clockJump] += 1
            situations[peer].clockOffset += jump
        case .lie(let isReachable):
            outcome.faults[.lyingReachability] += 1
            situations[peer].claim = isReachable
        case .slow(let cost):
            outcome.faults[.slowConsumer] += 1
            situations[peer].frameCost = UInt64(cost) * 1_000
        case .end:
            outcome.faults[.ending] += 1
            guard isAwake(peer) else { break }
            replicas[peer].engine.end()
            try settle(peer)
        case .membership: break
        }
        enter(.faultEnd(index), atMilliseconds: planned.at + planned.duration)
    }

    func end(_ planned: PlannedFault) {
        guard now < UInt64(schedule.healing) * 1_000 else { return }
        switch planned.fault {
        case .partition(let side, let isOneWay): cut(side, isOneWay, by: -1)
        case .stop: start(planned.peer)
        case .lie: situations[planned.peer].claim = nil
        case .slow: situations[planned.peer].frameCost = 0
        case .pause, .crash, .loseStore, .restoreStore, .clockJump, .end, .membership: break
        }
    }

    /// Ends every fault. The peers that the seed abandons stay as they are, and are cut off.
    func mend() {
        (conditions.crash, conditions.refusedCommit, conditions.tornCommit, conditions.lostSync) = (0, 0, 0, 0)
        let abandoned = conditions.abandoned
        for peer in replicas.indices {
            if abandoned.contains(peer) {
                // Cuts off every other peer, because one may join only now.
                for other in replicas.indices where other != peer {
                    network.cut(from: peer, to: other, by: 1)
                    network.cut(from: other, to: peer, by: 1)
                }
            } else if !isOut(peer) {
                let offset = situations[peer].clockOffset
                situations[peer] = Situation(clockOffset: offset)
            }
        }
        network.heal(except: abandoned)
        beginDecisions()
    }

    func start(_ peer: Int) {
        guard !isOut(peer) else { return }
        situations[peer].isRunning = true
        forgetSilence(of: peer)
    }

    private func cut(_ side: SmallSet, _ isOneWay: Bool, by change: Int) {
        for sender in replicas.indices {
            for receiver in replicas.indices {
                let isOut = side.contains(sender)
                let isIn = side.contains(receiver)
                guard isOut != isIn, isOut || !isOneWay else { continue }
                network.cut(from: sender, to: receiver, by: change)
            }
        }
    }
}
