import Foundation

extension SessionSnapshot {
    /// A session's id has 1 KiB at most, and as JSON six times as much.
    static let storedBytesMax = 8 << 10

    /// JSON, so that other programs of the app may read it.
    func stored() throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return [UInt8](try encoder.encode(self))
    }

    /// - Throws: `ResumeError.Code.damaged`.
    init(stored bytes: [UInt8]) throws {
        do {
            guard bytes.count <= Self.storedBytesMax else { throw ResumeError(.damaged, "\(bytes.count) bytes") }
            self = try JSONDecoder().decode(SessionSnapshot.self, from: Data(bytes))
        } catch {
            throw ResumeError(
                .damaged, "what is stored is no session; it is replaced when the next one begins",
                cause: error)
        }
    }
}
