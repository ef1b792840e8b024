import MeshFoundation
import MeshIdentity

/// Times as differences, without loss.
///
/// A time is a `Double`, and a guess at it is computed the same way by both sides. What travels is the difference of the
/// two bit patterns: neighbouring doubles of one sign have neighbouring patterns, so a near guess makes a short number,
/// and any difference at all, NaN included, restores the very bits.
enum WireTime {
    /// Seconds from 1970 to 2001, where `Date` counts from.
    static let referenceDateSeconds = 978_307_200.0

    /// When a stamp was drawn, in seconds since 2001. Two roundings: of the quotient and of the difference.
    static func seconds(of stamp: HybridTimestamp) -> Double {
        Double(stamp.milliseconds) / 1000 - referenceDateSeconds
    }

    /// What a steady clock shows when the wall clock moved as far as it did since the last message.
    static func monotonic(after last: Double, from lastCausal: Date, to causal: Date) -> Double {
        last + (causal.timeIntervalSinceReferenceDate - lastCausal.timeIntervalSinceReferenceDate)
    }

    static func difference(of value: Double, from guess: Double) -> Int64 {
        Int64(bitPattern: value.bitPattern &- guess.bitPattern)
    }

    static func value(_ difference: Int64, from guess: Double) -> Double {
        Double(bitPattern: guess.bitPattern &+ UInt64(bitPattern: difference))
    }

    /// Up to seven bytes as a varint: beyond that the eight bytes of the value are as short.
    static func isShort(_ difference: Int64) -> Bool {
        difference >= -(1 << 48) && difference < 1 << 48
    }
}
