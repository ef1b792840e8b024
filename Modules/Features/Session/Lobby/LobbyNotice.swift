import MeshBase

/// The notice that each device sends to all others while its lobby runs, with or without a session.
struct LobbyNotice: Codable, Hashable, Sendable {
    let name: String
    /// The incarnation under which the device writes in sessions that begin now.
    let incarnation: UInt32
    /// The greatest invitation that the device has heard of.
    let invitation: SessionInvitation?

    /// Returns another device's name for display: one line, at most 32 characters.
    static func shown(_ name: String) -> String {
        let line = String(String.UnicodeScalarView(name.unicodeScalars.prefix(128).filter(\.isPrintable)))
        return line.isEmpty ? "unnamed" : String(line.prefix(32))
    }
}
