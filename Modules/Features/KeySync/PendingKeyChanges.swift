import Foundation

/// Changes made before there is a connection: the newest of each key, in the order of the keys' first changes.
struct PendingKeyChanges: Sendable {
    private(set) var changes: [KeyBatch.Change] = []
    private var places: [String: Int] = [:]

    /// Returns the pending data of a key: nil if there is no change, `.some(nil)` for a removal.
    subscript(name: String) -> Data?? {
        places.isEmpty ? nil : places[name].map { changes[$0].data }
    }

    mutating func set(_ change: KeyBatch.Change) {
        if let place = places[change.name] {
            changes[place] = change
            // The change replaces an earlier value of the app, so it isn't a default.
            changes[place].isDefault = { false }
        } else {
            places[change.name] = changes.count
            changes.append(change)
        }
    }
}
