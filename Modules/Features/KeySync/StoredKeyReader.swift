public import Foundation
import MeshIdentity
import MeshRegister
public import MeshStorage

/// Reads stored keys from a store, without a router: for a widget, a complication or an app intent.
///
/// ```swift
/// let store = try SQLiteStore.snapshot(path: path)          // the path of the app's store in the app group
/// let volume = try StoredKeyReader(store).value(of: StorageKey<Int>("volume"))
/// ```
///
/// Its calls block: call them off the main thread.
public struct StoredKeyReader: Sendable {
    private let store: any SessionStore

    /// Creates a reader of a snapshot of the app's store (`SQLiteStore.snapshot`).
    public init(_ store: any SessionStore) { self.store = store }

    /// Returns the key's value, or nil if there is none.
    /// - Throws: `KeySyncError` with `unreadable`, `newerSchema` or `unknownCodec`; `StorageError`.
    public func value<Value>(of key: StorageKey<Value>) throws -> Value? {
        try entry(key.name)?.bytes.map(key.decode)
    }

    /// Returns the moment at which the key's value was set or removed; nil if it never was.
    /// - Throws: `KeySyncError` with `unreadable`; `StorageError`.
    public func changedAt<Value>(_ key: StorageKey<Value>) throws -> Date? {
        try entry(key.name).map { Date(timeIntervalSince1970: TimeInterval($0.version.stamp.milliseconds) / 1000) }
    }

    private func entry(_ name: String) throws -> StateEntry? {
        // Earlier versions stored a name in the Unicode normal form that they saw first.
        let forms = Set([KeyTable.canonical(name), name].map { Array($0.utf8) })
        var newest: StateEntry?
        for form in forms {
            let key = StorageRouter.storeKey(of: String(decoding: form, as: UTF8.self))
            guard let bytes = try store.value(for: key) else { continue }
            do {
                let entry = try StateEntry(stored: bytes)
                if newest.map(entry.wins(over:)) ?? true { newest = entry }
            } catch {
                throw KeySyncError(.unreadable(key: name), cause: error)
            }
        }
        return newest
    }
}
