/// The optional parts of the protocol that a peer offers in its hello. A sender uses one only if both sides offer it.
///
/// Later versions add bits. Readers ignore unknown bits.
package struct WireAbilities: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// Reads several frames from one datagram.
    package static let joinedFrames = WireAbilities(rawValue: 1 << 0)
    /// Reads numbers in place of identities from datagrams, and reports the numbers that it knows.
    package static let numberedIdentities = WireAbilities(rawValue: 1 << 1)
    /// Announces the latest time of its next message. Until the time that the other side has announced, it treats
    /// silence as normal.
    package static let announcedSilence = WireAbilities(rawValue: 1 << 2)

    /// All parts that this library offers.
    package static let all: WireAbilities = [.joinedFrames, .numberedIdentities, .announcedSilence]
}
