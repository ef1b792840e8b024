package import Foundation
package import MeshIdentity

/// A value, or one field of it, as somebody set it.
package struct StateEntry: Hashable, Sendable, Codable {
    package var version: StateVersion
    /// The newest stamp of somebody else that the author had seen here: what is later and older than this entry was
    /// made at the same time, by somebody who did not know.
    package var replaced: HybridTimestamp = .zero
    /// JSON; nil is a field that was removed.
    package var bytes: Data?

    package init(version: StateVersion, replaced: HybridTimestamp = .zero, bytes: Data? = nil) {
        self.version = version
        self.replaced = replaced
        self.bytes = bytes
    }

    package func wins(over other: StateEntry) -> Bool {
        if version != other.version { return version > other.version }
        // Nobody sets two things at once. If somebody did, everybody must choose the same.
        guard let bytes else { return false }
        guard let otherBytes = other.bytes else { return true }
        return otherBytes.lexicographicallyPrecedes(bytes)
    }

    /// Nobody's edit: what a field was before anybody set it.
    package var isDefault: Bool { version.stamp == .zero }

    /// What it takes in a message, more or less.
    package func byteCount(_ name: String) -> Int {
        name.utf8.count + version.author.utf8.count + (bytes?.count ?? 0) + 32
    }

    /// Whether `loser`, which is older, was unknown to whoever set this.
    package func conflicts(with loser: StateEntry) -> Bool {
        !loser.isDefault && loser.version.author != version.author && replaced < loser.version.stamp
            && loser.bytes != bytes
    }
}
