import MeshFoundation
import MeshIdentity

// Lossless time differences. A time is a `Double`, and both sides compute the same guess of it. The writer sends the
// difference of the two bit patterns. Adjacent doubles of one sign have adjacent patterns, so a close guess gives a short
// number. Any difference restores the exact bits, also of a NaN. Docs/Internals/WireFormat.md, "Differences".

/// Guesses of times, and the differences of times from them.
enum WireTime {
    /// Seconds between 1970 and 2001, the reference date of `Date`.
    static let referenceDateSeconds = 978_307_200.0

    /// Returns the time of a stamp in seconds since 2001. Rounds twice: the quotient and the difference.
    static func seconds(of stamp: HybridTimestamp) -> Double {
        Double(stamp.milliseconds) / 1000 - referenceDateSeconds
    }

    /// Guesses a steady clock's time: as if it had advanced as far as the wall clock since the last message.
    static func monotonic(after last: Double, from lastCausal: Date, to causal: Date) -> Double {
        last + (causal.timeIntervalSinceReferenceDate - lastCausal.timeIntervalSinceReferenceDate)
    }

    static func difference(of value: Double, from guess: Double) -> Int64 {
        Int64(bitPattern: value.bitPattern &- guess.bitPattern)
    }

    static func value(_ difference: Int64, from guess: Double) -> Double {
        Double(bitPattern: guess.bitPattern &+ UInt64(bitPattern: difference))
    }

    /// True if the difference takes at most seven bytes as a varint. A longer one saves nothing over the value's eight bytes.
    static func isShort(_ difference: Int64) -> Bool {
        difference >= -(1 << 48) && difference < 1 << 48
    }
}
