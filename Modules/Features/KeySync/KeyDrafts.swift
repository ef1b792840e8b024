import Foundation

/// The newest change of each key, in the order in which the keys first came up.
struct KeyDrafts: Sendable {
    private(set) var changes: [KeyBatch.Change] = []
    private var places: [String: Int] = [:]

    /// nil when there is none; a removal is a draft without data.
    subscript(name: String) -> Data?? {
        places.isEmpty ? nil : places[name].map { changes[$0].data }
    }

    mutating func set(_ change: KeyBatch.Change) {
        if let place = places[change.name] {
            changes[place] = change
            // It replaces what the app has set before.
            changes[place].isDefault = { false }
        } else {
            places[change.name] = changes.count
            changes.append(change)
        }
    }
}
