import Foundation
import MeshIdentity

extension EnvelopeForm {
    /// Creates the form of Foundation's binary property list, in which `WCSession` sends an app's dictionary.
    ///
    /// Not a numbered codec: Foundation reads the string `$null` back as nil, but a codec must preserve each value or refuse
    /// it.
    static func propertyList() -> EnvelopeForm {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let decoder = PropertyListDecoder()
        return EnvelopeForm(
            name: "plist", encode: { Array(try encoder.encode($0)) },
            decode: { try decoder.decode(SessionSyncEnvelope<Payload>.self, from: Data($0)) })
    }
}
