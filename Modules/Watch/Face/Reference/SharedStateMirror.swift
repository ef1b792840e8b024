import Foundation
import MeshBase
import MeshConnection
import MeshSharedState
import MeshStorage
import MeshWatchConnectivityTransport
import Observation

/// Keeps shared states in sync with a counterpart that uses WatchConnectivitySwift 5. That library keeps complete
/// values in the application context, keyed by type name; the last write wins.
///
/// A received value counts as a change made now, but the same bytes don't count twice. `StateHistory` reconciles the
/// values found at launch. Each value is also written to this app's context, because the counterpart starts from it at
/// launch. If the counterpart turns out to speak the mesh's frames, those values are removed. The mirror doesn't keep
/// states alive.
@MainActor
final class SharedStateMirror {
    private struct Entry {
        /// Applies a value in JSON.
        let take: @MainActor (Data) -> Void
        /// Adopts values that are older than any dated change.
        let adopt: @MainActor ([Data]) -> Void
        /// Returns the value in JSON; nil if the state has been released. Throws the encoder's errors.
        let value: @MainActor () throws -> Data?
        let isGone: @MainActor () -> Bool
        /// Returns true once the state has its stored value. Before that it has the initial one, which must not be
        /// written.
        let isLoaded: @MainActor () -> Bool
        let isStored: @MainActor () -> Bool
        /// Reports why the value couldn't be written; nil once it could.
        let fail: @MainActor ((any Error)?) -> Void
        /// Returns true if the JSON equals the current value.
        let isValue: @MainActor (Data) -> Bool
    }

    private let port: ReferencePort
    private var entries: [String: [Entry]] = [:]
    /// The bytes of the counterpart's value that were considered last, by type name.
    private var seen: [String: Data] = [:]
    /// The bytes that were written last, by type name.
    private var published: [String: Data] = [:]
    /// The notes that were written with `published`.
    private var publishedNotes: [String: StateNote] = [:]
    /// Type names whose latest value couldn't be encoded or doesn't fit the context.
    private var refused: Set<String> = []
    /// Initial values. They needn't be written, because both apps start with them.
    private var initial: [String: Data] = [:]
    /// Received values of unknown age, ignored at launch. Kept for `lateDeliveryWindow`.
    private var undated: [String: Data] = [:]
    /// The time within which an activated session reports values that arrived while the app wasn't running.
    private static let lateDeliveryWindow = Duration.seconds(5)
    /// Type names that have been reconciled since launch.
    private var reconciled: Set<String> = []
    /// Type names that wait for the store to be read.
    private var loading: Set<String> = []
    private let keepsNotes: Bool
    private let store: (any SessionStore)?
    private let onRefusal: (_ typeName: String, any Error) -> Void
    private let onFallback: (_ typeName: String) -> Void
    private(set) var isEnabled = true

    /// - Parameters:
    ///   - keepsNotes: True if the context outlives the process, so that notes are kept in it.
    ///   - store: The store in which an earlier version kept the last applied value.
    ///   - onRefusal: Called on each attempt to write a value that fails, for example because it doesn't fit the
    ///     context.
    ///   - onFallback: Called when a state's decoder can't read a value but a plain one can.
    init(
        port: ReferencePort, keepsNotes: Bool, store: (any SessionStore)?,
        onRefusal: @escaping (_ typeName: String, any Error) -> Void, onFallback: @escaping (_ typeName: String) -> Void
    ) {
        self.port = port
        self.keepsNotes = keepsNotes
        self.store = store
        self.onRefusal = onRefusal
        self.onFallback = onFallback
    }

    /// Starts or stops writing values to the context, once the counterpart's dialect is known.
    func setEnabled(_ isEnabled: Bool) {
        guard self.isEnabled != isEnabled else { return }
        self.isEnabled = isEnabled
        for name in entries.keys.sorted() {
            if isEnabled { reconciled.remove(name) }
            begin(name)
            publish(name)
        }
    }

    func add<State>(_ state: SharedState<State>, encoder: JSONEncoder, decoder: JSONDecoder) {
        let name = String(describing: State.self)
        let read: @MainActor (Data) -> State? = { [onFallback] bytes in
            if let value = try? decoder.decode(State.self, from: bytes) { return value }
            guard let value = try? JSONDecoder().decode(State.self, from: bytes) else { return nil }
            onFallback(name)
            return value
        }
        let entry = Entry(
            take: { [weak state] bytes in
                guard let state, let value = read(bytes) else { return }
                try? state.update(value)
            },
            adopt: { [weak state] values in state?.adopt(unversioned: values.compactMap(read)) },
            value: { [weak state] in try state.map { try encoder.encode($0.value) } },
            isGone: { [weak state] in state == nil },
            isLoaded: { [weak state] in state?.isLoaded ?? true },
            isStored: { [weak state] in state?.isStored ?? true },
            fail: { [weak state] error in state?.noteContext(error) },
            isValue: { [weak state] bytes in
                guard let state, let value = try? decoder.decode(State.self, from: bytes) else { return false }
                return value == state.value
            })
        entries[name, default: []].append(entry)
        initial[name] = initial[name] ?? (try? entry.value())
        watch(state, name)
        begin(name)
    }

    /// Reads the contexts. Call it when the session is active.
    func open() { for name in entries.keys.sorted() { begin(name) } }

    /// Reports a write of the context to all states. `error` is nil if it succeeded.
    func contextWriteFinished(_ error: (any Error)?) {
        for (name, entries) in entries where published[name] != nil && !refused.contains(name) {
            for entry in entries { entry.fail(error) }
        }
    }

    /// Applies received states. `areNew` is true if the session reports them for the first time.
    func take(_ states: [String: Data], areNew: Bool) {
        for (name, bytes) in states.sorted(by: { $0.key < $1.key }) {
            // A state that the app hasn't shared yet is read from the session later, when it is shared.
            guard let entries = entries[name], !loading.contains(name) else { continue }
            begin(name)
            guard isEnabled, reconciled.contains(name) else { continue }
            // A value that arrived before the launch but is reported only now is newer than this app's unchanged value.
            let isUnchanged = published[name].flatMap { entries.last?.isValue($0) } ?? false
            let isLater = areNew && isUnchanged && undated[name] == bytes
            guard seen[name] != bytes || isLater else { continue }
            seen[name] = bytes
            for entry in entries { entry.take(bytes) }
            publish(name)
        }
        if areNew { undated = [:] }
    }

    private func watch<State>(_ state: SharedState<State>, _ name: String) {
        withObservationTracking {
            _ = (state.value, state.isLoaded, state.isStored)
        } onChange: { [weak self, weak state] in
            Task { @MainActor in
                guard let self, let state else { return }
                self.begin(name)
                self.publish(name)
                self.watch(state, name)
            }
        }
    }
}

// MARK: - Values at launch

extension SharedStateMirror {
    private static func storeKey(_ name: String) -> String { "sessionmesh.reference/state/\(name)" }

    private func begin(_ name: String) {
        guard port.isActive, !reconciled.contains(name), !loading.contains(name), isLoaded(name) else { return }
        guard let store, keepsNotes, port.history(of: name).note == nil else { return reconcile(name, taken: nil) }
        loading.insert(name)
        let key = Self.storeKey(name)
        Task { [weak self] in
            let taken = await Task.detached { try? store.value(for: key) }.value
            self?.loading.remove(name)
            self?.reconcile(name, taken: taken.map { Data($0) })
        }
    }

    private func isLoaded(_ name: String) -> Bool { entries[name]?.allSatisfy { $0.isLoaded() } ?? true }

    /// - Parameter taken: The value that an earlier version applied last.
    private func reconcile(_ name: String, taken: Data?) {
        guard let entries = entries[name], isLoaded(name), reconciled.insert(name).inserted else { return }
        var history = port.history(of: name)
        // The pending write may not be in the context yet.
        if let note = publishedNotes[name] { (history.own, history.note) = (published[name], note) }
        if let taken, history.note == nil { history.note = StateNote(own: history.own, seen: taken) }
        published[name] = history.own
        seen[name] = history.received
        publishedNotes[name] = history.note
        switch history.reconciliation {
        case .change(let bytes): for entry in entries { entry.take(bytes) }
        case .old(let values):
            if values.count > 1, let received = history.received { rememberUndated(received, name) }
            for entry in entries { entry.adopt(values) }
        }
        publish(name)
    }
}

extension SharedStateMirror {
    private func rememberUndated(_ received: Data, _ name: String) {
        undated[name] = received
        port.clock.wake(at: port.clock.elapsed + Self.lateDeliveryWindow) { [weak self] in
            Task { @MainActor in self?.undated[name] = nil }
        }
    }
}

// MARK: - Publishing

extension SharedStateMirror {
    private func publish(_ name: String) {
        entries[name]?.removeAll { $0.isGone() }
        guard reconciled.contains(name), isLoaded(name), let entry = entries[name]?.last else { return }
        do {
            let bytes = isEnabled ? try bytesToPublish(name, entry) : nil
            let note = keepsNotes ? note(name, own: bytes) : nil
            let hasChanged = bytes != published[name] || note != publishedNotes[name]
            if hasChanged { try port.publish(state: bytes, note, typeName: name) }
            (published[name], publishedNotes[name]) = (bytes, note)
            // Clears an earlier error, unless a value is being written: `contextWriteFinished` reports that one.
            if refused.remove(name) != nil, bytes == nil || !hasChanged { entry.fail(nil) }
        } catch {
            refused.insert(name)
            entry.fail(ConnectionError(error: error))
            onRefusal(name, error)
        }
    }

    /// Returns the note about the present values. Returns the earlier one until the state's store has the value: after a
    /// relaunch without it, a noted value would count as older than the stored one.
    private func note(_ name: String, own bytes: Data?) -> StateNote? {
        let isStored = entries[name]?.allSatisfy { $0.isStored() } ?? true
        return isStored ? StateNote(own: bytes, seen: seen[name]) : publishedNotes[name]
    }

    /// Returns the bytes to write: the earlier ones if they still decode to the current value, to avoid a needless
    /// write. nil if nothing was written before and the state has its initial value.
    private func bytesToPublish(_ name: String, _ entry: Entry) throws -> Data? {
        if let bytes = published[name] { return entry.isValue(bytes) ? bytes : try entry.value() }
        return initial[name].map(entry.isValue) == true ? nil : try entry.value()
    }
}
