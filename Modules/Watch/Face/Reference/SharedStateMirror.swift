import Foundation
import MeshBase
import MeshConnection
import MeshSharedState
import MeshStorage
import MeshWatchConnectivityTransport
import Observation

/// Keeps shared states equal with a counterpart that knows them as WatchConnectivitySwift 5 does: whole values in the
/// application context, under the names of their types, the last write being the newest.
///
/// A value that comes counts as a change made here and now, once: the same bytes again change nothing. What is found at a
/// launch is judged by `StateHistory`. A value is shown back, for a counterpart begins at each launch with what it was
/// shown last. What is shown to a counterpart that speaks the mesh's frames is taken back. Nothing that it starts keeps a
/// state alive.
@MainActor
final class SharedStateMirror {
    private struct Entry {
        /// Takes a value in JSON.
        let take: @MainActor (Data) -> Void
        /// Takes values that are older than every change.
        let adopt: @MainActor ([Data]) -> Void
        /// The value in JSON; nil once the state is gone. Throws what the encoder throws.
        let value: @MainActor () throws -> Data?
        let isGone: @MainActor () -> Bool
        /// Takes why the value could not be shown; nil when it has been.
        let fail: @MainActor ((any Error)?) -> Void
        /// Whether JSON says what the value is.
        let isValue: @MainActor (Data) -> Bool
    }

    private let port: ReferencePort
    private var entries: [String: [Entry]] = [:]
    /// By name: the bytes that were considered last, those that were shown last, and what was noted with them.
    private var seen: [String: Data] = [:]
    private var shown: [String: Data] = [:]
    private var noted: [String: StateNote] = [:]
    /// Names whose values could not be put into the context, whatever the session takes of the others.
    private var refused: Set<String> = []
    /// What everybody begins with, and nobody needs to be shown.
    private var initial: [String: Data] = [:]
    /// What was found at this launch and not taken, since nobody knew when it was made; for a moment.
    private var undated: [String: Data] = [:]
    /// How long the session takes, once it is active, to tell what has come while nobody was there.
    private static let tellingPatience = Duration.seconds(5)
    /// The names whose contexts have been judged, and those of which the store is being read before that.
    private var judged: Set<String> = []
    private var loading: Set<String> = []
    private let keepsNotes: Bool
    private let store: (any SessionStore)?
    private let onRefusal: (_ typeName: String, any Error) -> Void
    private let onFallback: (_ typeName: String) -> Void
    private(set) var isOn = true

    /// - Parameters:
    ///   - keepsNotes: whether the context outlives the process, so that it is noted there what was known.
    ///   - store: where an earlier version has kept what was taken last.
    ///   - onRefusal: told why a value cannot be shown, for one that does not fit the context, whenever it is tried.
    ///   - onFallback: told when a state's decoder can't read a value that a plain one reads.
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

    /// Something is known of the counterpart: whether it needs to be shown values.
    func turn(on: Bool) {
        guard isOn != on else { return }
        isOn = on
        for name in entries.keys.sorted() {
            if on { judged.remove(name) }
            begin(name)
            show(name)
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
            adopt: { [weak state] values in state?.adopt(undated: values.compactMap(read)) },
            value: { [weak state] in try state.map { try encoder.encode($0.value) } },
            isGone: { [weak state] in state == nil },
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

    /// The session is active: its contexts can be read.
    func open() { for name in entries.keys.sorted() { begin(name) } }

    /// The context has been written, or the session has refused it.
    func wrote(_ error: (any Error)?) {
        for (name, entries) in entries where shown[name] != nil && !refused.contains(name) {
            for entry in entries { entry.fail(error) }
        }
    }

    /// - Parameter areNew: not what the session has told before.
    func take(_ states: [String: Data], areNew: Bool) {
        for (name, bytes) in states.sorted(by: { $0.key < $1.key }) {
            // What nobody shares yet is found in the session when somebody does.
            guard let entries = entries[name], !loading.contains(name) else { continue }
            begin(name)
            guard isOn, judged.contains(name) else { continue }
            // What came while nobody was there, and only now is told, is later than what this app had set before.
            let isUnchanged = shown[name].flatMap { entries.last?.isValue($0) } ?? false
            let isLater = areNew && isUnchanged && undated[name] == bytes
            guard seen[name] != bytes || isLater else { continue }
            seen[name] = bytes
            for entry in entries { entry.take(bytes) }
            show(name)
        }
        if areNew { undated = [:] }
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
}

// MARK: - What a launch finds

extension SharedStateMirror {
    private static func storeKey(_ name: String) -> String { "sessionmesh.reference/state/\(name)" }

    private func begin(_ name: String) {
        guard port.isActive, !judged.contains(name), !loading.contains(name) else { return }
        guard let store, keepsNotes, port.history(of: name).note == nil else { return judge(name, taken: nil) }
        loading.insert(name)
        let key = Self.storeKey(name)
        Task { [weak self] in
            let taken = await Task.detached { try? store.value(for: key) }.value
            self?.loading.remove(name)
            self?.judge(name, taken: taken.map { Data($0) })
        }
    }

    /// - Parameter taken: what an earlier version has taken last.
    private func judge(_ name: String, taken: Data?) {
        guard let entries = entries[name], judged.insert(name).inserted else { return }
        var history = port.history(of: name)
        // What is being written may not be in the context yet.
        if let note = noted[name] { (history.own, history.note) = (shown[name], note) }
        if let taken, history.note == nil { history.note = StateNote(own: history.own, seen: taken) }
        shown[name] = history.own
        seen[name] = history.received
        noted[name] = history.note
        switch history.verdict {
        case .change(let bytes): for entry in entries { entry.take(bytes) }
        case .old(let values):
            if values.count > 1, let received = history.received { wonder(about: received, name) }
            for entry in entries { entry.adopt(values) }
        }
        show(name)
    }
}

extension SharedStateMirror {
    private func wonder(about received: Data, _ name: String) {
        undated[name] = received
        port.clock.wake(at: port.clock.elapsed + Self.tellingPatience) { [weak self] in
            Task { @MainActor in self?.undated[name] = nil }
        }
    }
}

// MARK: - Showing

extension SharedStateMirror {
    private func show(_ name: String) {
        entries[name]?.removeAll { $0.isGone() }
        guard judged.contains(name), let entry = entries[name]?.last else { return }
        do {
            let bytes = isOn ? try bytesToShow(name, entry) : nil
            let note = keepsNotes ? StateNote(own: bytes, seen: seen[name]) : nil
            let hasChanged = bytes != shown[name] || note != noted[name]
            if hasChanged { try port.publish(state: bytes, note, typeName: name) }
            (shown[name], noted[name]) = (bytes, note)
            // A value that is being written is shown once the session has taken it; none, or the one before, is not refused.
            if refused.remove(name) != nil, bytes == nil || !hasChanged { entry.fail(nil) }
        } catch {
            refused.insert(name)
            entry.fail(ConnectionError(error: error))
            onRefusal(name, error)
        }
    }

    /// Bytes that say the same stay as they are.
    private func bytesToShow(_ name: String, _ entry: Entry) throws -> Data? {
        if let bytes = shown[name] { return entry.isValue(bytes) ? bytes : try entry.value() }
        return initial[name].map(entry.isValue) == true ? nil : try entry.value()
    }
}
