import MeshBase
import MeshConnection
import MeshDelivery
import MeshIdentity
import MeshKeySync
import MeshSimulatedWatch
import MeshStorage
import MeshTransport
import MeshWatchConnectivityTransport

/// One launch of an app whose keys are stored on both devices.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class KeyWatchApp: PairApp {
    let clock: AppClock
    private let transport: WatchConnectivitySessionSyncTransport
    private let connection: TransportConnection
    private let router: StorageRouter
    private let ready = Locked(false)
    private let hasCrashed = Locked(false)
    /// True for an earlier version of the app, in which one key has another type.
    private let isOld: Bool

    init(_ launch: PairLaunch, isOld: Bool, mutation: String?, failure: Locked<String?>) throws {
        let (store, seed) = (launch.disk, launch.seed)
        clock = launch.clock
        self.isOld = isOld
        transport = try launch.transport(
            store: store, seed: mutation == KeyWatchSimulation.reusesOutbox ? UInt64(launch.device) : seed)
        connection = TransportConnection(transport: transport, store: store, clock: clock)
        let random = Locked(SplitMix64(seed: seed))
        router = StorageRouter { random.withLock { $0.next() } }
        Task { await self.open(failure) }
    }

    private func open(_ failure: Locked<String?>) async {
        await router.forgetRemovals(beyond: 2)
        for key in WatchKey.all { await key.stored(isOld).register(router) }
        do {
            try await router.attach(to: connection)
            ready.withLock { $0 = true }
        } catch {
            // No failure: after a power cut the store rejects the app's last calls.
            guard !hasCrashed.withLock({ $0 }), !(error is StorageError) else { return }
            failure.withLock { $0 = "keys couldn't be attached: \(error)" }
        }
    }

    var isReady: Bool { ready.withLock { $0 } && !hasCrashed.withLock { $0 } }

    /// - Parameters:
    ///   - changes: The number for each key's new value, or nil to remove the key.
    ///   - unchanged: Keys whose shown values are stored again.
    ///   - done: Called once the changes are in the store.
    func write(
        _ changes: [WatchKey: UInt32?], unchanged: Set<WatchKey> = [], done: @escaping @Sendable () -> Void
    ) {
        Task {
            var batch = KeyBatch()
            do {
                for key in unchanged.sorted() { try await key.stored(isOld).putAgain(router, &batch) }
                for (key, number) in changes.sorted(by: { $0.key < $1.key }) {
                    try key.stored(isOld).put(number, &batch)
                }
                try await router.commit(batch)
                done()
            } catch {
                // The commit failed. Its changes may have been written anyway, so the run allows both values.
            }
        }
    }

    func sendAll() {
        Task { await router.syncRegisteredKeysIfNeeded() }
    }

    func look(_ look: @escaping @Sendable (WatchKeyView) -> Void) {
        Task {
            var view = WatchKeyView()
            for key in WatchKey.all {
                do {
                    view.numbers[key] = try await key.stored(isOld).get(router)
                } catch {
                    view.complaint = "\(key): \(error)"
                }
                view.statuses[key] = await router.status(of: key.description)
            }
            look(view)
        }
    }

    func crash() {
        hasCrashed.withLock { $0 = true }
        clock.end()
        Task { await router.detach() }
        transport.delivery.abandon()
    }
}

/// A key of the apps.
struct WatchKey: Hashable, Comparable, Sendable, CustomStringConvertible {
    enum Kind: Sendable {
        case small
        /// Larger than a message.
        case large
        case manual
        /// Must not leave the device.
        case local, secured
    }

    let index: Int

    static let all = (0..<14).map(WatchKey.init)
    /// Keys that must be the same on both devices.
    static let shared = all.filter { $0.kind == .small || $0.kind == .large }
    static let manual = all.filter { $0.kind == .manual }
    static let kept = all.filter { $0.kind == .local || $0.kind == .secured }

    var kind: Kind {
        switch index {
        case 0...9: .small
        case 10: .large
        case 11: .manual
        case 12: .local
        default: .secured
        }
    }

    /// Returns the calls of the key API for this key. For key 4, the two versions of the app use different types.
    func stored(_ isOld: Bool) -> WatchKeyValue {
        switch index {
        case 1:
            WatchKeyValue(self, { Set($0..<$0 + 12) }, { $0.min() })
        case 2:
            WatchKeyValue(
                self, { number in Dictionary(uniqueKeysWithValues: WatchMode.allCases.map { ($0, number) }) },
                { $0[.ride] })
        case 3: WatchKeyValue(self, { WatchLap(number: $0, speed: .nan) }, { $0.number })
        case 4 where isOld: WatchKeyValue(self, { OldWatchPlan(number: $0) }, { $0.number })
        case 4: WatchKeyValue(self, { WatchPlan(number: $0, place: "S\u{e3}o Paulo") }, { $0.number })
        default: WatchKeyValue(self, text, { UInt32($0.prefix { $0 != " " }) })
        }
    }

    /// Returns a text with an "é" in one of its two Unicode normal forms.
    private func text(_ number: UInt32) -> String {
        let letter = number % 2 == 0 ? "\u{e9}" : "e\u{301}"
        return "\(number) " + letter + String(repeating: ".", count: kind == .large ? 60_000 : Int(number % 60))
    }

    func key<Value>() -> StorageKey<Value> {
        StorageKey(
            description, availability: kind == .local ? .phoneOnly : .all,
            syncPolicy: kind == .manual ? .manual : .automaticSmall, priority: kind == .large ? 1 : 0,
            isSecured: kind == .secured)
    }

    var description: String { "\(kind).\(index)" }

    static func < (left: Self, right: Self) -> Bool { left.index < right.index }
}

/// The visible state of an app.
struct WatchKeyView: Equatable, Sendable {
    var numbers: [WatchKey: UInt32] = [:]
    var statuses: [WatchKey: KeyStatus] = [:]
    var complaint: String?
}

/// The calls of the key API for one key, with a number in place of the typed value.
struct WatchKeyValue {
    let register: (StorageRouter) async -> Void
    let put: (UInt32?, inout KeyBatch) throws -> Void
    /// Stores the shown value again, which another version of the app may have written.
    let putAgain: (StorageRouter, inout KeyBatch) async throws -> Void
    let get: (StorageRouter) async throws -> UInt32?

    init<Value: Codable & Sendable>(
        _ watchKey: WatchKey, _ make: @escaping (UInt32) -> Value, _ number: @escaping (Value) -> UInt32?
    ) {
        let key: StorageKey<Value> = watchKey.key()
        register = { await $0.register(key) }
        put = { number, batch in
            if let number { try batch.set(make(number), for: key) } else { batch.remove(key) }
        }
        putAgain = { router, batch in
            if let value = try await router.get(key) { try batch.set(value, for: key) }
        }
        get = { try await $0.get(key).map { number($0) ?? .max } }
    }
}

private enum WatchMode: String, Codable, CaseIterable { case run, ride, swim, row, walk }

private struct WatchLap: Codable, Sendable {
    var number: UInt32
    var speed: Double
}

private struct OldWatchPlan: Codable, Sendable { var number: UInt32 }

private struct WatchPlan: Codable, Sendable {
    var number: UInt32
    var place: String?
}
