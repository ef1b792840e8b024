package import MeshBase

/// A small file of this user's alone (mode 0600), replaced as a whole: whatever happens, it holds the session before or the
/// one after. Its folder must exist, and others may not write to it unless it is one like /tmp.
///
/// Each call has a thread of its own while it blocks. One process at a time: of two, the last to write wins.
public struct FileResumeStore: ResumeStore {
    private let file: PrivateFile<ResumeError>

    /// The file's path, as it was given.
    public var path: String { file.path }

    /// Creates a store in a file, which is created by the first `save`.
    ///
    /// - Throws: `ResumeError.Code.unavailable` for a path that names no file.
    public init(path: String) throws { file = try PrivateFile(path) }

    /// Reads the session from the file, or returns nil if there is none.
    ///
    /// - Throws: `damaged`, `foreign`, `unavailable`.
    public func load() async throws -> SessionSnapshot? {
        try await offPool {
            try file.read(bytesMax: SessionSnapshot.storedBytesMax).map(SessionSnapshot.init(stored:))
        }
    }

    /// Replaces the session in the file as a whole, or removes the file for nil.
    ///
    /// - Throws: `foreign`, `unavailable`; the file is as it was then.
    public func save(_ snapshot: SessionSnapshot?) async throws {
        let bytes = try snapshot?.stored()
        try await offPool { try bytes.map { try file.replace($0) } ?? file.remove() }
    }
}

extension ResumeError: PrivateFileFailure {
    package init(_ flaw: PrivateFileFlaw, _ message: String, errorNumber: Int32) {
        let code: Code =
            switch flaw {
            case .notPrivate: .foreign
            case .oversized: .damaged
            case .noName, .missing, .refused: .unavailable
            }
        self.init(code, message, cause: errorNumber == 0 ? nil : SystemCallError("file", errorNumber))
    }
}
