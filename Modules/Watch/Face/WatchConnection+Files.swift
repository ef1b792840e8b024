public import Foundation
import MeshBase
import MeshConnection
public import MeshFileTransfer
import Observation

extension WatchConnection {
    /// Sends a file, as the session moves files: in the background, also while the app is not running. It must stay
    /// where it is, unchanged, until the transfer has ended. See `FileTransfers.transferFile`.
    /// - Parameter metadata: values of a property list.
    /// - Throws: `WatchConnectionError`: `fileNotFound`, `fileAccessDenied`, `notActivated` and others.
    @discardableResult
    public func transferFile(_ fileURL: URL, metadata: [String: Any]? = nil) async throws -> FileTransfer {
        try await waitForActivation(timeout: Self.activationPatience)
        let files = try holder.files()
        defer { countFiles() }
        return try await files.transferFile(fileURL, metadata: metadata)
    }

    /// Files that are on their way to the counterpart, also those of earlier launches.
    public var outstandingFileTransfers: [FileTransfer] { (try? holder.files())?.outstandingFileTransfers ?? [] }

    /// Cancels every file that is on its way from here. Each ends with `cancelled`.
    public func cancelAllFileTransfers() {
        holder.made?.cancelAllFileTransfers()
        countFiles()
    }

    /// Is handed every file that comes, and first those that wait. One that it has moved away is the app's; one that it
    /// leaves where it is, waits: for `ReceivedFile.accept`, or for the next launch. Of several connections of a session
    /// the one that has set its handler last gets the files, until it closes.
    public var onFileReceived: (@MainActor @Sendable (ReceivedFile) -> Void)? {
        get { holder.handler(of: self) }
        set {
            holder.setHandler(newValue, of: self)
            _ = try? holder.files()
        }
    }

    /// The files that wait for the app, and those that come. Every call is an independent subscriber. Ends when the last
    /// connection of the session does.
    public var receivedFiles: AsyncStream<ReceivedFile> {
        _ = try? holder.files()
        return holder.receivedFiles
    }
}

/// Makes the transfers when they are needed first: of a stand-in's connection, most never are.
@MainActor
final class FilesHolder {
    private let make: () throws -> FileTransfers
    private let onChange: () -> Void
    private let opened = Topic<FileTransfers>(bufferLimit: 1)
    private(set) var made: FileTransfers?
    private(set) var isClosed = false
    typealias FileHandler = @MainActor @Sendable (ReceivedFile) -> Void

    /// The one that was set last, at the end.
    private var handlers: [Handler] = []

    private struct Handler {
        weak var owner: WatchConnection?
        let take: FileHandler
    }

    /// - Parameter onChange: called after transfers have begun or ended.
    init(make: @escaping () throws -> FileTransfers, onChange: @escaping () -> Void) {
        self.make = make
        self.onChange = onChange
    }

    /// - Throws: `ConnectionError` when the folder cannot be used; the next call tries again.
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

    /// Also of transfers that can be made only later.
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
