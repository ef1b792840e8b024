import MeshBase

/// What every device tells the others as long as it runs, whether a session is under way or not.
struct LobbyNotice: Codable, Hashable, Sendable {
    let name: String
    /// Under which the device writes events of sessions that begin now.
    let incarnation: UInt32
    /// The greatest that it has heard of.
    let invitation: SessionInvitation?

    /// A name from outside, fit for a screen: one line, at most 32 characters.
    static func shown(_ name: String) -> String {
        let line = String(String.UnicodeScalarView(name.unicodeScalars.prefix(128).filter(\.isPrintable)))
        return line.isEmpty ? "unnamed" : String(line.prefix(32))
    }
}
