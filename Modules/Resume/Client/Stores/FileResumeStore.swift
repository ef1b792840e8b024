package import MeshBase

/// A store in a small file that only this user can access (mode 0600). The file is replaced atomically, so it always
/// holds either the earlier session or the new one. Its folder must exist. Other users must not be able to write to the
/// folder, unless it is sticky like /tmp.
///
/// Blocking calls run on separate threads. Use the file from one process at a time. If two processes use it, the last
/// write wins.
public struct FileResumeStore: ResumeStore {
    private let file: PrivateFile<ResumeError>

    /// The path of the file, as given.
    public var path: String { file.path }

    /// Creates a store in a file, which is created by the first `save`.
    ///
    /// - Throws: `ResumeError.Code.unavailable` if the path doesn't name a file.
    public init(path: String) throws { file = try PrivateFile(path) }

    /// Reads the session from the file, or returns nil if there is none.
    ///
    /// - Throws: `damaged`, `foreign`, `unavailable`.
    public func load() async throws -> SessionSnapshot? {
        try await offPool {
            try file.read(bytesMax: SessionSnapshot.storedBytesMax).map(SessionSnapshot.init(stored:))
        }
    }

    /// Replaces the session in the file atomically. nil removes the file.
    ///
    /// - Throws: `foreign`, `unavailable`. Then the file is unchanged.
    public func save(_ snapshot: SessionSnapshot?) async throws {
        let bytes = try snapshot?.stored()
        try await offPool { try bytes.map { try file.replace($0) } ?? file.remove() }
    }
}

extension ResumeError: PrivateFileFailure {
    package init(_ problem: PrivateFileProblem, _ message: String, errorNumber: Int32) {
        let code: Code =
            switch problem {
            case .notPrivate: .foreign
            case .oversized: .damaged
            case .noName, .missing, .refused: .unavailable
            }
        self.init(code, message, cause: errorNumber == 0 ? nil : SystemCallError("file", errorNumber))
    }
}
