public import Foundation

/// A file that has come whole. It is the app's: move it away, or use it where it is and `accept()`.
///
/// Until then it stays in the inbox, is offered again at the next launch, and the sender's transfer is not complete.
public struct ReceivedFile: Sendable, Identifiable {
    /// The sender's id of the transfer. The same file offered again has the same one.
    public let id: UUID
    /// The file's URL, in a folder of this library, under `suggestedName`.
    public let fileURL: URL
    /// The sender's name for it, with `_` in the place of each character that a file system refuses: a single path component,
    /// never hidden, at most 240 bytes. Two files may have the same; `move(into:)` gives each a name of its own.
    public let suggestedName: String
    /// The number of bytes in the file.
    public let byteCount: UInt64
    /// The ID of the peer that sent the file. Empty for one that an app has created.
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

    /// The app has imported the file: what is left of it here is deleted, and the sender is told. Idempotent.
    public func accept() async { await onAccept?() }

    /// Moves the file into a folder of the app's, under `suggestedName`, or with a number where that is taken:
    /// `track 2.gpx`. Never replaces a file. A file that a handler has moved is imported when the handler returns.
    /// - Returns: the file's new place.
    /// - Throws: an error of `FileManager`; `CocoaError.fileWriteFileExists` once 9,999 names are taken. The file is then as
    ///   it was.
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

    /// Moves the file to where the app wants it, and accepts it.
    /// - Throws: what `FileManager` throws; the file is then as it was.
    public func move(to destination: URL) async throws {
        try FileManager.default.moveItem(at: fileURL, to: destination)
        await accept()
    }
}
