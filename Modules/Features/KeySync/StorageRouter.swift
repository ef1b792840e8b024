public import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshStorage
public import MeshTransport

/// The stored keys of this peer, the same on every peer of its connection, whichever starts first.
///
/// ```swift
/// let volume = StorageKey<Int>("volume")
/// await StorageRouter.shared.register(volume)
/// try await StorageRouter.shared.attach(to: connection)
/// try await StorageRouter.shared.set(7, for: volume)
/// ```
///
/// Asks, answers and repeats by itself. What changes is written to the connection's store before it is sent. For views there
/// are `StoredValue` and `Stored`.
public actor StorageRouter {
    /// The app's one router.
    public static let shared = StorageRouter()

    var replica = KeyReplica(author: "")
    /// What the app has set before there was a connection.
    var early = KeyDrafts()
    var failures: [String: String] = [:]
    var connection: (any SessionConnection)?
    var route: EnvelopeRoute?
    var isPumping = false
    /// Something has come up since the pump last looked.
    var isPumpAsked = false
    /// Looks at what is unanswered, and at what isn't written.
    var (retryTimer, keepTimer): (RetryTimer?, RetryTimer?)
    /// Of each peer the envelope that it was sent last.
    var sent: [String: UUID] = [:]
    /// Writes of what is known of peers, and of what the store has refused.
    var keeping = RetryPlan(from: .seconds(5), to: .seconds(300))
    /// Where the store has what is known of peers.
    var shelf = KeyShelf()
    /// The record and the author that the store has.
    var keptRecord = StateVector()
    var keptAuthor: String?
    let listeners = OwnedTasks()
    private var watchers: [Int: (key: String, yield: (Data?) throws -> Void)] = [:]
    private var observers: [Int: KeyObserver] = [:]
    /// Keys that observers have not been shown yet.
    private var unshown: Set<String> = []
    private var isShowing = false
    private var progressWatchers: [Int: AsyncStream<KeyProgress>.Continuation] = [:]
    private var shownProgress = KeyProgress()
    private var statusWatchers: [Int: AsyncStream<[String: KeyStatus]>.Continuation] = [:]
    private var shownStatuses: [String: KeyStatus] = [:]
    private var watcherCount = 0

    let random: @Sendable () -> UInt64
    nonisolated let board = ProblemBoard()
    /// The same as `connection`, for any thread.
    nonisolated let attached = Locked<(any SessionConnection)?>(nil)

    /// A router beside the shared one: for tests, and for apps that keep keys apart.
    public init() { self.init { .random(in: 0 ... .max) } }

    /// - Parameter random: what authors and nonces are drawn from.
    package init(random: @escaping @Sendable () -> UInt64) { self.random = random }

    /// Bounds and sizes; set it before keys are.
    public func configure(_ configuration: SyncConfiguration) { replica.configuration = configuration }

    /// For simulations, in which fewer keys are removed than a router remembers. To be called before `attach`.
    package func forgetRemovals(beyond count: Int) { replica.removedMax = count }

    /// Adds a key to the catalog.
    public func register<Value>(_ key: StorageKey<Value>) { replica.setRule(key.rule, of: key.name) }

    /// The connection's problems, then those of the store and of keys, until they are solved. Observable; may be read on any thread.
    /// See Docs/Guides/KeySync.md for the codes.
    public nonisolated var problems: [SessionProblem] {
        let own = board.problems
        return (attached.withLock { $0 }?.problems ?? []) + own
    }

    // MARK: - Values

    /// Stores a value and shows it to observers. One that is stored already changes nothing.
    ///
    /// - Throws: what encoding throws; `KeySyncError.Code.tooLarge`. The stored value is then unchanged. What the store throws: the
    ///   router keeps the value in memory, and writes and sends it once the store takes it.
    public func set<Value>(_ value: Value, for key: StorageKey<Value>) throws {
        try write([key.change(to: key.encode(value))])
    }

    /// Several changes at once: written in one batch, sent together.
    /// - Throws: `KeySyncError.Code.tooLarge`, when those before the one that is too large stay; what the store throws, as `set`
    ///   does.
    public func commit(_ batch: KeyBatch) throws {
        try write(batch.changes)
    }

    /// nil when there is none.
    /// - Throws: `KeySyncError` with `unreadable`, `newerSchema` or `unknownCodec`, which `status(of:)` says from then on; the
    ///   stored bytes stay as they are.
    public func get<Value>(_ key: StorageKey<Value>) throws -> Value? {
        let place = replica.setRule(key.rule, of: key.name)
        do {
            return try (early[key.name] ?? replica.table.records[place].entry?.bytes).map(key.decode)
        } catch {
            note(error, of: key.name)
            showStatuses()
            throw error
        }
    }

    /// Takes the key's value away, here and, by the key's rules, on the peers. A key without a value is fine.
    ///
    /// - Throws: ``KeySyncError``, or what the store throws.
    public func remove<Value>(_ key: StorageKey<Value>) throws {
        register(key)
        // Before `attach` the store may have one.
        guard connection == nil || data(key.name) != nil else { return }
        try write([.init(name: key.name, rule: key.rule)])
    }

    /// Returns a stream of the key's values: the current one first, then each change. A slow reader gets only the
    /// newest. A value that can't be read is left out, and `status(of:)` says why.
    public func values<Value>(of key: StorageKey<Value>) -> AsyncStream<Value?> {
        register(key)
        let (stream, continuation) = AsyncStream.makeStream(of: Value?.self, bufferingPolicy: .bufferingNewest(1))
        let id = watch { watchers[$0] = (key.name, { continuation.yield(try $0.map(key.decode)) }) }
        continuation.onTermination = { [weak self] _ in Task { await self?.endWatching(id) } }
        if let watcher = watchers[id] { show(key.name, watcher.yield) }
        return stream
    }

    // MARK: - Syncing

    /// Sends every registered key that may travel to each peer that lacks it; the `manual` ones too.
    public func syncRegisteredKeysIfNeeded() async {
        replica.send(replica.registered)
        await pump()
    }

    /// The app's explicit word: sends a key whatever its policy says. What is secured still needs its own.
    public func sync<Value>(_ key: StorageKey<Value>, overridingPolicy: Bool = false) async {
        register(key)
        replica.send([key.name], overridingPolicy: overridingPolicy)
        await pump()
    }

    /// Encoded values by name of what may leave, as a peer that asks gets them.
    public func syncSnapshot() -> [String: Data] { replica.snapshot.compactMapValues { try? KeyValue($0).bytes } }

    /// nil when nothing is stored, and nothing was removed, under that name.
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

    func data(_ name: String) -> Data? { early[name] ?? replica.value(name) }

    func write(_ changes: [KeyBatch.Change]) throws {
        defer { show(changes.map(\.name)) }
        for change in changes {
            let place = replica.setRule(change.rule, of: change.name)
            mend([change.name])
            guard let connection else {
                if !isStored(change) { early.set(change) }
                continue
            }
            try write(change, at: place, to: &replica, connection)
            reportIfKept(change)
        }
        guard let connection else { return }
        do { try persist() } catch {
            planKeeping(connection)
            throw error
        }
        Task { await pump() }
    }

    private func isStored(_ change: KeyBatch.Change) -> Bool {
        data(change.name).map { change.isEqual($0) } ?? false
    }

    /// The default is a weak change where nothing is stored.
    func write(
        _ change: KeyBatch.Change, at place: Int, to replica: inout KeyReplica, _ connection: any SessionConnection
    ) throws {
        let present = replica.table.records[place].entry?.bytes
        if let present, change.isEqual(present) { return }
        let isDefault = present == nil && change.isDefault()
        guard replica.set(change.data, at: place, connection.stamp(), isDefault: isDefault) else {
            throw KeySyncError(.tooLarge(key: change.name, bytes: change.data?.count ?? 0))
        }
    }

    private func show(_ name: String, _ yield: (Data?) throws -> Void) {
        do { try yield(data(name)) } catch { note(error, of: name) }
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

    /// All that has changed in one turn of the main actor; what changes meanwhile in the next.
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
