import Foundation

/// Changes of several keys, which are written and shown together.
///
/// ```swift
/// var batch = KeyBatch()
/// try batch.set(7, for: volume)
/// batch.remove(title)
/// try await router.commit(batch)
/// ```
public struct KeyBatch: Sendable {
    struct Change: Sendable {
        var name: String
        var rule: KeyRule
        var data: Data?
        /// Returns true if the stored bytes are the same value.
        var isEqual: @Sendable (Data) -> Bool = { _ in false }
        /// Returns true if the value is the one that the app shows while nothing is stored.
        var isDefault: @Sendable () -> Bool = { false }
    }

    private(set) var changes: [Change] = []

    /// Creates an empty batch.
    public init() {}

    /// Adds a change of one key to the batch.
    ///
    /// - Throws: an error of the key's codec.
    public mutating func set<Value>(_ value: Value, for key: StorageKey<Value>) throws {
        changes.append(try key.change(to: key.encode(value)))
    }

    /// Removes the key's value.
    public mutating func remove<Value>(_ key: StorageKey<Value>) {
        changes.append(.init(name: key.name, rule: key.rule))
    }
}
