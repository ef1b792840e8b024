import Foundation

/// Changes made before there is a connection: the newest of each key, in the order of the keys' first changes.
struct PendingKeyChanges: Sendable {
    private(set) var changes: [KeyBatch.Change] = []
    private var places: [String: Int] = [:]
    private var byteCount = 0

    /// Returns the pending data of a key: nil if there is no change, `.some(nil)` for a removal.
    subscript(name: String) -> Data?? {
        places.isEmpty ? nil : places[name].map { changes[$0].data }
    }

    /// - Returns: false if the change doesn't fit into the bounds of a router. Then nothing has changed.
    mutating func set(_ change: KeyBatch.Change) -> Bool {
        let place = places[change.name]
        let more = size(of: change) - (place.map { size(of: changes[$0]) } ?? 0)
        guard KeyLimits.permits(change.data, of: change.name), byteCount + more <= KeyLimits.totalBytesMax,
            place != nil || changes.count < KeyLimits.keysMax
        else { return false }
        byteCount += more
        if let place {
            changes[place] = change
            // The change replaces an earlier value of the app, so it isn't a default.
            changes[place].isDefault = { false }
        } else {
            places[change.name] = changes.count
            changes.append(change)
        }
        return true
    }

    private func size(of change: KeyBatch.Change) -> Int { change.name.utf8.count + (change.data?.count ?? 0) }
}
