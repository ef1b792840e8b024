public import Foundation
import MeshBase
public import MeshConnection
public import MeshIdentity
import MeshTransport
public import Observation

/// Files to and from the peers of one connection.
///
/// ```swift
/// let files = try FileTransfers(connection: connection, folder: folder)
/// files.onFileReceived = { file in try file.move(into: library) }
/// let transfer = try await files.transferFile(url, metadata: ["kind": "track"])
/// try await transfer.waitForCompletion()
/// ```
///
/// A file goes in chunks that the receiver asks for, or whole where a `FileCarrier` takes it; it goes on at the last
/// good chunk after a drop or a relaunch of either side. The receiver checks a file against a hash of the whole, which
/// finds accidental damage; keeping out other senders is the link's task. The receiver owns the file before its app is
/// told, and the sender's transfer completes once that app has taken it.
///
/// Lives on the main actor; files are read and written elsewhere. Nothing that it starts keeps it alive.
@MainActor @Observable
public final class FileTransfers {
    @ObservationIgnored let exchange: FileExchange
    @ObservationIgnored private let table = TransferTable()
    @ObservationIgnored private let route: EnvelopeRoute
    @ObservationIgnored private let listeners = OwnedTasks()
    @ObservationIgnored private let courier: CarrierReceiver?

    /// Goes on with what an earlier launch has left.
    /// - Parameters:
    ///   - connection: has a store, if transfers are to outlive the process.
    ///   - folder: used by nothing else, on the disk to which the app moves files. Created if it doesn't exist.
    ///   - carrier: moves whole files where the platform can.
    /// - Throws: `idInUse` when the connection has a `FileTransfers`; `fileAccessDenied` or `fileNotFound` for a folder
    ///   that cannot be used.
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
        courier = carrier.map { _ in CarrierReceiver(inbox: inbox, exchange: exchange) }
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
        table.lookAfter = { [weak exchange] in Task { await exchange?.lookAfterUnclaimed(isForced: true) } }
        // Ends when the exchange goes, and with it whoever waits for a transfer.
        Task { [table] in
            for await event in stream { table.apply(event) }
            table.end()
        }
        if let courier { carrier?.begin(courier) }
    }

    /// Sends a file to a peer. It must stay where it is, unchanged, until the transfer has ended.
    ///
    /// Reads the file once before it returns, for its hash; the transfer is then in the connection's store. Waits for the
    /// peer as long as that takes: who wants it to end sooner cancels it.
    /// - Parameters:
    ///   - metadata: values of a property list, at most 32 KiB as JSON together with the file's name.
    ///   - peer: nil for the one peer there is; of several, the first that asks.
    /// - Throws: `fileNotFound`, `fileAccessDenied`, `encodingFailed` for metadata, `payloadTooLarge` (`file.header`),
    ///   `deliveryFailed` when it changes meanwhile, or `outstandingMax` files are on their way, `sessionError`,
    ///   `notActivated` after `close`; what a carrier throws.
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

    /// Files of this side that have not ended, the oldest first; also those of earlier launches, soon after this one.
    public var outstandingFileTransfers: [FileTransfer] { table.transfers(areIncoming: false) }

    /// Files that are coming, the oldest first.
    public var incomingFileTransfers: [FileTransfer] { table.transfers(areIncoming: true) }

    /// Cancels every transfer of this side.
    public func cancelAllFileTransfers() {
        for transfer in outstandingFileTransfers { transfer.cancel() }
    }

    /// Is handed every file, and first those that wait already. A file that it has moved away is imported when it
    /// returns; one that it leaves, or throws about, waits: for `ReceivedFile.accept`, or for the next launch.
    public var onFileReceived: (@MainActor (ReceivedFile) throws -> Void)? {
        get { table.handler }
        set { table.setHandler(newValue) }
    }

    /// The files that wait for the app, and those that come. Every call is an independent subscriber, 64 files deep; of
    /// what a slow one misses, what has not been taken is offered again at the next launch.
    public var receivedFiles: AsyncStream<ReceivedFile> { table.subscribe() }

    /// Ends file transfer on this connection. Unfinished transfers go on at the next launch, and callers that wait get
    /// `notActivated`. Idempotent.
    public func close() async {
        listeners.cancel()
        await exchange.stop()
    }
}

/// What the app sees of the transfers. Outlives `FileTransfers` by the events that are under way.
@MainActor @Observable
final class TransferTable {
    private var transfers: [TransferKey: FileTransfer] = [:]
    private var order: [TransferKey] = []
    /// What has not been taken, the oldest first; as many as the inbox holds.
    @ObservationIgnored private var unclaimed: [(key: String, file: ReceivedFile)] = []
    @ObservationIgnored private(set) var handler: (@MainActor (ReceivedFile) throws -> Void)?
    @ObservationIgnored private let received = Topic<ReceivedFile>(bufferLimit: 64)
    @ObservationIgnored var cancel: (TransferKey) -> Void = { _ in }
    @ObservationIgnored var lookAfter: () -> Void = {}
    /// Cancelled while it may have been completing; it is not handed over any more.
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
            hand(file)
        case .taken(let key): unclaimed.removeAll { $0.key == key }
        }
    }

    func setHandler(_ newHandler: (@MainActor (ReceivedFile) throws -> Void)?) {
        handler = newHandler
        for (_, file) in unclaimed { hand(file) }
    }

    func subscribe() -> AsyncStream<ReceivedFile> { received.subscribe(startingWith: unclaimed.map(\.file)) }

    /// Nothing more will be heard.
    func end() {
        received.finish()
        for key in order { remove(key, .notActivated) }
        unclaimed = []
    }

    private func forget(_ key: TransferKey) {
        transfers[key] = nil
        order.removeAll { $0 == key }
    }

    private func hand(_ file: ReceivedFile) {
        guard let handler else { return }
        // Thrown about or not: what was moved away was taken, and what was not is offered again.
        try? handler(file)
        lookAfter()
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

/// Moves a carried file into the inbox before its platform deletes it, and tells the exchange afterwards.
final class CarrierReceiver: FileCarrierObserver {
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
            let said = try? JSONDecoder().decode(FileOffer.self, from: header), said.header.isCarried,
            let offer = FileOffer(said.header, from: said.peerID, chunkBytesMax: said.chunkBytesMax)
        else { return false }
        do throws(ConnectionError) {
            try inbox.adopt(file.path, for: offer)
            Task { [weak exchange] in await exchange?.adopted(offer) }
        } catch {
            Task { [weak exchange] in await exchange?.notAdopted(offer, error) }
        }
        return true
    }
}
