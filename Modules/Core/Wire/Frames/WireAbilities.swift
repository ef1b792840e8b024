/// Optional parts of the protocol that a peer offers in its hello. A sender uses one only if both sides offer it.
///
/// Later versions add bits. Readers ignore those that they don't know.
package struct WireAbilities: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Reads several frames from one datagram.
    package static let joinedFrames = WireAbilities(rawValue: 1 << 0)
    /// Reads numbers in place of identities from datagrams, and says in reports which it knows.
    package static let numberedIdentities = WireAbilities(rawValue: 1 << 1)
    /// Announces how long it may be silent, and judges the other side by its announcement.
    package static let announcedSilence = WireAbilities(rawValue: 1 << 2)

    /// Everything that this library offers.
    package static let all: WireAbilities = [.joinedFrames, .numberedIdentities, .announcedSilence]
}
