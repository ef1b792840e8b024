public import Foundation
import MeshBus
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshStorage
import MeshTransport

/// The stored keys of this peer, the same on every peer of its connection, whichever starts first.
///
/// ```swift
/// let volume = StorageKey<Int>("volume")
/// await StorageRouter.shared.register(volume)
/// try await StorageRouter.shared.attach(to: connection)
/// try await StorageRouter.shared.set(7, for: volume)
/// ```
///
/// Asks, answers and repeats by itself. What changes is written to the connection's store before it is sent.
public actor StorageRouter {
    public static let shared = StorageRouter()

    var replica = KeyReplica(author: "")
    var early: [String: Data?] = [:]
    var failures: [String: String] = [:]
    var connection: (any SessionConnection)?
    var route: EnvelopeRoute?
    var isPumping = false
    /// Something has come up since the pump last looked.
    var isPumpAsked = false
    var isRetryPlanned = false
    let listeners = OwnedTasks()
    private var watchers: [Int: (key: String, yield: (Data?) -> Void)] = [:]
    private var statusWatchers: [Int: AsyncStream<[String: KeyStatus]>.Continuation] = [:]
    private var shownStatuses: [String: KeyStatus] = [:]
    private var watcherCount = 0

    public init() {}

    /// Bounds and sizes; set it before keys are.
    public func configure(_ configuration: SyncConfiguration) { replica.configuration = configuration }

    /// Adds a key to the catalog.
    public func register<Value>(_ key: StorageKey<Value>) { replica.rules[key.name] = key.rule }

    // MARK: - Values

    /// - Throws: what encoding throws; `KeySyncError.Code.tooLarge`. The stored value is then unchanged.
    public func set<Value>(_ value: Value, for key: StorageKey<Value>) throws {
        register(key)
        try write(key.encode(value), key.name)
    }

    /// nil when there is none.
    /// - Throws: when what is stored is of another type; its bytes stay as they are.
    public func get<Value>(_ key: StorageKey<Value>) throws -> Value? {
        register(key)
        do {
            return try data(key.name).map(key.decode)
        } catch {
            failures[key.name] = "\(error)"
            throw error
        }
    }

    public func remove<Value>(_ key: StorageKey<Value>) throws {
        register(key)
        guard data(key.name) != nil else { return }
        try write(nil, key.name)
    }

    /// Each value from now on, the present one first; of values that nobody reads the newest stays.
    public func values<Value>(of key: StorageKey<Value>) -> AsyncStream<Value?> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value?.self, bufferingPolicy: .bufferingNewest(1))
        let id = watch { watchers[$0] = (key.name, { continuation.yield($0.flatMap { try? key.decode($0) }) }) }
        continuation.onTermination = { [weak self] _ in Task { await self?.endWatching(id) } }
        continuation.yield(data(key.name).flatMap { try? key.decode($0) })
        return stream
    }

    // MARK: - Syncing

    /// Sends every registered key that may travel to each peer that lacks it; the `manual` ones too.
    public func syncRegisteredKeysIfNeeded() async {
        replica.send(replica.rules.keys.sorted())
        await pump()
    }

    /// The app's explicit word: sends a key whatever its policy says. What is secured still needs its own.
    public func sync<Value>(_ key: StorageKey<Value>, overridingPolicy: Bool = false) async {
        register(key)
        replica.send([key.name], overridingPolicy: overridingPolicy)
        await pump()
    }

    /// Encoded values by name of what may leave, as a peer that asks gets them.
    public func syncSnapshot() -> [String: Data] { replica.snapshot }

    /// nil when nothing is stored, and nothing was removed, under that name.
    public func status(of name: String) -> KeyStatus? {
        failures[name].map { KeyStatus.failed(reason: $0) } ?? replica.status(of: name)
    }

    /// All statuses now, and again whenever one has changed.
    public func statuses() -> AsyncStream<[String: KeyStatus]> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: [String: KeyStatus].self, bufferingPolicy: .bufferingNewest(1))
        let id = watch { statusWatchers[$0] = continuation }
        continuation.onTermination = { [weak self] _ in Task { await self?.endWatching(id) } }
        continuation.yield(allStatuses)
        return stream
    }

    func sync(_ data: Data, _ name: String, _ rule: KeyRule) async throws -> Bool {
        replica.rules[name] = rule
        if self.data(name) != data { try write(data, name) }
        guard rule.policy == .manual || rule.isAutomatic(byteCount: data.count, replica.configuration),
            rule.isEligible
        else { return false }
        replica.send([name])
        await pump()
        return true
    }

    // MARK: - Inside

    private func data(_ name: String) -> Data? { early[name] ?? replica.value(name) }

    private func write(_ data: Data?, _ name: String) throws {
        failures[name] = nil
        guard let connection else {
            early.updateValue(data, forKey: name)
            return show([name])
        }
        guard replica.set(data, name, at: connection.stamp()) else {
            throw KeySyncError(.tooLarge(key: name, bytes: data?.count ?? 0))
        }
        show([name])
        try persist()
        Task { await pump() }
    }

    private func watch(_ add: (Int) -> Void) -> Int {
        watcherCount += 1
        add(watcherCount)
        return watcherCount
    }

    private func endWatching(_ id: Int) {
        watchers[id] = nil
        statusWatchers[id] = nil
    }

    private var allStatuses: [String: KeyStatus] {
        var statuses: [String: KeyStatus] = [:]
        for name in Set(replica.entries.keys).union(failures.keys) { statuses[name] = status(of: name) }
        return statuses
    }

    func show(_ names: Set<String>) {
        for (name, yield) in watchers.values where names.contains(name) { yield(data(name)) }
        showStatuses()
    }

    func showStatuses() {
        guard !statusWatchers.isEmpty else { return }
        let statuses = allStatuses
        guard statuses != shownStatuses else { return }
        shownStatuses = statuses
        for continuation in statusWatchers.values { continuation.yield(statuses) }
    }
}
