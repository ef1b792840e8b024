extension Schedule: CustomStringConvertible {
    /// The readable form of a failing seed: the conditions, then faults and taps in time order.
    public var description: String {
        let taps = taps.map { ($0.at, "tap by \(Self.name(of: $0.peer))") }
        let faults = faults.map { ($0.at, $0.description) }
        let lies = lies.map { ($0.at, "lie \($0.choice)") }
        let lines = (taps + faults + lies).sorted { $0.0 < $1.0 }.map { "  \(milliseconds($0.0))  \($0.1)" }
        return
            (["\(peerCount) peers, \(isPaired ? "paired" : "not paired")\(liarText)"]
            + [membership?.description, conditions.description].compactMap { $0 } + lines
            + ["  \(milliseconds(healing))  all mended"]).joined(separator: "\n")
    }

    private var liarText: String {
        switch liar {
        case nil: ""
        case .stranger: ", and a lying stranger"
        case .member(let peer), .partner(let peer): ", one of which lies: \(Self.name(of: peer))"
        }
    }

    /// The peer's ID. IDs are in ascending order.
    static func name(of peer: Int) -> String { names[peer] }

    private static let names = [
        "anna", "bert", "cleo", "dora", "emil", "finn", "gina", "hugo", "ines", "jana", "kurt", "lara", "mila", "nils",
        "olga", "paul",
    ]

    static func names(of peers: SmallSet) -> String {
        (0..<peersMax).filter(peers.contains).map(name).joined(separator: ", ")
    }
}

private func milliseconds(_ time: Int) -> String {
    let digits = "\(time)"
    return String(repeating: " ", count: max(0, 5 - digits.count)) + digits + " ms"
}

extension Conditions: CustomStringConvertible {
    public var description: String {
        var parts = ["latency \(latency) ms + \(jitter) ms", "own events ≤ \(ownEventsMax)"]
        if loss > 0 { parts.append("loss \(loss)") }
        if duplication > 0 { parts.append("duplication \(duplication)") }
        if longTail > 0 { parts.append("long tail \(longTail)") }
        if crash > 0 { parts.append("crash \(crash)") }
        if refusedCommit > 0 { parts.append("refused commits \(refusedCommit)") }
        if tornCommit > 0 { parts.append("torn commits \(tornCommit)") }
        if lostSync > 0 { parts.append("lost syncs \(lostSync) of \(Schedule.names(of: forgetful))") }
        if skew.contains(where: { $0 != 0 }) { parts.append("skew \(skew) ms") }
        if silentStart > 0 { parts.append("no controls in the first \(silentStart) ms") }
        if stateOnly > 0 { parts.append("state-only snapshots \(stateOnly)") }
        if !newer.isEmpty { parts.append("newer protocol: \(Schedule.names(of: newer))") }
        if silence > 0 { parts.append("no peer ticks for \(silence) ms") }
        if !abandoned.isEmpty { parts.append("never mended: \(Schedule.names(of: abandoned))") }
        return parts.joined(separator: ", ")
    }
}

extension PlannedFault: CustomStringConvertible {
    public var description: String {
        let name = Schedule.name(of: peer)
        return switch fault {
        case .partition(let side, let isOneWay):
            "partition \(isOneWay ? "from" : "of") \(Schedule.names(of: side)) for \(duration) ms"
        case .stop: "\(name) is not running for \(duration) ms"
        case .pause: "\(name) pauses for \(duration) ms"
        case .crash: "\(name) crashes and comes back"
        case .loseStore: "\(name) loses its store"
        case .restoreStore(let age): "\(name)'s store is restored as it was \(age) ms ago"
        case .clockJump(let jump): "\(name)'s clock jumps by \(jump) ms"
        case .lie(let isReachable):
            "\(name) sees the others as \(isReachable ? "" : "un")reachable for \(duration) ms"
        case .slow(let cost): "\(name) takes \(cost) ms a frame for \(duration) ms"
        case .end: "\(name) ends the session"
        case .membership(let what): "\(name)\(what)"
        }
    }
}
