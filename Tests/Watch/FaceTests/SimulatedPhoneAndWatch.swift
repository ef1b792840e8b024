import Foundation
import MeshBase
import SessionMeshWatchConnectivity
import Testing

/// A phone and a watch, both with this library, as two isolated apps. Each has its own store and folder, and nothing else
/// outlives a launch.
@MainActor
final class PhoneAndWatch: PairBench {
    /// An app: the objects that it makes at launch, and the values that it records.
    @MainActor
    final class App {
        let device: SimulatedDevice
        let peer: SessionPeer
        private var store = MemoryStore()
        /// True if its store outlives a launch.
        private let remembers: Bool
        private let choice: WatchConnection.Configuration.Store?
        private var gate: GatedStore?
        let folder: URL
        private(set) var connection: WatchConnection?
        private(set) var counter: SharedState<Counter>?
        private(set) var title: SharedState<Title>?
        private(set) var events: Recorder<DiagnosticEvent>?
        /// Values recorded across launches.
        let lines = Locked<[Int]>([])
        let sums = Locked<[Int]>([])
        let files = Locked<[String]>([])
        private let clock: any DeliveryClock

        /// Lines that must arrive at this app.
        var expected: Set<Int> = []

        init(
            _ device: SimulatedDevice, _ peer: SessionPeer, _ folder: URL, clock: any DeliveryClock, remembers: Bool,
            choice: WatchConnection.Configuration.Store?
        ) {
            self.remembers = remembers
            self.choice = choice
            self.device = device
            self.peer = peer
            self.folder = folder
            self.clock = clock
        }

        /// Runs the app's own code at launch.
        func begin(_ session: WCSession) {
            end()
            if !remembers { store = MemoryStore() }
            let gate = GatedStore(store)
            self.gate = gate
            let configuration = WatchConnection.Configuration(
                localPeer: peer, store: choice ?? .custom(gate), folder: folder, clock: clock)
            let connection = device.run { WatchConnection(session: session, configuration: configuration) }
            let (lines, sums, files) = (lines, sums, files)
            connection.register(Add.self) { request in
                sums.withLock { $0.append(request.left) }
                return request.left + request.right
            }
            connection.register(Note.self) { note in
                lines.withLock { $0.append(note.line) }
                return VoidResponse()
            }
            connection.onFileReceived = { file in
                let text = (try? String(contentsOf: file.fileURL, encoding: .utf8)) ?? ""
                files.withLock { $0.append("\(file.metadata?["id"] as? String ?? "-"): \(text)") }
                try? FileManager.default.removeItem(at: file.fileURL)
            }
            counter = SharedState(initialValue: Counter(), connection: connection)
            title = SharedState(initialValue: Title(), connection: connection)
            events = Recorder(connection.diagnosticEvents)
            self.connection = connection
        }

        /// Ends the process with everything in it.
        func end() {
            gate?.shut()
            connection?.abandon()
            letGo()
        }

        /// Releases the app's objects while the process continues.
        func letGo() { (connection, counter, title, events) = (nil, nil, nil, nil) }
    }

    let pair: SimulatedWatchPair
    let phone: App
    let watch: App
    private let folder: TemporaryFolder

    /// - Parameter store: the store that both apps choose instead of the test's own.
    init(
        seed: UInt64 = 1, _ conditions: SimulatedWatchConditions = .calm, watches: Int = 1, remembers: Bool = true,
        store: WatchConnection.Configuration.Store? = nil
    ) throws {
        pair = SimulatedWatchPair(seed: seed, conditions: conditions, watches: watches)
        folder = try TemporaryFolder()
        phone = App(
            pair.phone, here, folder.url.appendingPathComponent("phone"), clock: pair.clock, remembers: remembers,
            choice: store)
        watch = App(
            pair.watch, there, folder.url.appendingPathComponent("watch"), clock: pair.clock, remembers: remembers,
            choice: store)
        for app in [phone, watch] {
            // This also runs when the system launches the app.
            app.device.onLaunch { [weak app] session in
                Task { @MainActor in app?.begin(session) }
            }
            app.device.onTerminate { [weak app] in Task { @MainActor in app?.end() } }
            app.device.launch()
        }
    }

    func launch(_ app: App) {
        app.end()
        app.device.relaunch()
    }

    func write(_ name: String, _ text: String) throws -> URL {
        let url = folder.url.appendingPathComponent(name)
        try Data(text.utf8).write(to: url)
        return url
    }

    /// Waits until the apps have found out that they use the same frames.
    func meet() async {
        await run { [phone, watch] in
            [phone, watch].allSatisfy { $0.connection?.requests.isReachable() == true }
        }
    }

    func connection(_ app: App) throws -> WatchConnection { try #require(app.connection) }
}

/// The store of one launch. It ignores all writes after the launch has ended.
private final class GatedStore: SessionStore {
    private let store: MemoryStore
    private let isShut = Locked(false)

    init(_ store: MemoryStore) { self.store = store }

    func shut() { isShut.withLock { $0 = true } }

    var durability: StoreDurability { store.durability }
    func commit(_ batch: StoreBatch) throws {
        try isShut.withLock { isShut in
            if isShut { throw CancellationError() }
            try store.commit(batch)
        }
    }
    func value(for key: String) throws -> [UInt8]? { try store.value(for: key) }
    func catalog(prefix: String) throws -> StoreCatalog { try store.catalog(prefix: prefix) }
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        try store.entries(of: journal, from: position, maxBytes: maxBytes)
    }
    func close() {}
}

let there = SessionPeer(id: "watch", deviceClass: .watch, appInstanceID: "1", topology: .pairedCompanion)
