import Foundation
import MeshBase
public import Observation

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
    /// What is shown, as it is stored.
    @ObservationIgnored private var shown: Data?
    @ObservationIgnored private var isWriting = false
    @ObservationIgnored private var unwritten: Data?

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
            if error != nil { error = nil }
            write()
        } catch {
            self.error = error
        }
    }

    private func write() {
        guard !isWriting else { return }
        isWriting = true
        Task {
            while let data = unwritten.take() {
                let change = key.change(to: data) { [key, initialValue] in
                    (try? key.encode(initialValue)).map { key.isEqual($0, data) } ?? false
                }
                do { try await router.write([change]) } catch { self.error = error }
            }
            isWriting = false
            show(await router.data(key.name))
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
            if error != nil { error = nil }
        } catch {
            self.error = error
        }
        return true
    }
}

/// A stored value as a property of a view model.
///
/// ```swift
/// @MainActor @Observable final class Player {
///     @ObservationIgnored @Stored(StorageKey<Int>("volume")) var volume = 5
/// }
/// ```
///
/// Reading it in a view observes it; `$volume` is its `StoredValue`, with the error. `@ObservationIgnored` only keeps the
/// macro from wrapping the property a second time.
@MainActor @propertyWrapper
public struct Stored<Value: Codable & Sendable> {
    /// The value with its error, for `$name`.
    public let projectedValue: StoredValue<Value>

    /// The value. Setting it shows at once and is written soon after.
    public var wrappedValue: Value {
        get { projectedValue.value }
        nonmutating set { projectedValue.set(newValue) }
    }

    /// A property that is `wrappedValue` until something is stored.
    public init(wrappedValue: Value, _ key: StorageKey<Value>, router: StorageRouter = .shared) {
        projectedValue = StoredValue(key, initialValue: wrappedValue, router: router)
    }
}

/// Where a router shows a key on the main actor.
struct KeyObserver: Sendable {
    let name: String
    /// false once nobody looks any more.
    let show: @MainActor @Sendable (Data?) -> Bool
}
