public import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshStorage
public import MeshTransport

/// The stored keys of this device, kept the same on all peers of its connection. The devices may start in any order.
///
/// ```swift
/// let volume = StorageKey<Int>("volume")
/// await StorageRouter.shared.register(volume)
/// try await StorageRouter.shared.attach(to: connection)
/// try await StorageRouter.shared.set(7, for: volume)
/// ```
///
/// Asks peers, answers them and retries automatically. Writes changes to the connection's store before it sends them. For
/// views use `StoredValue` and `Stored`.
public actor StorageRouter {
    /// The app's shared router.
    public static let shared = StorageRouter()

    var replica = KeyReplica(author: "")
    /// Changes that the app made before there was a connection.
    var pendingChanges = PendingKeyChanges()
    var failures: [String: String] = [:]
    var connection: (any SessionConnection)?
    var route: EnvelopeRoute?
    var isPumping = false
    /// True if `pump` was called while it was running.
    var isPumpRequested = false
    /// The timers for retries to peers, and for writes to the store.
    var (retryTimer, writeTimer): (RetryTimer?, RetryTimer?)
    /// The last envelope that was sent to each peer.
    var sent: [String: UUID] = [:]
    /// Keys with urgent changes that weren't handed to the transport yet.
    var urgentKeys: Set<String> = []
    /// The schedule for writing changed peers, and values that the store couldn't write.
    var writePlan = RetryPlan(from: .seconds(5), to: .seconds(300))
    /// The peers in the store.
    var peerStore = KeyPeerStore()
    /// The record and the author in the store.
    var storedRecord = StateVector()
    var storedAuthor: String?
    let listeners = OwnedTasks()
    private var watchers: [Int: (key: String, yield: (Data?) throws -> Void)] = [:]
    private var observers: [Int: KeyObserver] = [:]
    /// Received keys that aren't shown yet, because the store hasn't written their values.
    var received: Set<String> = []
    /// Keys whose changes weren't shown to observers yet.
    private var unshown: Set<String> = []
    private var isShowing = false
    private var progressWatchers: [Int: AsyncStream<KeyProgress>.Continuation] = [:]
    private var shownProgress = KeyProgress()
    private var statusWatchers: [Int: AsyncStream<[String: KeyStatus]>.Continuation] = [:]
    private var shownStatuses: [String: KeyStatus] = [:]
    private var watcherCount = 0

    let random: @Sendable () -> UInt64
    nonisolated let board = ProblemBoard()
    /// A copy of `connection` that any thread may read.
    nonisolated let attached = Locked<(any SessionConnection)?>(nil)

    /// Creates a router in addition to the shared one, for tests and for apps that keep keys separate.
    public init() { self.init { .random(in: 0 ... .max) } }

    /// - Parameter random: the source of authors and nonces.
    package init(random: @escaping @Sendable () -> UInt64) { self.random = random }

    /// Sets bounds and sizes. Call it before you set keys.
    public func configure(_ configuration: SyncConfiguration) { replica.configuration = configuration }

    /// Sets the number of removals to remember, for simulations that remove few keys. Call it before `attach`.
    package func forgetRemovals(beyond count: Int) { replica.removedMax = count }

    /// Adds a key to the catalog.
    public func register<Value>(_ key: StorageKey<Value>) { replica.setRule(key.rule, of: key.name) }

    /// The unsolved problems of the connection, then those of the store and of keys. Observable, and readable on any thread.
    /// Docs/Guides/KeySync.md has the codes.
    public nonisolated var problems: [SessionProblem] {
        let own = board.problems
        return (attached.withLock { $0 }?.problems ?? []) + own
    }

    // MARK: - Values

    /// Stores a value and shows it to observers. Does nothing if the same value is stored.
    ///
    /// - Parameter urgency: `wake` also wakes a suspended watch app, within the daily budget (the transport's
    ///   `remainingWakes`).
    /// - Throws: an error of encoding, or `KeySyncError.Code.tooLarge`; the stored value is then unchanged. Or an error of the
    ///   store; the router then keeps the value in memory, and writes and sends it once the store accepts it.
    public func set<Value>(_ value: Value, for key: StorageKey<Value>, urgency: SessionUrgency = .normal) throws {
        try write([key.change(to: key.encode(value))], urgency)
    }

    /// Applies several changes, written in one batch and sent together.
    /// - Parameter urgency: `wake` also wakes a suspended watch app, as in `set`.
    /// - Throws: `KeySyncError.Code.tooLarge`; the changes before the one that is too large are stored and sent, and
    ///   the later ones are dropped. Or an error of the store, with the same effect as in `set`.
    public func commit(_ batch: KeyBatch, urgency: SessionUrgency = .normal) throws {
        try write(batch.changes, urgency)
    }

    /// Returns the key's value, or nil if there is none.
    /// - Throws: `KeySyncError` with `unreadable`, `newerSchema` or `unknownCodec`. From then on `status(of:)` is `failed`.
    ///   The stored bytes stay.
    public func get<Value>(_ key: StorageKey<Value>) throws -> Value? {
        let place = replica.setRule(key.rule, of: key.name)
        do {
            return try (pendingChanges[key.name] ?? replica.table.records[place].entry?.bytes).map(key.decode)
        } catch {
            reportUnreadable(error, of: key.name)
            showStatuses()
            throw error
        }
    }

    /// Removes the key's value here and, if its rules allow, on the peers. Does nothing if there is no value.
    ///
    /// - Throws: ``KeySyncError``, or an error of the store.
    public func remove<Value>(_ key: StorageKey<Value>) throws {
        register(key)
        // Before `attach`, the store may have a value that isn't known yet.
        guard connection == nil || data(key.name) != nil else { return }
        try write([.init(name: key.name, rule: key.rule)])
    }

    /// Returns a stream of the key's values: the current one first, then each change. A slow reader gets only the newest.
    /// Leaves out a value that can't be read; `status(of:)` then has the reason.
    public func values<Value>(of key: StorageKey<Value>) -> AsyncStream<Value?> {
        register(key)
        let (stream, continuation) = AsyncStream.makeStream(of: Value?.self, bufferingPolicy: .bufferingNewest(1))
        let id = watch { watchers[$0] = (key.name, { continuation.yield(try $0.map(key.decode)) }) }
        continuation.onTermination = { [weak self] _ in Task { await self?.endWatching(id) } }
        if let watcher = watchers[id] { show(key.name, watcher.yield) }
        return stream
    }

    // MARK: - Syncing

    /// Sends every registered key that may travel to each peer that lacks it, including `manual` keys.
    public func syncRegisteredKeysIfNeeded() async {
        replica.send(replica.registered)
        await pump()
    }

    /// Sends a key to each peer that lacks it. With `overridingPolicy`, ignores the key's policy and availability. A secured
    /// key still needs `sharesSecured`.
    public func sync<Value>(_ key: StorageKey<Value>, overridingPolicy: Bool = false) async {
        register(key)
        replica.send([key.name], overridingPolicy: overridingPolicy)
        await pump()
    }

    /// Returns the encoded values that may leave this device, by name. A peer that asks gets the same values.
    public func syncSnapshot() -> [String: Data] { replica.snapshot.compactMapValues { try? KeyValue($0).bytes } }

    /// Returns the status of a key, or nil if nothing was stored or removed under that name.
    public func status(of name: String) -> KeyStatus? {
        failures[name].map { KeyStatus.failed(reason: $0) } ?? replica.status(of: name)
    }

    /// Returns a stream of all statuses: the current ones first, then all again whenever one has changed.
    public func statuses() -> AsyncStream<[String: KeyStatus]> {
        let (stream, continuation) = AsyncStream.makeStream(
            of: [String: KeyStatus].self, bufferingPolicy: .bufferingNewest(1))
        let id = watch { statusWatchers[$0] = continuation }
        continuation.onTermination = { [weak self] _ in Task { await self?.endWatching(id) } }
        continuation.yield(allStatuses)
        return stream
    }

    /// The progress of the exchange with the peers.
    public var progress: KeyProgress { replica.progress }

    /// Returns a stream of the progress: the current one first, then each change. A slow reader gets only the newest.
    public func progressChanges() -> AsyncStream<KeyProgress> {
        let (stream, continuation) = AsyncStream.makeStream(of: KeyProgress.self, bufferingPolicy: .bufferingNewest(1))
        let id = watch { progressWatchers[$0] = continuation }
        continuation.onTermination = { [weak self] _ in Task { await self?.endWatching(id) } }
        continuation.yield(progress)
        return stream
    }

    func sync(_ data: Data, _ name: String, _ rule: KeyRule) async throws -> Bool {
        replica.setRule(rule, of: name)
        let present = self.data(name).flatMap { try? KeyValue($0) }
        if present?.bytes != data { try write([.init(name: name, rule: rule, data: KeyValue(bytes: data).data)]) }
        guard rule.policy == .manual || rule.isAutomatic(byteCount: data.count, replica.configuration),
            rule.isEligible
        else { return false }
        replica.send([name])
        await pump()
        return true
    }

    // MARK: - Inside

    func data(_ name: String) -> Data? { pendingChanges[name] ?? replica.value(name) }

    func write(_ changes: [KeyBatch.Change], _ urgency: SessionUrgency = .normal) throws {
        defer { show(changes.map(\.name)) }
        if urgency == .wake { urgentKeys.formUnion(changes.map(\.name)) }
        guard let connection else {
            for change in changes {
                replica.setRule(change.rule, of: change.name)
                guard isStored(change) || pendingChanges.set(change) else { throw Self.tooLarge(change) }
                clearFailures(of: [change.name])
            }
            return
        }
        var refusal: (any Error)?
        for change in changes {
            let place = replica.setRule(change.rule, of: change.name)
            do { try write(change, at: place, to: &replica, connection) } catch {
                // The changes before this one stay, so they are stored and sent.
                refusal = error
                break
            }
            clearFailures(of: [change.name])
            reportIfNotSent(change)
        }
        do { try persist() } catch {
            planWrite(connection)
            throw refusal ?? error
        }
        Task { await pump() }
        if let refusal { throw refusal }
    }

    private func isStored(_ change: KeyBatch.Change) -> Bool {
        data(change.name).map { change.isEqual($0) } ?? false
    }

    /// Writes a change. A default loses to any peer's change while nothing is stored.
    func write(
        _ change: KeyBatch.Change, at place: Int, to replica: inout KeyReplica, _ connection: any SessionConnection
    ) throws {
        let present = replica.table.records[place].entry?.bytes
        if let present, change.isEqual(present) { return }
        let isDefault = present == nil && change.isDefault()
        guard replica.set(change.data, at: place, connection.stamp(), isDefault: isDefault) else {
            throw Self.tooLarge(change)
        }
    }

    private static func tooLarge(_ change: KeyBatch.Change) -> KeySyncError {
        KeySyncError(.tooLarge(key: change.name, bytes: change.data?.count ?? 0))
    }

    private func show(_ name: String, _ yield: (Data?) throws -> Void) {
        do { try yield(data(name)) } catch { reportUnreadable(error, of: name) }
    }

    private func watch(_ add: (Int) -> Void) -> Int {
        watcherCount += 1
        add(watcherCount)
        return watcherCount
    }

    private func endWatching(_ id: Int) {
        watchers[id] = nil
        statusWatchers[id] = nil
        progressWatchers[id] = nil
    }

    private var allStatuses: [String: KeyStatus] {
        var statuses: [String: KeyStatus] = [:]
        for name in Set(replica.entries.keys).union(failures.keys) { statuses[name] = status(of: name) }
        return statuses
    }

    func show(_ changed: [String]) {
        let names = watchers.isEmpty && observers.isEmpty ? [] : Set(changed)
        for (name, yield) in watchers.values where names.contains(name) { show(name, yield) }
        showStatuses()
        guard observers.values.contains(where: { names.contains($0.name) }) else { return }
        unshown.formUnion(names)
        showObservers()
    }

    func showStatuses() {
        showProgress()
        reviewProblems()
        guard !statusWatchers.isEmpty else { return }
        let statuses = allStatuses
        guard statuses != shownStatuses else { return }
        shownStatuses = statuses
        for continuation in statusWatchers.values { continuation.yield(statuses) }
    }

    private func showProgress() {
        guard !progressWatchers.isEmpty, progress != shownProgress else { return }
        shownProgress = progress
        for continuation in progressWatchers.values { continuation.yield(shownProgress) }
    }

    // MARK: - The main actor

    func observe(_ observer: KeyObserver, _ rule: KeyRule) {
        replica.setRule(rule, of: observer.name)
        _ = watch { observers[$0] = observer }
        unshown.insert(observer.name)
        showObservers()
    }

    /// Shows all changes in one turn of the main actor. Changes made meanwhile follow in the next one.
    private func showObservers() {
        guard !isShowing else { return }
        isShowing = true
        Task {
            while !unshown.isEmpty {
                let names = unshown
                unshown = []
                let due = observers.filter { names.contains($0.value.name) }.sorted { $0.key < $1.key }
                    .map { ($0.key, $0.value, data($0.value.name)) }
                let gone = await MainActor.run { due.filter { !$0.1.show($0.2) }.map(\.0) }
                for id in gone { observers[id] = nil }
            }
            isShowing = false
        }
    }
}
