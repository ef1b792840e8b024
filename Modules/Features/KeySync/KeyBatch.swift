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

/// The newest change of each key, in the order in which the keys first came up.
struct KeyDrafts: Sendable {
    private(set) var changes: [(name: String, data: Data?)] = []
    private var places: [String: Int] = [:]

    /// nil when there is none; a removal is a draft without data.
    subscript(name: String) -> Data?? {
        places.isEmpty ? nil : places[name].map { changes[$0].data }
    }

    mutating func set(_ data: Data?, _ name: String) {
        if let place = places[name] {
            changes[place].data = data
        } else {
            places[name] = changes.count
            changes.append((name, data))
        }
    }
}
