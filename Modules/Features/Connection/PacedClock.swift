import MeshIdentity

/// A hybrid logical clock that peers drive beyond the ceiling by 65,536 steps a second at most, however many messages they
/// send.
///
/// Where the newest value wins, a peer takes nothing that its own clock cannot exceed yet. So whoever drives one clock ahead
/// keeps what is written by it from the others until theirs have followed; since all are paced alike, that takes them about
/// as long as the driving took.
struct PacedClock: Sendable {
    private static let stepMax: UInt64 = 1 << 16
    private static let stepTime = Duration.seconds(1)

    private var clock = HybridLogicalClock()
    /// How far it follows until `renewal`, once it is in the headroom.
    private var edge = HybridTimestamp.ceiling
    private var renewal = Duration.zero

    mutating func tick(wallMilliseconds: UInt64) -> HybridTimestamp { clock.tick(wallMilliseconds: wallMilliseconds) }

    mutating func observe(_ stamp: HybridTimestamp, at elapsed: Duration) {
        guard stamp.isUsable, stamp > clock.latest else { return }
        if stamp > max(edge, .ceiling), elapsed >= renewal {
            edge = HybridTimestamp(rawValue: max(clock.latest, .ceiling).rawValue + Self.stepMax)
            renewal = elapsed + Self.stepTime
        }
        clock.observe(min(stamp, max(edge, .ceiling)))
    }

    /// Goes on behind what was drawn or believed before.
    mutating func resume(at stamp: HybridTimestamp) {
        if stamp.isUsable, stamp > clock.latest { clock = HybridLogicalClock(latest: stamp) }
    }
}
