/// The times after which a silent peer is probed or counts as gone, in nanoseconds. PeerStanding.swift defines the
/// terms.
struct SilenceRules: Hashable, Sendable {
    /// Maximum time without proof that the peer hears this side. After it, the peer is probed.
    let interval: UInt64
    /// The interval while the peer owes an acknowledgement. It also limits the time between two probes.
    let patienceMax: UInt64
    /// The shortest time to wait for an echo.
    let patienceMin: UInt64
    /// Number of probes in a row without an answer after which the peer is gone.
    let probesMax: Int
    /// True if both sides announce how long they may be silent.
    let isAnnounced: Bool

    /// Returns the rules for a peer that announces nothing. Each side probes on its own.
    static func unannounced(heartbeat: UInt64) -> SilenceRules {
        SilenceRules(
            interval: heartbeat, patienceMax: heartbeat, patienceMin: heartbeat / 5, probesMax: 3, isAnnounced: false)
    }

    /// Returns the rules for a peer that announces its silence.
    ///
    /// - Parameters:
    ///   - heartbeat: limits the patience with a peer that owes an answer.
    ///   - probesSecond: true for the side that waits a second longer, so that one exchange serves both.
    ///   - probesMax: lower if kept lanes can take over.
    static func announced(
        idleInterval: UInt64, heartbeat: UInt64, probesSecond: Bool, probesMax: Int
    ) -> SilenceRules {
        let patienceMax = min(idleInterval / 4, heartbeat)
        let second = min(1_000_000_000, patienceMax)
        return SilenceRules(
            interval: idleInterval + (probesSecond ? second : 0), patienceMax: patienceMax, patienceMin: second,
            probesMax: probesMax, isAnnounced: true)
    }

    /// The longest silence that a peer may announce: the interval of the side that probes second.
    var silenceMax: UInt64 { interval + patienceMin }
    /// True if the interval is so long that the radio sleeps between probes. Frames that are due soon then leave
    /// together.
    var isPatient: Bool { interval > 60_000_000_000 }
    /// A probe leaves with another frame if it is due within this time.
    var piggybackWindow: UInt64 { isPatient ? interval / 4 : 500_000_000 }
    /// The time for which an echo waits for another frame. The measured round trip contains it.
    var echoDelay: UInt64 { isPatient ? 300_000_000 : 0 }
    /// The announcement for the other side; nil if there is none.
    var silenceMilliseconds: UInt64? { isAnnounced ? interval / 1_000_000 : nil }
}
