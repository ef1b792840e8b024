import MeshIdentity

// A hybrid logical clock (Kulkarni et al., 2014) exceeds every stamp that it has observed, so a peer can drive it ahead of
// the wall clock. Up to `HybridTimestamp.ceiling` this clock follows at once. Beyond it, it follows by at most 65,536 steps
// a second, however many messages arrive. The engine has a bound per message instead (Docs/Internals/Convergence.md, rule
// 14).

/// A hybrid logical clock that follows peers beyond the ceiling by at most 65,536 steps a second.
///
/// A peer refuses a last-writer-wins value whose stamp its own clock can't exceed yet. So if an attacker drives one
/// device's clock ahead, other peers refuse that device's values until their own clocks have caught up. All clocks
/// advance at the same pace, so catching up takes about as long as the attack took.
struct PacedClock: Sendable {
    fileprivate static let stepMax: UInt64 = 1 << 16
    private static let stepTime = Duration.seconds(1)

    private var clock = HybridLogicalClock()
    /// The highest stamp to follow until `limitRaisedAfter`, once the clock is beyond the ceiling.
    private var limit = HybridTimestamp.ceiling
    private var limitRaisedAfter = Duration.zero

    mutating func tick(wallMilliseconds: UInt64) -> HybridTimestamp { clock.tick(wallMilliseconds: wallMilliseconds) }

    mutating func observe(_ stamp: HybridTimestamp, at elapsed: Duration) {
        guard stamp.isUsable, stamp > clock.latest else { return }
        if stamp > max(limit, .ceiling), elapsed >= limitRaisedAfter {
            limit = HybridTimestamp(rawValue: max(clock.latest, .ceiling).rawValue + Self.stepMax)
            limitRaisedAfter = elapsed + Self.stepTime
        }
        clock.observe(min(stamp, max(limit, .ceiling)))
    }

    /// Continues after a stamp that was issued or accepted earlier.
    mutating func resume(at stamp: HybridTimestamp) {
        if stamp.isUsable, stamp > clock.latest { clock = HybridLogicalClock(latest: stamp) }
    }
}

extension HybridTimestamp {
    /// True if a `PacedClock` can follow peers to this timestamp within 2^32 seconds (136 years).
    package var isAttainable: Bool { rawValue < Self.ceiling.rawValue + PacedClock.stepMax << 32 }
}
