public import Foundation
import MeshBase
import MeshConnection
public import MeshFileTransfer
import Observation

extension WatchConnection {
    /// Sends a file in the background, even while the app isn't running. The file must stay in place, unchanged, until
    /// the transfer has ended. See `FileTransfers.transferFile`.
    /// - Parameter metadata: Property list values.
    /// - Throws: `WatchConnectionError`: `fileNotFound`, `fileAccessDenied`, `notActivated` and others.
    @discardableResult
    public func transferFile(_ fileURL: URL, metadata: [String: Any]? = nil) async throws -> FileTransfer {
        try await waitForActivation(timeout: Self.activationTimeout)
        let files = try holder.files()
        defer { countFiles() }
        return try await files.transferFile(fileURL, metadata: metadata)
    }

    /// The files being sent to the counterpart, including those of earlier launches.
    public var outstandingFileTransfers: [FileTransfer] { (try? holder.files())?.outstandingFileTransfers ?? [] }

    /// Cancels all outgoing file transfers. Each ends with `cancelled`.
    public func cancelAllFileTransfers() {
        holder.made?.cancelAllFileTransfers()
        countFiles()
    }

    /// Handles each received file, starting with those that wait.
    ///
    /// If the handler moves the file away, the app owns it. Otherwise the file waits for `ReceivedFile.accept` or for
    /// the next launch. If several connections of a session have a handler, the one that was set last is called, until
    /// its connection closes.
    public var onFileReceived: (@MainActor @Sendable (ReceivedFile) -> Void)? {
        get { holder.handler(of: self) }
        set {
            holder.setHandler(newValue, of: self)
            _ = try? holder.files()
        }
    }

    /// The files that wait for the app, then each received file. Every access is an independent subscription. Ends when
    /// the last connection of the session closes.
    public var receivedFiles: AsyncStream<ReceivedFile> {
        _ = try? holder.files()
        return holder.receivedFiles
    }
}

/// Creates the `FileTransfers` on first use: most stand-in connections never need it.
@MainActor
final class FilesHolder {
    private let make: () throws -> FileTransfers
    private let onChange: () -> Void
    private let opened = Topic<FileTransfers>(bufferLimit: 1)
    private(set) var made: FileTransfers?
    private(set) var isClosed = false
    typealias FileHandler = @MainActor @Sendable (ReceivedFile) -> Void

    /// Handlers in the order in which they were set. The last one is called.
    private var handlers: [Handler] = []

    private struct Handler {
        weak var owner: WatchConnection?
        let take: FileHandler
    }

    /// - Parameter onChange: Called after transfers have started or ended.
    init(make: @escaping () throws -> FileTransfers, onChange: @escaping () -> Void) {
        self.make = make
        self.onChange = onChange
    }

    /// Returns the transfers, creating them if necessary.
    /// - Throws: `ConnectionError` if the folder can't be used. The next call tries again.
    func files() throws -> FileTransfers {
        if let made { return made }
        guard !isClosed else { throw ConnectionError.notActivated }
        let files = try make()
        made = files
        hand()
        opened.publish(files)
        watch(files)
        return files
    }

    /// Received files. The stream may be requested before the transfers exist.
    var receivedFiles: AsyncStream<ReceivedFile> {
        if let made { return made.receivedFiles }
        let received = opened.subscribe().flatMap { await $0.receivedFiles }
        let (stream, continuation) = AsyncStream.makeStream(
            of: ReceivedFile.self, bufferingPolicy: .bufferingNewest(64))
        let task = Task {
            for await file in received { continuation.yield(file) }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    func close() async {
        isClosed = true
        opened.finish()
        await made?.close()
    }

    func handler(of owner: WatchConnection) -> FileHandler? {
        handlers.last { $0.owner === owner }?.take
    }

    func setHandler(_ handler: FileHandler?, of owner: WatchConnection) {
        handlers.removeAll { $0.owner == nil || $0.owner === owner }
        if let handler { handlers.append(Handler(owner: owner, take: handler)) }
        hand()
    }

    private func hand() { made?.onFileReceived = handlers.last?.take }

    private func watch(_ files: FileTransfers) {
        withObservationTracking {
            _ = files.outstandingFileTransfers
        } onChange: { [weak self, weak files] in
            Task { @MainActor in
                guard let self, let files else { return }
                self.onChange()
                self.watch(files)
            }
        }
    }
}
