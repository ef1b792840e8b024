import Foundation
import MeshBase
import MeshTransport
public import Observation

#if canImport(SwiftUI)
    public import SwiftUI
#endif

/// A stored value for a view: observable, on the main actor.
///
/// A change here shows at once and is written soon after, in order; of several in one turn the last is written. What
/// comes from a peer shows once, together with all that came with it. While something is stored that cannot be read, the
/// value stays as it is and `error` says why.
@MainActor @Observable
public final class StoredValue<Value: Codable & Sendable> {
    /// The value as this peer sees it now. Set it by `set`.
    public private(set) var value: Value
    /// Why the value is not what is stored, or has not been stored; nil once it is.
    public private(set) var error: (any Error)?
    @ObservationIgnored private let key: StorageKey<Value>
    @ObservationIgnored private let initialValue: Value
    @ObservationIgnored private let router: StorageRouter
    private var thing: String { "the key '\(key.name)'" }
    /// What is shown, as it is stored.
    @ObservationIgnored private var shown: Data?
    @ObservationIgnored private var isWriting = false
    @ObservationIgnored private var unwritten: Data?

    /// Creates an observable value for a key.
    ///
    /// - Parameter initialValue: shown until the router has said what is stored, and while there is nothing.
    public init(_ key: StorageKey<Value>, initialValue: Value, router: StorageRouter = .shared) {
        (self.key, self.initialValue, self.router) = (key, initialValue, router)
        value = initialValue
        let observer = KeyObserver(name: key.name) { [weak self] data in self?.show(data) ?? false }
        Task { await router.observe(observer, key.rule) }
    }

    /// Shows a value at once, and stores it soon.
    public func set(_ newValue: Value) {
        do {
            let data = try key.encode(newValue)
            // What the bytes say is what peers will see.
            (value, shown, unwritten) = (try key.decode(data), data, data)
            mend()
            write()
        } catch {
            refuse(error)
        }
    }

    private func mend() {
        guard error != nil else { return }
        error = nil
        for code in [SessionProblem.Code.writeFailed, .unreadableValue] { router.board.solve(code, of: key.name) }
    }

    private func refuse(_ error: any Error) {
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
                do { try await router.write([change]) } catch { failure = error }
            }
            isWriting = false
            show(await router.data(key.name))
            // The router writes it later if only the store refused it.
            if let failure = failure as? KeySyncError { refuse(failure) } else if let failure { error = failure }
        }
    }

    /// - Returns: true, since somebody has looked.
    @discardableResult
    private func show(_ data: Data?) -> Bool {
        // What is written next is newer.
        guard data != shown, !isWriting else { return true }
        shown = data
        do {
            value = try data.map(key.decode) ?? initialValue
            mend()
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
/// Reading it in a view observes it. `$volume` is a SwiftUI `Binding` where SwiftUI exists. A write that fails is in the router's
/// `problems`, and in `_volume.stored.error`. `@ObservationIgnored` only keeps the macro from wrapping the property a second time.
@MainActor @propertyWrapper
public struct Stored<Value: Codable & Sendable> {
    /// The value with its error.
    public let stored: StoredValue<Value>

    /// The value of the key. Setting it shows at once and is written soon after.
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

    /// A property that is `wrappedValue` until something is stored under the name. The key is on all devices and travels by itself
    /// while its value is small; for another one give a `StorageKey`.
    public init(wrappedValue: Value, _ name: String, router: StorageRouter = .shared) {
        self.init(wrappedValue: wrappedValue, StorageKey(name), router: router)
    }

    /// A property that is `wrappedValue` until something is stored.
    public init(wrappedValue: Value, _ key: StorageKey<Value>, router: StorageRouter = .shared) {
        stored = StoredValue(key, initialValue: wrappedValue, router: router)
    }
}

/// Where a router shows a key on the main actor.
struct KeyObserver: Sendable {
    let name: String
    /// false once nobody looks any more.
    let show: @MainActor @Sendable (Data?) -> Bool
}
