package import MeshIdentity

/// Who changed something and when. The later stamp is the newer one, between equal stamps the higher author.
package struct StateVersion: Hashable, Comparable, Sendable, Codable {
    package var stamp: HybridTimestamp
    /// A peer and one store of it. A peer that has lost its store is another author, so that nobody takes what it
    /// changes then for something that has been seen.
    package var author: String

    package init(stamp: HybridTimestamp, author: String) {
        self.stamp = stamp
        self.author = author
    }

    package static func author(peerID: String, incarnation: UInt32) -> String {
        "\(peerID)#\(String(incarnation, radix: 16))"
    }

    /// The name of an author while its peer may have lost changes that it made under `author`.
    package static func provisional(_ author: String, launch: UInt32) -> String {
        "\(author)~\(String(launch, radix: 16))"
    }

    /// The author for which a provisional one stands; nil if this one isn't provisional.
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

/// What somebody has seen: of each author everything up to a stamp, or what has replaced it.
package struct StateVector: Hashable, Sendable, Codable {
    package private(set) var stamps: [String: HybridTimestamp]

    package init(_ stamps: [String: HybridTimestamp] = [:]) { self.stamps = stamps }

    /// Who has seen an author up to a stamp has seen its provisional ones up to there.
    package func covers(_ version: StateVersion) -> Bool {
        if let stamp = stamps[version.author], version.stamp <= stamp { return true }
        guard let root = StateVersion.root(of: version.author), let stamp = stamps[root] else { return false }
        return version.stamp <= stamp
    }

    /// What was seen of an author, and of its provisional ones.
    package func part(of author: String) -> StateVector {
        StateVector(stamps.filter { $0.key == author || StateVersion.root(of: $0.key) == author })
    }

    /// Forgets provisional authors of which the author itself covers everything.
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

    /// Forgets what was seen up to stamps that nobody can have drawn.
    package mutating func removeAll(where isFalse: (HybridTimestamp) -> Bool) {
        stamps = stamps.filter { !isFalse($0.value) }
    }

    /// Forgets the authors that have been silent longest, until there are no more than that and their names have no more
    /// bytes. What is forgotten counts as unseen, which costs a transfer.
    package mutating func trim(to limit: Int, bytes bytesMax: Int, keeping kept: Set<String> = []) {
        var bytes = stamps.keys.reduce(0) { $0 + $1.utf8.count }
        guard stamps.count > limit || bytes > bytesMax else { return }
        let silent = stamps.filter { !kept.contains($0.key) }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        // An author stands for its provisional ones too.
        let provisional = silent.filter { StateVersion.root(of: $0.key) != nil }
        for (author, _) in provisional + silent {
            guard stamps.count > limit || bytes > bytesMax else { return }
            guard stamps.removeValue(forKey: author) != nil else { continue }
            bytes -= author.utf8.count
        }
    }

    /// Forgets the authors that another vector does not have.
    package mutating func keep(authorsOf other: StateVector) { stamps = stamps.filter { other.stamps[$0.key] != nil } }
}
