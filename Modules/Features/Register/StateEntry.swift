package import Foundation
package import MeshIdentity

/// A value, or a field of one, as an author set it.
package struct StateEntry: Hashable, Sendable, Codable {
    package var version: StateVersion
    /// The newest stamp of another author that this entry's author had seen here. If another author's entry has a
    /// later stamp than that, but loses to this one, the two are concurrent: neither author knew the other's entry.
    package var replaced: HybridTimestamp = .zero
    /// The value as JSON; nil for a field that was removed.
    package var bytes: Data?

    package init(version: StateVersion, replaced: HybridTimestamp = .zero, bytes: Data? = nil) {
        self.version = version
        self.replaced = replaced
        self.bytes = bytes
    }

    package func wins(over other: StateEntry) -> Bool {
        if version != other.version { return version > other.version }
        // An author doesn't set two values under one version. If one does, all peers must choose the same value.
        guard let bytes else { return false }
        guard let otherBytes = other.bytes else { return true }
        return otherBytes.lexicographicallyPrecedes(bytes)
    }

    /// True if no author has set the entry, so it has its initial value.
    package var isDefault: Bool { version.stamp == .zero }

    /// The approximate number of bytes of the entry in a message.
    package func byteCount(_ name: String) -> Int {
        name.utf8.count + version.author.utf8.count + (bytes?.count ?? 0) + 32
    }

    /// True if the author of this entry didn't know `loser`, which is older.
    package func conflicts(with loser: StateEntry) -> Bool {
        !loser.isDefault && loser.version.author != version.author && replaced < loser.version.stamp
            && loser.bytes != bytes
    }
}
