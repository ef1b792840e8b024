import Foundation

/// A file to be copied into an inbox, without the lock.
struct FileCopy {
    let way: Int
    let id: UInt64
    let source: URL
    let destination: URL

    /// The kernel copies; nothing is read into memory.
    /// - Returns: why it failed.
    func perform() -> WCError.Code? {
        let files = FileManager.default
        guard files.isReadableFile(atPath: source.path) else { return .fileAccessDenied }
        do {
            try files.createDirectory(
                at: destination.deletingLastPathComponent(), withIntermediateDirectories: true)
            try? files.removeItem(at: destination)
            try files.copyItem(at: source, to: destination)
            return nil
        } catch CocoaError.fileWriteOutOfSpace {
            return .insufficientSpace
        } catch {
            return .fileAccessDenied
        }
    }
}

extension FileCopy {
    /// Why that cannot be transferred; nil if it can.
    static func refusal(of url: URL) -> WCError.Code? {
        guard url.isFileURL else { return .invalidParameter }
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) else {
            return .fileAccessDenied
        }
        return isDirectory.boolValue ? .invalidParameter : nil
    }
}
