import Foundation
import MeshConnection
import MeshIdentity
import MeshRegister

/// A message between peers about a state: the changes that the sender has seen, and those that the receiver seems to lack.
struct StateMessage: Sendable {
    struct Item: Hashable, Sendable {
        var name: String
        var entry: StateEntry
    }

    static let payloadType = "sessionmesh.state/1"

    var kind: StateRegister.Kind
    /// The sender's incarnation. While it is unchanged, the sender has forgotten nothing.
    var incarnation: UInt32
    /// The receiver's latest incarnation that the sender knows; 0 if none. Nil from versions that reject NaN and infinity.
    var heard: UInt32?
    /// The changes that the sender has seen. A receiver that has seen `base` has seen all of them once it has taken the items.
    var has: StateVector
    /// The part of `has` that the sender would still know after a crash; nil if it would know all.
    var stored: StateVector?
    /// The changes that the receiver has seen, as far as the sender knows; nil if the items are the complete register.
    var base: StateVector?
    var items: [Item] = []
    /// Removals that the sender has forgotten, so that they aren't among the items even if the receiver lacks them.
    var forgotten = StateVector()
    /// The newest whole value, if the fields don't decode together.
    var fallback: StateEntry?
    /// The version of the whole value that the sender has.
    var holds: StateVersion?
    /// True if the message only acknowledges. Changes may be on their way in another message.
    var isReport = false
    /// True if the receiver must answer, even if the sender lacks nothing.
    var asks = false
    /// Changes that lost at the sender and that the receiver may not know.
    var lost: [Item] = []
    /// A hash of the fields' names. A receiver without this state may have one with the same hash (`StateCoder.shape`).
    var shape: UInt32?

    var stamps: [HybridTimestamp] {
        let vectors = [has, forgotten] + [stored, base].compactMap { $0 }
        let entries = (items + lost).map(\.entry) + [fallback].compactMap { $0 }
        return vectors.flatMap { Array($0.stamps.values) } + entries.flatMap { [$0.version.stamp, $0.replaced] }
            + [holds?.stamp].compactMap { $0 }
    }

    var byteCount: Int { items.reduce(0) { $0 + $1.entry.byteCount($1.name) } }

    /// - Throws: `incompatiblePeer` for any other payload type.
    static func check(_ payloadType: String) throws(ConnectionError) {
        guard payloadType != Self.payloadType else { return }
        throw .incompatiblePeer(
            reason: "its state has the type '\(payloadType)'; this device reads '\(Self.payloadType)'")
    }
}

/// Lists each author once and refers to it by index. Keys are short because every message carries them.
extension StateMessage: Codable {
    private struct Form: Codable {
        var kind: StateRegister.Kind
        var incarnation: UInt32
        var heard: UInt32?
        var isReport: Bool?
        var asks: Bool?
        var authors: [String]
        var has: [UInt64]
        var stored: [UInt64]?
        var base: [UInt64]?
        var forgotten: [UInt64]?
        var items: [ItemForm]?
        var fallback: ItemForm?
        var holds: ItemForm?
        var lost: [ItemForm]?
        var shape: UInt32?

        private enum CodingKeys: String, CodingKey {
            case kind = "k"
            case incarnation = "l"
            case heard = "e"
            case isReport = "r"
            case asks = "q"
            case authors = "a"
            case has = "h"
            case stored = "d"
            case base = "b"
            case forgotten = "g"
            case items = "i"
            case fallback = "f"
            case holds = "o"
            case lost = "x"
            case shape = "s"
        }
    }

    private struct ItemForm: Codable {
        var name: String?
        var author: Int
        var stamp: UInt64
        var replaced: UInt64?
        var bytes: Data?

        private enum CodingKeys: String, CodingKey {
            case name = "n"
            case author = "a"
            case stamp = "s"
            case replaced = "r"
            case bytes = "v"
        }
    }

    func encode(to encoder: any Encoder) throws {
        let versions = (items + lost).map(\.entry.version) + [fallback?.version, holds].compactMap { $0 }
        let vectors = Set(has.stamps.keys).union((base?.stamps ?? [:]).keys).union(forgotten.stamps.keys)
            .union((stored?.stamps ?? [:]).keys)
        let authors = vectors.union(versions.map(\.author)).sorted()
        let places = Dictionary(uniqueKeysWithValues: authors.enumerated().map { ($1, $0) })
        func form(_ name: String?, _ entry: StateEntry) -> ItemForm {
            ItemForm(
                name: name == StateRegister.wholeName ? nil : name, author: places[entry.version.author] ?? 0,
                stamp: entry.version.stamp.rawValue,
                replaced: entry.replaced == .zero ? nil : entry.replaced.rawValue, bytes: entry.bytes)
        }
        try Form(
            kind: kind, incarnation: incarnation, heard: heard, isReport: isReport ? true : nil,
            asks: asks ? true : nil,
            authors: authors,
            has: authors.map { has.stamps[$0]?.rawValue ?? 0 },
            stored: stored.map { stored in authors.map { stored.stamps[$0]?.rawValue ?? 0 } },
            base: base.map { base in authors.map { base.stamps[$0]?.rawValue ?? 0 } },
            forgotten: forgotten.stamps.isEmpty ? nil : authors.map { forgotten.stamps[$0]?.rawValue ?? 0 },
            items: items.isEmpty ? nil : items.map { form($0.name, $0.entry) },
            fallback: fallback.map { form(nil, $0) }, holds: holds.map { form(nil, StateEntry(version: $0)) },
            lost: lost.isEmpty ? nil : lost.map { form($0.name, $0.entry) }, shape: shape
        ).encode(to: encoder)
    }

    init(from decoder: any Decoder) throws {
        let form = try Form(from: decoder)
        let authors = form.authors
        func invalid(_ description: String) -> DecodingError {
            .dataCorrupted(.init(codingPath: decoder.codingPath, debugDescription: description))
        }
        func entry(_ form: ItemForm) throws -> StateEntry {
            guard authors.indices.contains(form.author) else { throw invalid("an author's number is out of range") }
            return StateEntry(
                version: StateVersion(stamp: HybridTimestamp(rawValue: form.stamp), author: authors[form.author]),
                replaced: HybridTimestamp(rawValue: form.replaced ?? 0), bytes: form.bytes)
        }
        func vector(_ stamps: [UInt64]) throws -> StateVector {
            guard stamps.count == authors.count else {
                throw invalid("the number of stamps isn't the number of authors")
            }
            var vector = StateVector()
            for (author, stamp) in zip(authors, stamps) where stamp != 0 {
                vector.note(StateVersion(stamp: HybridTimestamp(rawValue: stamp), author: author))
            }
            return vector
        }
        kind = form.kind
        incarnation = form.incarnation
        heard = form.heard
        isReport = form.isReport ?? false
        asks = form.asks ?? false
        has = try vector(form.has)
        stored = try form.stored.map(vector)
        base = try form.base.map(vector)
        forgotten = try form.forgotten.map(vector) ?? StateVector()
        items = try (form.items ?? []).map { try Item(name: $0.name ?? StateRegister.wholeName, entry: entry($0)) }
        fallback = try form.fallback.map(entry)
        holds = try form.holds.map { try entry($0).version }
        lost = try (form.lost ?? []).prefix(StateLimits.conflictsMax).map {
            try Item(name: $0.name ?? StateRegister.wholeName, entry: entry($0))
        }
        shape = form.shape
        guard Set(items.map(\.name)).count <= StateLimits.fieldsMax else { throw invalid("too many fields") }
        guard authors.allSatisfy({ $0.utf8.count <= StateLimits.authorBytesMax }) else {
            throw invalid("the name of an author is too long")
        }
    }
}
