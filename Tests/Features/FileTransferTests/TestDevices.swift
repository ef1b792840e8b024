import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTransport
import Testing

@testable import MeshFileTransfer

/// A device whose app may be killed and relaunched. Its folders and its store persist.
@MainActor
final class TestDevice {
    let peer: SessionPeer
    var folder: URL
    let store = FailingStore()
    private let network: ScenarioNetwork
    private let lanes: [LinkLane: PayloadLimit]
    var limits = FileTransferLimits()
    var system = SystemFiles()
    var carrier: (any FileCarrier)?
    /// The number of imports of each file, by the name under which it was sent.
    private(set) var imports: [String: Int] = [:]
    /// The last content of each file, by name.
    private(set) var contents: [String: Data] = [:]
    /// True if the app moves received files away.
    var importsFiles = true
    /// True if the app also reads them.
    var readsFiles = true
    private(set) var files: FileTransfers?
    private(set) var connection: TransportConnection?
    private(set) var diagnostics: [DiagnosticEvent] = []
    private var listening: Task<Void, Never>?

    init(_ id: String, _ network: ScenarioNetwork, root: URL, lanes: [LinkLane: PayloadLimit] = ScenarioLanes.network) {
        peer = SessionPeer(id: id, deviceClass: .phone, appInstanceID: "1", topology: .pairedCompanion)
        folder = root.appendingPathComponent(id)
        self.network = network
        self.lanes = lanes
    }

    @discardableResult
    func launch() throws -> FileTransfers {
        let transport = try network.makeTransport(localPeer: peer, lanes: lanes, configuration: .init())
        let connection = TransportConnection(transport: transport, store: store, clock: network.clock(of: peer))
        self.connection = connection
        let events = connection.diagnostics.subscribe()
        listening = Task { [weak self] in for await event in events { self?.diagnostics.append(event) } }
        let files = try FileTransfers(
            connection: connection, folder: folder, carrier: carrier, limits: limits, system: system)
        self.files = files
        files.onFileReceived = { [weak self] file in try self?.take(file) }
        return files
    }

    var storedNames: [String] { (try? store.catalog(prefix: "").keys) ?? ["unreadable"] }

    /// Waits for work outside virtual time: reading complete files, and tasks that haven't run yet.
    func quiesce() async {
        guard let exchange = files?.exchange else { return }
        while await exchange.isReading { await Task.yield() }
        for _ in 0..<50 where await exchange.isSending { await Task.yield() }
    }

    /// Kills the process without notice.
    func crash() async {
        network.crash(peer)
        await files?.close()
        listening?.cancel()
        files = nil
        connection = nil
    }

    private func take(_ file: ReceivedFile) throws {
        guard importsFiles else { return }
        if readsFiles { contents[file.suggestedName] = try Data(contentsOf: file.fileURL) }
        try FileManager.default.removeItem(at: file.fileURL)
        imports[file.suggestedName, default: 0] += 1
    }
}

/// A phone and a watch on one network, and a folder that is deleted with them.
@MainActor
final class TestPair {
    let network: ScenarioNetwork
    let root: URL
    let phone: TestDevice
    let watch: TestDevice

    init(
        seed: UInt64, _ conditions: ScenarioConditions = .ideal, lanes: [LinkLane: PayloadLimit] = ScenarioLanes.network
    )
        throws
    {
        network = ScenarioNetwork(seed: seed, conditions: conditions)
        root = FileManager.default.temporaryDirectory.appendingPathComponent("files-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        phone = TestDevice("phone", network, root: root, lanes: lanes)
        watch = TestDevice("watch", network, root: root, lanes: lanes)
    }

    deinit { try? FileManager.default.removeItem(at: root) }

    /// A file with bytes that depend on the seed.
    func makeFile(_ name: String, bytes: Int, seed: UInt64 = 1) throws -> URL {
        var random = SplitMix64(seed: seed)
        let url = root.appendingPathComponent(name)
        try Data().write(to: url)
        let handle = try FileHandle(forWritingTo: url)
        defer { try? handle.close() }
        var written = 0
        while written < bytes {
            let words = (0..<1 << 16).map { _ in random.next() }
            let part = words.withUnsafeBytes { Data($0.prefix(bytes - written)) }
            try handle.write(contentsOf: part)
            written += part.count
        }
        return url
    }

    /// Advances virtual time until the condition holds.
    func settle(steps: Int = 2000, step: Duration = .milliseconds(10), until condition: () -> Bool = { false }) async {
        for _ in 0..<steps {
            if condition() { return }
            network.advance(by: step)
            for _ in 0..<10 { await Task.yield() }
            await phone.quiesce()
            await watch.quiesce()
        }
    }

    /// Begins a transfer. Waits for work outside virtual time, such as reading the file.
    func begin(_ url: URL, metadata: [String: Any]? = nil, to peer: SessionPeer? = nil) async throws -> FileTransfer {
        try await #require(phone.files).transferFile(url, metadata: metadata, to: peer)
    }
}

func next(of files: AsyncStream<ReceivedFile>) async -> ReceivedFile? {
    for await file in files { return file }
    return nil
}

/// A store whose reads or commits can be made to fail.
final class FailingStore: SessionStore {
    private let store = MemoryStore()
    private let failing = Locked((reads: false, commits: false))

    var failsReads: Bool {
        get { failing.withLock { $0.reads } }
        set { failing.withLock { $0.reads = newValue } }
    }
    var failsCommits: Bool {
        get { failing.withLock { $0.commits } }
        set { failing.withLock { $0.commits = newValue } }
    }

    var durability: StoreDurability { store.durability }

    func commit(_ batch: StoreBatch) throws {
        if failsCommits { throw ConnectionError.insufficientSpace }
        try store.commit(batch)
    }
    func value(for key: String) throws -> [UInt8]? {
        if failsReads { throw ConnectionError.fileAccessDenied(url: key) }
        return try store.value(for: key)
    }
    func catalog(prefix: String) throws -> StoreCatalog {
        if failsReads { throw ConnectionError.fileAccessDenied(url: prefix) }
        return try store.catalog(prefix: prefix)
    }
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try store.entries(of: journal, from: position, maxBytes: maxBytes)
    }
    func close() { store.close() }
}
