import MeshBase
public import MeshFoundation
import MeshIdentity

/// What looks random and is the same on every device: a reducer may use nothing else of the kind.
///
/// ```swift
/// case .addLap: state.laps.append(Lap(id: context.uuid(), …))
/// case .deal:
///     var random = context.randomNumberGenerator
///     state.cards = random.shuffled(state.cards)
/// ```
extension SessionEventContext {
    /// An id for something that the event makes, drawn from the event's own, which goes with it wherever it stands.
    ///
    /// - Parameter number: tells apart what one event makes: the same number is the same id.
    /// - Returns: a UUID of version 8 (RFC 9562, 5.8). Complexity: O(1).
    public func uuid(_ number: UInt64 = 0) -> UUID {
        let hash = seed(for: number)
        var bytes: [UInt8] = []
        for half in [hash.high, hash.low] {
            withUnsafeBytes(of: half.bigEndian) { bytes.append(contentsOf: $0) }
        }
        bytes[6] = bytes[6] & 0x0F | 0x80
        bytes[8] = bytes[8] & 0x3F | 0x80
        return bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    }

    /// Begins anew each time it is asked for: keep it in a variable for as long as the event is reduced.
    public var randomNumberGenerator: SessionRandomNumberGenerator {
        SessionRandomNumberGenerator(generator: SplitMix64(seed: seed(for: .max).low))
    }

    private func seed(for number: UInt64) -> StableHash {
        withUnsafeBytes(of: metadata.eventID.uuid) { StableHash($0, seed: number) }
    }
}

/// Draws alike on every device and in every version of this library.
///
/// What the standard library draws by it, such as `Int.random(in:using:)` and `shuffled(using:)`, may differ between devices
/// whose apps were built with different versions of Swift; use the methods here. Not for secrets.
public struct SessionRandomNumberGenerator: RandomNumberGenerator, Sendable {
    var generator: SplitMix64

    public mutating func next() -> UInt64 { generator.next() }

    /// Every value of the range is as likely as any other, to within 2⁻⁶⁴ of its size.
    public mutating func integer(in range: ClosedRange<Int>) -> Int {
        let width = UInt64(bitPattern: Int64(range.upperBound)) &- UInt64(bitPattern: Int64(range.lowerBound))
        return range.lowerBound &+ Int(truncatingIfNeeded: generator.upTo(width))
    }

    /// In 0..<1, in steps of 2⁻⁵³.
    public mutating func fraction() -> Double { generator.fraction() }

    /// The elements in another order. Source: Fisher, Yates, in Durstenfeld's form (CACM 7, 1964). Complexity: O(n).
    public mutating func shuffled<Element>(_ elements: [Element]) -> [Element] {
        var elements = elements
        for last in elements.indices.dropFirst().reversed() { elements.swapAt(last, integer(in: 0...last)) }
        return elements
    }
}
