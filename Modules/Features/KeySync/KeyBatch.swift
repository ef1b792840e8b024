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
    typealias Change = (name: String, rule: KeyRule, data: Data?)

    private(set) var changes: [Change] = []

    /// A batch that changes nothing yet.
    public init() {}

    /// - Throws: what the key's codec throws.
    public mutating func set<Value>(_ value: Value, for key: StorageKey<Value>) throws {
        changes.append((key.name, key.rule, try key.encode(value)))
    }

    /// Takes the key's value away.
    public mutating func remove<Value>(_ key: StorageKey<Value>) { changes.append((key.name, key.rule, nil)) }
}
