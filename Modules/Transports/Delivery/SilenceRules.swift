/// The times by which a silent peer is judged, in nanoseconds.
struct SilenceRules: Hashable, Sendable {
    /// The longest time without proof that the peer hears this side. Then it is probed.
    let interval: UInt64
    /// The same while something that the peer must acknowledge is under way. It also bounds the time between two probes.
    let patienceMax: UInt64
    /// The least time for an answer to a probe.
    let patienceMin: UInt64
    /// The peer is gone after this number of probes in a row without an answer.
    let probesMax: Int
    /// Whether both sides announce how long they may be silent.
    let isAnnounced: Bool

    /// The rules towards a peer that announces nothing. Each side probes on its own.
    static func unannounced(heartbeat: UInt64) -> SilenceRules {
        SilenceRules(
            interval: heartbeat, patienceMax: heartbeat, patienceMin: heartbeat / 5, probesMax: 3, isAnnounced: false)
    }

    /// The rules towards a peer that announces its silence.
    ///
    /// - Parameters:
    ///   - heartbeat: bounds the patience for a peer that owes an answer.
    ///   - asksSecond: one of two peers waits a second longer, so that one exchange serves both.
    ///   - probesMax: fewer where lanes that the platform keeps can take over.
    static func announced(
        idleInterval: UInt64, heartbeat: UInt64, asksSecond: Bool, probesMax: Int
    ) -> SilenceRules {
        let patienceMax = min(idleInterval / 4, heartbeat)
        let second = min(1_000_000_000, patienceMax)
        return SilenceRules(
            interval: idleInterval + (asksSecond ? second : 0), patienceMax: patienceMax, patienceMin: second,
            probesMax: probesMax, isAnnounced: true)
    }

    /// A peer may announce no more than the second of two peers does.
    var silenceMax: UInt64 { interval + patienceMin }
    /// Whether silences are so long that the radio sleeps. Then everything due soon leaves together.
    var isPatient: Bool { interval > 60_000_000_000 }
    /// A probe leaves with a frame that leaves anyway if it is due within this time.
    var alongTime: UInt64 { isPatient ? interval / 4 : 500_000_000 }
    /// The time for which an echo waits for a frame that leaves anyway. The measured round trip contains it.
    var echoDelay: UInt64 { isPatient ? 300_000_000 : 0 }
    /// The announcement for the other side.
    var silenceMilliseconds: UInt64? { isAnnounced ? interval / 1_000_000 : nil }
}
