import Foundation
import MeshIdentity

extension EnvelopeForm {
    /// Foundation's binary property list of the whole envelope: what `WCSession` makes of a dictionary that an app sends.
    ///
    /// Not a codec with a number: Foundation reads the string `$null` back as nil, and a codec must keep each value or
    /// refuse it.
    static func propertyList() -> EnvelopeForm {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        let decoder = PropertyListDecoder()
        return EnvelopeForm(
            name: "plist", encode: { Array(try encoder.encode($0)) },
            decode: { try decoder.decode(SessionSyncEnvelope<Payload>.self, from: Data($0)) })
    }
}
