import Foundation

/// A copy of a file into an inbox, performed without the lock.
struct FileCopy {
    let route: Int
    let id: UInt64
    let source: URL
    let destination: URL

    /// Copies the file without reading it into memory.
    /// - Returns: The error code; nil on success.
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
    /// Returns the reason why a URL can't be transferred; nil if it can.
    static func refusal(of url: URL) -> WCError.Code? {
        guard url.isFileURL else { return .invalidParameter }
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: url.path, isDirectory: &isDirectory) else {
            return .fileAccessDenied
        }
        return isDirectory.boolValue ? .invalidParameter : nil
    }
}
