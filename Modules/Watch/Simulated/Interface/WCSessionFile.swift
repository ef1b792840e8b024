public import Foundation

/// A file that has come, or is on its way.
///
/// Source: https://developer.apple.com/documentation/watchconnectivity/wcsessionfile
open class WCSessionFile: NSObject {
    /// At the sender where the app put it; at the receiver in the inbox, until the delegate's method returns.
    public let fileURL: URL
    private let content: PropertyList?

    init(fileURL: URL, metadata: PropertyList?) {
        self.fileURL = fileURL
        content = metadata
    }

    /// The sender's description of the file.
    open var metadata: [String: Any]? { content?.dictionary }
}

/// A file on its way. Made by `WCSession`; safe to use from any thread.
///
/// Source: https://developer.apple.com/documentation/watchconnectivity/wcsessionfiletransfer
open class WCSessionFileTransfer: NSObject {
    let id: UInt64
    private let process: AppProcess?
    /// The file under transfer.
    public let file: WCSessionFile
    /// The progress in bytes, which moves in steps while the file is under way.
    public let progress: Progress

    init(id: UInt64, process: AppProcess?, file: WCSessionFile, byteCount: Int64) {
        self.id = id
        self.process = process
        self.file = file
        progress = Progress(totalUnitCount: byteCount)
    }

    /// Whether it has been neither received, nor cancelled, nor given up.
    open var isTransferring: Bool { process?.read(false) { $0.isTransferring(id, on: .file, of: $1) } ?? false }

    /// Takes it back, unless it has been transferred already; then nothing happens.
    open func cancel() { process?.write { $0.cancel(id, on: .file, of: $1) } }
}
