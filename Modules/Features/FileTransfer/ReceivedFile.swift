public import Foundation

/// A file that has arrived completely. Move it away, or use it in place and call `accept()`.
///
/// Until you do, the file stays in the inbox, the next launch offers it again, and the sender's transfer isn't
/// complete.
public struct ReceivedFile: Sendable, Identifiable {
    /// The sender's ID of the transfer. A file that is offered again keeps its ID.
    public let id: UUID
    /// The file's URL, in a folder of this library, under `suggestedName`.
    public let fileURL: URL
    /// The sender's name of the file, made safe: a single path component of at most 240 bytes, never hidden, with `_` for
    /// each character that a file system refuses. Two files may have the same name; `move(into:)` numbers them.
    public let suggestedName: String
    /// The number of bytes in the file.
    public let byteCount: UInt64
    /// The ID of the peer that sent the file. Empty if the app created this value.
    public let senderID: String
    private let content: [String: MetadataValue]?
    private let onAccept: (@Sendable () async -> Void)?

    /// The property-list values that the sender sent with the file.
    public var metadata: [String: Any]? { content?.mapValues(\.plain) }

    /// Creates a file that no peer sent, for tests and previews. Values that a property list can't hold are left out.
    public init(fileURL: URL, metadata: [String: Any]?) {
        id = UUID()
        self.fileURL = fileURL
        suggestedName = SuggestedName.sanitize(fileURL.lastPathComponent)
        byteCount = 0
        senderID = ""
        content = metadata?.compactMapValues { try? MetadataValue($0) }
        onAccept = nil
    }

    init(_ offer: FileOffer, path: String, onAccept: @escaping @Sendable () async -> Void) {
        id = offer.header.id
        fileURL = URL(fileURLWithPath: path)
        suggestedName = SuggestedName.sanitize(offer.header.name)
        byteCount = offer.header.byteCount
        senderID = offer.peerID
        content = offer.header.metadata
        self.onAccept = onAccept
    }

    /// Records that the app has imported the file. Deletes the inbox's copy and notifies the sender. Idempotent.
    public func accept() async { await onAccept?() }

    /// Moves the file into one of the app's folders, under `suggestedName`. Adds a number if the name is taken:
    /// `track 2.gpx`. Never replaces a file. A file that a handler has moved counts as imported when the handler returns.
    /// - Returns: the file's new URL.
    /// - Throws: an error of `FileManager`; `CocoaError.fileWriteFileExists` if 9,999 names are taken. The file then stays in
    ///   place.
    @discardableResult
    public func move(into folder: URL) throws -> URL {
        var number = 1
        while true {
            let name = number == 1 ? suggestedName : SuggestedName.numbered(suggestedName, number)
            let destination = folder.appendingPathComponent(name, isDirectory: false)
            do {
                try FileManager.default.moveItem(at: fileURL, to: destination)
                return destination
            } catch let error as CocoaError where error.code == .fileWriteFileExists && number < 9999 {
                number += 1
            }
        }
    }

    /// Moves the file to a URL of the app's choice, and accepts it.
    /// - Throws: an error of `FileManager`. The file then stays in place.
    public func move(to destination: URL) async throws {
        try FileManager.default.moveItem(at: fileURL, to: destination)
        await accept()
    }
}
