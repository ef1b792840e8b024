public import Foundation

/// A file that is being sent or has been received.
///
/// Source: https://developer.apple.com/documentation/watchconnectivity/wcsessionfile
open class WCSessionFile: NSObject {
    /// The location of the file. On the sender, where the app put it; on the receiver, in the inbox until the
    /// delegate's method returns.
    public let fileURL: URL
    private let content: PropertyList?

    init(fileURL: URL, metadata: PropertyList?) {
        self.fileURL = fileURL
        content = metadata
    }

    /// The sender's description of the file.
    open var metadata: [String: Any]? { content?.dictionary }
}

/// A transfer of one file. Created by `WCSession`; safe to use from any thread.
///
/// Source: https://developer.apple.com/documentation/watchconnectivity/wcsessionfiletransfer
open class WCSessionFileTransfer: NSObject {
    let id: UInt64
    private let process: AppProcess?
    /// The file being transferred.
    public let file: WCSessionFile
    /// The progress in bytes, updated in steps.
    public let progress: Progress

    init(id: UInt64, process: AppProcess?, file: WCSessionFile, byteCount: Int64) {
        self.id = id
        self.process = process
        self.file = file
        progress = Progress(totalUnitCount: byteCount)
    }

    /// True until the transfer has arrived, was cancelled or has failed.
    open var isTransferring: Bool { process?.read(false) { $0.isTransferring(id, on: .file, of: $1) } ?? false }

    /// Cancels the transfer of the file. Does nothing if it has arrived.
    open func cancel() { process?.write { $0.cancel(id, on: .file, of: $1) } }
}
