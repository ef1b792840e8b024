import Foundation
import MeshBase
public import MeshTransport
public import Observation

#if canImport(SwiftUI)
    public import SwiftUI
#endif

/// A stored value for a view: observable, on the main actor.
///
/// A change appears at once and is written soon after, in order. If the app changes the value several times in one turn
/// of the main actor, only the last change is written. All values of one message from a peer appear in one turn. If the
/// stored value can't be read, `value` keeps the last one and `error` has the reason.
@MainActor @Observable
public final class StoredValue<Value: Codable & Sendable> {
    /// The current value on this device. Change it with `set`.
    public private(set) var value: Value
    /// The reason why `value` couldn't be stored, or isn't the stored one. Nil once `value` is the stored value.
    public private(set) var error: (any Error)?
    @ObservationIgnored private let key: StorageKey<Value>
    @ObservationIgnored private let initialValue: Value
    @ObservationIgnored private let router: StorageRouter
    private var thing: String { "the key '\(key.name)'" }
    /// The shown value, encoded.
    @ObservationIgnored private var shown: Data?
    @ObservationIgnored private var isWriting = false
    @ObservationIgnored private var unwritten: Data?
    /// The urgency of `unwritten`.
    @ObservationIgnored private var urgency = SessionUrgency.normal

    /// Creates an observable value for a key.
    ///
    /// - Parameter initialValue: shown until the router has read the stored value, and while there is none.
    public init(_ key: StorageKey<Value>, initialValue: Value, router: StorageRouter = .shared) {
        (self.key, self.initialValue, self.router) = (key, initialValue, router)
        value = initialValue
        let observer = KeyObserver(name: key.name) { [weak self] data in self?.show(data) ?? false }
        Task { await router.observe(observer, key.rule) }
    }

    /// Shows a value at once, and stores it soon.
    /// - Parameter urgency: `wake` also wakes a suspended watch app, as ``StorageRouter/set(_:for:urgency:)`` does.
    public func set(_ newValue: Value, urgency: SessionUrgency = .normal) {
        do {
            let data = try key.encode(newValue)
            if urgency == .wake { self.urgency = .wake }
            // Shows the decoded bytes, because peers will see the same.
            (value, shown, unwritten) = (try key.decode(data), data, data)
            clearError()
            write()
        } catch {
            fail(with: error)
        }
    }

    private func clearError() {
        guard error != nil else { return }
        error = nil
        for code in [SessionProblem.Code.writeFailed, .unreadableValue] { router.board.solve(code, of: key.name) }
    }

    private func fail(with error: any Error) {
        self.error = error
        router.board.report(.writeFailed(of: key.name, thing, error))
    }

    private func write() {
        guard !isWriting else { return }
        isWriting = true
        Task {
            var failure: (any Error)?
            while let data = unwritten.take() {
                let change = key.change(to: data) { [key, initialValue] in
                    (try? key.encode(initialValue)).map { key.isEqual($0, data) } ?? false
                }
                failure = nil
                let urgency = urgency
                self.urgency = .normal
                do { try await router.write([change], urgency) } catch { failure = error }
            }
            isWriting = false
            show(await router.data(key.name))
            // If only the store has failed, the router writes the value later.
            if let failure = failure as? KeySyncError { fail(with: failure) } else if let failure { error = failure }
        }
    }

    /// Shows data from the router. Always returns true, because the observer still exists.
    @discardableResult
    private func show(_ data: Data?) -> Bool {
        // A value that is being written is newer.
        guard data != shown, !isWriting else { return true }
        shown = data
        do {
            value = try data.map(key.decode) ?? initialValue
            clearError()
        } catch {
            self.error = error
            router.board.report(.unreadableValue(of: key.name, thing, "\(error)"))
        }
        return true
    }
}

/// A stored value as a property of a view model.
///
/// ```swift
/// @MainActor @Observable final class Player {
///     @ObservationIgnored @Stored("volume") var volume = 0.5
/// }
/// ```
///
/// Reading it in a view observes it. `$volume` is a SwiftUI `Binding` where SwiftUI exists. The router's `problems` and
/// `_volume.stored.error` report a failed write. `@ObservationIgnored` only keeps the macro from wrapping the property twice.
@MainActor @propertyWrapper
public struct Stored<Value: Codable & Sendable> {
    /// The value with its error.
    public let stored: StoredValue<Value>

    /// The value of the key. A new value shows at once and is written soon after.
    public var wrappedValue: Value {
        get { stored.value }
        nonmutating set { stored.set(newValue) }
    }

    #if canImport(SwiftUI)
        /// A binding to the value, for a control.
        public var projectedValue: Binding<Value> {
            let stored = stored
            return Binding(get: { @MainActor in stored.value }, set: { @MainActor in stored.set($0) })
        }
    #endif

    /// Creates a property that is `wrappedValue` until a value is stored under the name. The key exists on all devices, and
    /// small values travel automatically. For other rules pass a `StorageKey`.
    public init(wrappedValue: Value, _ name: String, router: StorageRouter = .shared) {
        self.init(wrappedValue: wrappedValue, StorageKey(name), router: router)
    }

    /// Creates a property that is `wrappedValue` until a value is stored.
    public init(wrappedValue: Value, _ key: StorageKey<Value>, router: StorageRouter = .shared) {
        stored = StoredValue(key, initialValue: wrappedValue, router: router)
    }
}

/// An observer of one key on the main actor.
struct KeyObserver: Sendable {
    let name: String
    /// Shows the value. Returns false once the observer is gone.
    let show: @MainActor @Sendable (Data?) -> Bool
}
