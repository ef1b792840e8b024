import Foundation

/// Changes of several keys that are written, and shown, at once.
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
        /// Whether what is stored is the same value.
        var isEqual: @Sendable (Data) -> Bool = { _ in false }
        /// Whether it is what the app shows while nothing is stored.
        var isDefault: @Sendable () -> Bool = { false }
    }

    private(set) var changes: [Change] = []

    /// A batch that changes nothing yet.
    public init() {}

    /// Adds a change of one key to the batch.
    ///
    /// - Throws: what the key's codec throws.
    public mutating func set<Value>(_ value: Value, for key: StorageKey<Value>) throws {
        changes.append(try key.change(to: key.encode(value)))
    }

    /// Takes the key's value away.
    public mutating func remove<Value>(_ key: StorageKey<Value>) {
        changes.append(.init(name: key.name, rule: key.rule))
    }
}
