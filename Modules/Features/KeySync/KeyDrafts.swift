import Foundation

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
