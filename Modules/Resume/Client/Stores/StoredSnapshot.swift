import Foundation

extension SessionSnapshot {
    /// Maximum size of a stored session. An ID has at most 1 KiB, and up to six times as much in JSON.
    static let storedBytesMax = 8 << 10

    /// Returns the session in JSON, which other programs of the app can read.
    func stored() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return [UInt8](try encoder.encode(self))
    }

    /// Decodes a stored session. Throws `ResumeError.Code.damaged`.
    init(stored bytes: [UInt8]) throws {
        do {
            guard bytes.count <= Self.storedBytesMax else { throw ResumeError(.damaged, "\(bytes.count) bytes") }
            self = try JSONDecoder().decode(SessionSnapshot.self, from: Data(bytes))
        } catch {
            throw ResumeError(
                .damaged, "the stored session is damaged; the next session replaces it",
                cause: error)
        }
    }
}
