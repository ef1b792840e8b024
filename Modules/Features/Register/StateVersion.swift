package import MeshIdentity

// A last-writer-wins register: of two values, the one with the higher version wins. A version is a hybrid logical
// timestamp and an author, which decides between equal stamps. A vector has a stamp for each author: all of the
// author's changes up to it were seen.
//
// A provisional author stands in for an author whose peer may have lost changes, so that gaps stay visible, as in
// dotted version vectors (Preguiça et al., 2010); see Docs/Guides/SharedState.md.

/// The author and time of a change. The version with the later stamp is newer; of equal stamps, the one with the higher
/// author.
package struct StateVersion: Hashable, Comparable, Sendable, Codable {
    package var stamp: HybridTimestamp
    /// The IDs of a peer and of its store. With a new store, a peer is another author, so that its new changes don't
    /// count as seen.
    package var author: String

    package init(stamp: HybridTimestamp, author: String) {
        self.stamp = stamp
        self.author = author
    }

    package static func author(peerID: String, incarnation: UInt32) -> String {
        "\(peerID)#\(String(incarnation, radix: 16))"
    }

    /// Returns the name under which a peer makes changes while it may have lost earlier ones that it made as `author`.
    package static func provisional(_ author: String, launch: UInt32) -> String {
        "\(author)~\(String(launch, radix: 16))"
    }

    /// Returns the author that a provisional one stands in for; nil if `author` isn't provisional.
    package static func root(of author: String) -> String? {
        let bytes = author.utf8
        guard let mark = bytes.lastIndex(of: UInt8(ascii: "~")), !bytes[mark...].contains(UInt8(ascii: "#")) else {
            return nil
        }
        return String(author[..<mark])
    }

    package var peerID: String { author.lastIndex(of: "#").map { String(author[..<$0]) } ?? author }

    package static func < (left: Self, right: Self) -> Bool {
        left.stamp != right.stamp ? left.stamp < right.stamp : left.author < right.author
    }
}

/// The changes that a peer has seen. Each author has the stamp up to which the peer has seen all of its changes, or
/// later ones that replaced them.
package struct StateVector: Hashable, Sendable, Codable {
    package private(set) var stamps: [String: HybridTimestamp]

    package init(_ stamps: [String: HybridTimestamp] = [:]) { self.stamps = stamps }

    /// True if the version was seen. An author's stamp also covers its provisional authors up to that stamp.
    package func covers(_ version: StateVersion) -> Bool {
        if let stamp = stamps[version.author], version.stamp <= stamp { return true }
        guard let root = StateVersion.root(of: version.author), let stamp = stamps[root] else { return false }
        return version.stamp <= stamp
    }

    /// Returns the part of the vector for an author and its provisional authors.
    package func part(of author: String) -> StateVector {
        StateVector(stamps.filter { $0.key == author || StateVersion.root(of: $0.key) == author })
    }

    /// Removes provisional authors whose stamps the author's own stamp covers.
    package mutating func removeCovered(keeping kept: Set<String>) {
        stamps = stamps.filter { author, stamp in
            guard let root = StateVersion.root(of: author), !kept.contains(author) else { return true }
            return stamps[root].map { $0 < stamp } ?? true
        }
    }

    package func includes(_ other: StateVector) -> Bool {
        other.stamps.allSatisfy { author, stamp in covers(StateVersion(stamp: stamp, author: author)) }
    }

    package mutating func note(_ version: StateVersion) {
        stamps[version.author] = max(stamps[version.author] ?? .zero, version.stamp)
    }

    package mutating func join(_ other: StateVector) { stamps.merge(other.stamps, uniquingKeysWith: max) }

    /// Removes the stamps for which `isFalse` returns true: those that no clock can have generated.
    package mutating func removeAll(where isFalse: (HybridTimestamp) -> Bool) {
        stamps = stamps.filter { !isFalse($0.value) }
    }

    /// Removes provisional authors, then others, lowest stamps first, until at most `limit` authors with at most
    /// `bytesMax` bytes of names are left. Changes of removed authors count as unseen, so they are transferred again.
    package mutating func trim(to limit: Int, bytes bytesMax: Int, keeping kept: Set<String> = []) {
        var bytes = stamps.keys.reduce(0) { $0 + $1.utf8.count }
        guard stamps.count > limit || bytes > bytesMax else { return }
        let silent = stamps.filter { !kept.contains($0.key) }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        // An author's stamp also covers its provisional authors.
        let provisional = silent.filter { StateVersion.root(of: $0.key) != nil }
        for (author, _) in provisional + silent {
            guard stamps.count > limit || bytes > bytesMax else { return }
            guard stamps.removeValue(forKey: author) != nil else { continue }
            bytes -= author.utf8.count
        }
    }

    /// Removes the authors that another vector doesn't have.
    package mutating func keep(authorsOf other: StateVector) { stamps = stamps.filter { other.stamps[$0.key] != nil } }
}
