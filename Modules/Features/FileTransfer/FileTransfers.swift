public import Foundation
import MeshBase
public import MeshConnection
public import MeshIdentity
import MeshTransport
public import Observation

/// Sends files to the peers of one connection and receives files from them.
///
/// ```swift
/// let files = try FileTransfers(connection: connection, folder: folder)
/// files.onFileReceived = { file in try file.move(into: library) }
/// let transfer = try await files.transferFile(url, metadata: ["kind": "track"])
/// try await transfer.waitForCompletion()
/// ```
///
/// The receiver asks for a file in chunks, unless a `FileCarrier` moves it. After a lost connection or a relaunch of either
/// side, a transfer in chunks continues after the last good chunk. The receiver checks a hash of the complete file. It
/// detects accidental damage, not forgery: the link decides who may send. A file is safely on the receiver's disk before its
/// app gets it. The sender's transfer completes once that app has taken the file.
///
/// Lives on the main actor; reads and writes files elsewhere. The tasks that it starts don't keep it alive.
@MainActor @Observable
public final class FileTransfers {
    @ObservationIgnored let exchange: FileExchange
    @ObservationIgnored private let table = TransferTable()
    @ObservationIgnored private let route: EnvelopeRoute
    @ObservationIgnored private let listeners = OwnedTasks()
    @ObservationIgnored private let carrierObserver: InboxCarrierObserver?

    /// Resumes the transfers of earlier launches.
    /// - Parameters:
    ///   - connection: needs a store if outgoing transfers are to survive the process.
    ///   - folder: a folder that nothing else uses, on the disk to which the app moves received files. Created if it
    ///     doesn't exist.
    ///   - carrier: the platform service that moves complete files; nil to send all files in chunks.
    /// - Throws: `idInUse` if the connection already has a `FileTransfers`; `fileAccessDenied` or `fileNotFound` if the folder
    ///   can't be used.
    public convenience init(
        connection: any SessionConnection, folder: URL, carrier: (any FileCarrier)? = nil,
        limits: FileTransferLimits = FileTransferLimits()
    ) throws(ConnectionError) {
        try self.init(connection: connection, folder: folder, carrier: carrier, limits: limits, system: SystemFiles())
    }

    init(
        connection: any SessionConnection, folder: URL, carrier: (any FileCarrier)?, limits: FileTransferLimits,
        system: SystemFiles
    ) throws(ConnectionError) {
        let inbox = try FileInbox(path: folder.path, limits: limits, system: system)
        let (stream, events) = AsyncStream.makeStream(of: FileExchange.Event.self)
        let exchange = FileExchange(
            connection: connection, inbox: inbox, system: system, carrier: carrier, events: events)
        self.exchange = exchange
        route = try connection.route(featureID: FileMessage.featureID) { [weak exchange] in
            await exchange?.receive($0)
        }
        carrierObserver = carrier.map { _ in InboxCarrierObserver(inbox: inbox, exchange: exchange) }
        let reachability = connection.transport.reachabilityChanges()
        listeners.hold([
            Task { [weak exchange] in
                await exchange?.restore()
                for await change in reachability { await exchange?.reachabilityChanged(change) }
            }
        ])
        table.cancel = { [weak exchange] key in
            Task {
                switch key {
                case .outgoing(let id): await exchange?.cancel(id)
                case .incoming(let key, _): await exchange?.cancelIncoming(key)
                }
            }
        }
        table.checkUnclaimed = { [weak exchange] in Task { await exchange?.checkUnclaimed(isForced: true) } }
        // Ends with the exchange. Then tasks that wait for a transfer get `notActivated`.
        Task { [table] in
            for await event in stream { table.apply(event) }
            table.end()
        }
        if let carrierObserver { carrier?.begin(carrierObserver) }
    }

    /// Sends a file to a peer. The file must stay in place, unchanged, until the transfer has ended.
    ///
    /// Returns after reading the file once, for its hash, and saving the transfer in the connection's store. A transfer waits
    /// for its peer without a time limit; cancel it to end it sooner.
    /// - Parameters:
    ///   - metadata: property-list values, at most 32 KiB as JSON together with the file's name.
    ///   - peer: if nil, the only known peer. If several peers are known, or none, the first that asks for the file.
    /// - Throws: `fileNotFound`, `fileAccessDenied`, `encodingFailed` for metadata, `payloadTooLarge` (`file.header`),
    ///   `deliveryFailed` if the file changes meanwhile or too many transfers (256) are outstanding, `sessionError`,
    ///   `notActivated` after `close`, or an error of the carrier.
    public func transferFile(
        _ fileURL: URL, metadata: [String: Any]? = nil, to peer: SessionPeer? = nil
    ) async throws(ConnectionError) -> FileTransfer {
        guard fileURL.isFileURL else { throw .fileNotFound(url: fileURL.absoluteString) }
        let content: [String: MetadataValue]?
        if let metadata { content = try MetadataValue.dictionary(metadata) } else { content = nil }
        let id = UUID()
        let transfer = table.add(.outgoing(id), path: fileURL.path, metadata: content)
        do throws(ConnectionError) {
            try await exchange.begin(id, path: fileURL.path, metadata: content, to: peer)
            return transfer
        } catch {
            table.remove(.outgoing(id), error)
            throw error
        }
    }

    /// Outgoing files that haven't ended, oldest first. Shortly after a launch, those of earlier launches are included.
    public var outstandingFileTransfers: [FileTransfer] { table.transfers(areIncoming: false) }

    /// Files that are arriving, oldest first.
    public var incomingFileTransfers: [FileTransfer] { table.transfers(areIncoming: true) }

    /// Cancels every outgoing transfer.
    public func cancelAllFileTransfers() {
        for transfer in outstandingFileTransfers { transfer.cancel() }
    }

    /// A handler for received files. A new handler first gets the files that already wait. A file that it moves away counts as
    /// imported when it returns. A file that it leaves in place waits for `ReceivedFile.accept` or the next launch.
    public var onFileReceived: (@MainActor (ReceivedFile) throws -> Void)? {
        get { table.handler }
        set { table.setHandler(newValue) }
    }

    /// The files that wait for the app, then each one that arrives. Every call adds an independent subscriber. It buffers 64
    /// files; a missed file that wasn't taken is offered again at the next launch.
    public var receivedFiles: AsyncStream<ReceivedFile> { table.subscribe() }

    /// Ends file transfer on this connection. Unfinished transfers continue at the next launch, and callers that wait get
    /// `notActivated`. Idempotent.
    public func close() async {
        listeners.cancel()
        await exchange.stop()
    }
}

/// The app's view of the transfers. May outlive `FileTransfers` until the last events are applied.
@MainActor @Observable
final class TransferTable {
    private var transfers: [TransferKey: FileTransfer] = [:]
    private var order: [TransferKey] = []
    /// Files that the app hasn't taken, oldest first. At most as many as the inbox holds.
    @ObservationIgnored private var unclaimed: [(key: String, file: ReceivedFile)] = []
    @ObservationIgnored private(set) var handler: (@MainActor (ReceivedFile) throws -> Void)?
    @ObservationIgnored private let received = Topic<ReceivedFile>(bufferLimit: 64)
    @ObservationIgnored var cancel: (TransferKey) -> Void = { _ in }
    @ObservationIgnored var checkUnclaimed: () -> Void = {}
    /// Keys of incoming files that the app has cancelled. A file that completes anyway isn't handed to the app.
    @ObservationIgnored private var unwanted: Set<String> = []

    func transfers(areIncoming: Bool) -> [FileTransfer] {
        order.compactMap { transfers[$0] }.filter { $0.isIncoming == areIncoming }
    }

    @discardableResult
    func add(_ key: TransferKey, path: String, metadata: [String: MetadataValue]?) -> FileTransfer {
        if let known = transfers[key] { return known }
        let (id, isIncoming) = key.identity
        let transfer = FileTransfer(
            id: id, fileURL: URL(fileURLWithPath: path), isIncoming: isIncoming, metadata: metadata
        ) { [weak self] in
            if case .incoming(let name, _) = key { self?.unwanted.insert(name) }
            self?.cancel(key)
            self?.forget(key)
        }
        transfers[key] = transfer
        order.append(key)
        return transfer
    }

    func remove(_ key: TransferKey, _ error: ConnectionError?) {
        let transfer = transfers[key]
        forget(key)
        transfer?.end(error.map(FileTransfer.State.failed) ?? .completed)
    }

    func apply(_ event: FileExchange.Event) {
        switch event {
        case .began(let key, let path, let metadata): add(key, path: path, metadata: metadata)
        case .progressed(let key, let fraction): transfers[key]?.progressed(to: fraction)
        case .ended(let key, let error):
            if error != nil, case .incoming(let name, _) = key { unwanted.remove(name) }
            remove(key, error)
        case .received(let file, let key):
            guard unwanted.remove(key) == nil else { return }
            unclaimed.append((key, file))
            received.publish(file)
            deliver(file)
        case .taken(let key): unclaimed.removeAll { $0.key == key }
        }
    }

    func setHandler(_ newHandler: (@MainActor (ReceivedFile) throws -> Void)?) {
        handler = newHandler
        for (_, file) in unclaimed { deliver(file) }
    }

    func subscribe() -> AsyncStream<ReceivedFile> { received.subscribe(startingWith: unclaimed.map(\.file)) }

    /// Ends all transfers and subscriptions.
    func end() {
        received.finish()
        for key in order { remove(key, .notActivated) }
        unclaimed = []
    }

    private func forget(_ key: TransferKey) {
        transfers[key] = nil
        order.removeAll { $0 == key }
    }

    private func deliver(_ file: ReceivedFile) {
        guard let handler else { return }
        // The handler's error doesn't matter: a file that it moved was taken, and any other is offered again.
        try? handler(file)
        checkUnclaimed()
    }
}

extension TransferKey {
    fileprivate var identity: (id: UUID, isIncoming: Bool) {
        switch self {
        case .outgoing(let id): (id, false)
        case .incoming(_, let id): (id, true)
        }
    }
}

/// Moves a carried file into the inbox before the platform deletes it, then notifies the exchange.
final class InboxCarrierObserver: FileCarrierObserver {
    private let inbox: FileInbox
    private weak let exchange: FileExchange?

    init(inbox: FileInbox, exchange: FileExchange) {
        self.inbox = inbox
        self.exchange = exchange
    }

    func carried(_ id: UUID, fractionCompleted: Double) {
        Task { [weak exchange] in await exchange?.carried(id, fraction: fractionCompleted) }
    }

    func finished(_ id: UUID, error: ConnectionError?) {
        Task { [weak exchange] in await exchange?.carrierFinished(id, error) }
    }

    func received(_ file: URL, header: Data) -> Bool {
        guard header.count <= FileOffer.bytesMax,
            let decoded = try? JSONDecoder().decode(FileOffer.self, from: header), decoded.header.isCarried,
            let offer = FileOffer(decoded.header, from: decoded.peerID, chunkBytesMax: decoded.chunkBytesMax)
        else { return false }
        do throws(ConnectionError) {
            try inbox.adopt(file.path, for: offer)
            Task { [weak exchange] in await exchange?.adopted(offer) }
        } catch {
            Task { [weak exchange] in await exchange?.adoptionFailed(offer, error) }
        }
        return true
    }
}
