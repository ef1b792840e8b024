import Foundation
import MeshBus
import MeshConnection
import MeshSharedState
import MeshStorage
import MeshWatchConnectivityTransport
import Observation

/// Keeps shared states equal with a counterpart that knows them as WatchConnectivitySwift 5 does: whole values in the
/// application context, under the names of their types, the last write being the newest.
///
/// A value that comes counts as a change made here and now, once: the same bytes again change nothing. It is shown
/// back, for a counterpart begins at each launch with what it was shown last. What is shown to a counterpart that
/// speaks the mesh's frames is taken back. Nothing that it starts keeps a state alive.
@MainActor
final class SharedStateMirror {
    private struct Entry {
        /// Takes a value in JSON.
        let take: @MainActor (Data) -> Void
        /// The value in JSON; nil once the state is gone.
        let value: @MainActor () -> Data?
    }

    private let port: ReferencePort
    private var entries: [String: [Entry]] = [:]
    /// The bytes that were taken last, and those that were shown last, by name.
    private var taken: [String: Data] = [:]
    private var shown: [String: Data] = [:]
    /// The names of which it is being read what was taken before this launch.
    private var loading: Set<String> = []
    private let store: (any SessionStore)?
    private let onRefusal: (_ typeName: String, any Error) -> Void
    private(set) var isOn = true

    /// - Parameter onRefusal: told why a value cannot be shown, for one that does not fit the context, whenever it is tried.
    init(
        port: ReferencePort, store: (any SessionStore)?,
        onRefusal: @escaping (_ typeName: String, any Error) -> Void
    ) {
        self.port = port
        self.store = store
        self.onRefusal = onRefusal
    }

    /// Something is known of the counterpart: whether it needs to be shown values.
    func turn(on: Bool) {
        isOn = on
        for name in entries.keys {
            if on { show(name) } else { try? port.publish(state: nil, typeName: name) }
        }
    }

    func add<State>(_ state: SharedState<State>, encoder: JSONEncoder, decoder: JSONDecoder) {
        let name = String(describing: State.self)
        let entry = Entry(
            take: { [weak state] bytes in
                guard let state, let value = try? decoder.decode(State.self, from: bytes) else { return }
                try? state.update(value)
            },
            value: { [weak state] in state.flatMap { try? encoder.encode($0.value) } })
        entries[name, default: []].append(entry)
        shown[name] = shown[name] ?? entry.value()
        watch(state, name)
        load(name)
    }

    /// Takes what the session has kept, unless it was taken before this launch: the state may have changed since.
    private func load(_ name: String) {
        guard let store, taken[name] == nil, !loading.contains(name) else { return take(port.receivedStates(name)) }
        loading.insert(name)
        let key = Self.storeKey(name)
        Task { [weak self] in
            let bytes = await Task.detached { try? store.value(for: key) }.value
            guard let self else { return }
            self.loading.remove(name)
            self.taken[name] = bytes.map { Data($0) }
            self.take(self.port.receivedStates(name))
        }
    }

    private func note(_ bytes: Data, _ name: String) {
        taken[name] = bytes
        guard let store else { return }
        let key = Self.storeKey(name)
        Task.detached {
            var batch = StoreBatch()
            batch.set([UInt8](bytes), for: key)
            // Lost, it costs at the next launch what it would cost without a store.
            try? store.commit(batch)
        }
    }

    private static func storeKey(_ name: String) -> String { "sessionmesh.reference/state/\(name)" }

    func take(_ states: [String: Data]) {
        guard isOn else { return }
        for (name, bytes) in states.sorted(by: { $0.key < $1.key }) {
            // What nobody shares yet is found in the session when somebody does.
            guard let entries = entries[name], taken[name] != bytes, !loading.contains(name) else { continue }
            note(bytes, name)
            for entry in entries { entry.take(bytes) }
        }
    }

    private func watch<State>(_ state: SharedState<State>, _ name: String) {
        withObservationTracking {
            _ = state.value
        } onChange: { [weak self, weak state] in
            Task { @MainActor in
                guard let self, let state else { return }
                self.show(name)
                self.watch(state, name)
            }
        }
    }

    private func show(_ name: String) {
        entries[name]?.removeAll { $0.value() == nil }
        guard isOn, let bytes = entries[name]?.last?.value(), bytes != shown[name] else { return }
        do {
            try port.publish(state: bytes, typeName: name)
            shown[name] = bytes
        } catch {
            onRefusal(name, error)
        }
    }
}
