/// A running 64-bit fingerprint of the confirmed events: two members that confirmed the same prefix have the same.
///
/// Not against a peer who means harm: it finds mistakes.
public struct ConfirmationChain: Hashable, Sendable, Codable {
    /// How many events it covers.
    @usableFromInline package private(set) var position: UInt64 = 0
    /// The fingerprint of them in their order; 0 before the first.
    package private(set) var value: UInt64 = 0
    /// The values at the last few multiples of 32, for comparison with a peer that is not at the same position.
    package private(set) var milestones: [Milestone] = []

    /// The chain as it was at an earlier position.
    public struct Milestone: Hashable, Sendable, Codable {
        /// A multiple of ``ConfirmationChain/interval``.
        @usableFromInline package var position: UInt64
        /// The fingerprint at that position.
        package var value: UInt64
    }

    /// Events from one milestone to the next.
    package static let interval: UInt64 = 32
    /// Milestones that are kept; older ones are forgotten.
    package static let milestonesMax = 8

    /// The chain of no events.
    package init() {}

    /// Begins anew after that many events.
    package init(position: UInt64) { self.position = position }

    @usableFromInline
    mutating func append(_ digest: UInt64) {
        value = (value &+ 0x9e37_79b9_7f4a_7c15 ^ digest) &* 0xff51_afd7_ed55_8ccd
        value ^= value >> 32
        position += 1
        guard position.isMultiple(of: Self.interval) else { return }
        if milestones.count == Self.milestonesMax { milestones.removeFirst() }
        milestones.append(Milestone(position: position, value: value))
    }

    /// nil when there is nothing to compare.
    func agrees(at position: UInt64, with value: UInt64) -> Bool? { self.value(at: position).map { $0 == value } }

    /// The fingerprint of the first events; nil when it is not known any more.
    func value(at position: UInt64) -> UInt64? {
        position == self.position ? value : milestones.first { $0.position == position }?.value
    }
}
