import Foundation
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshStorage

/// The stored form of a replica: the register, its author, and what each peer has seen.
struct StateArchive: Codable, Sendable {
    static let layout = 1

    var layout = StateArchive.layout
    var author: String
    var register: StateRegister
    var peers: [String: StatePeer]
    /// The clock's position, if it is beyond the ceiling.
    var clock: HybridTimestamp?

    init(
        author: String, register: StateRegister, peers: [String: StatePeer], clock: HybridTimestamp = .zero
    ) {
        self.author = author
        self.register = register
        self.peers = peers
        self.clock = clock > .ceiling ? clock : nil
    }

    /// - Throws: `StorageError` with `damaged` or `newerSchema`.
    init(bytes: [UInt8]) throws {
        struct Header: Decodable { let layout: Int }
        let data = Data(bytes)
        do {
            let layout = try JSONDecoder().decode(Header.self, from: data).layout
            guard layout <= Self.layout else {
                throw StorageError(
                    .newerSchema, "a state of layout \(layout); this version reads \(Self.layout); update the app")
            }
            self = try JSONDecoder().decode(Self.self, from: data)
        } catch let error as StorageError {
            throw error
        } catch {
            throw StorageError(
                .damaged, "the stored bytes aren't a shared state; restore the store from a copy, or use a new one",
                cause: error)
        }
    }

    /// Repairs contents that earlier versions accepted: implausible stamps, which no change could replace; entries that no
    /// peer could acknowledge; and more entries than the limits allow.
    /// - Returns: true if the register has changed.
    mutating func repair(as peerID: String) -> Bool {
        let before = register
        let isImplausible = { (stamp: HybridTimestamp) in !stamp.isPlausible }
        for (id, peer) in peers {
            peers[id]?.known.removeAll(where: isImplausible)
            if let holds = peer.holds, isImplausible(holds.stamp) { peers[id]?.holds = nil }
        }
        let incarnation = UInt32.random(in: 0 ... .max)
        // Peers that still believe such a stamp would ignore all later changes of this author.
        if register.vector.stamps[author].map(isImplausible) ?? false {
            author = StateVersion.author(peerID: peerID, incarnation: incarnation ^ 1)
        }
        register.repair(as: StateVersion.author(peerID: peerID, incarnation: incarnation), where: isImplausible)
        for id in peers.keys { peers[id]?.known.keep(authorsOf: register.vector) }
        return register != before
    }

    func encoded() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }

    /// Returns the register for the app's present merge. If the merge has changed, the newest value stays, with its version.
    func register(as kind: StateRegister.Kind) -> StateRegister {
        guard kind != register.kind, let newest = register.newest else {
            return kind == register.kind ? register : StateRegister(kind: kind, vector: register.vector)
        }
        var converted = StateRegister(kind: kind, vector: register.vector)
        let last = register.entries(StateRegister.wholeName).last
        guard let whole = register.kind == .fields ? register.fallback?.bytes : last?.bytes else { return converted }
        let fields = kind == .fields ? try? JSONFields.split(whole) : [StateRegister.wholeName: whole]
        for (name, bytes) in fields ?? [:] { converted.set(bytes, name, newest) }
        return converted
    }
}
