import Foundation
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshStorage

/// What outlives the process: the register, who writes it, and how far each peer is.
struct StateArchive: Codable, Sendable {
    static let layout = 1

    var layout = StateArchive.layout
    var author: String
    var register: StateRegister
    var peers: [String: StatePeer]
    /// Where the clock stood, if that was beyond the ceiling.
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
                .damaged, "what is stored is no state; restore the store from a copy, or begin with a new one",
                cause: error)
        }
    }

    /// Takes back what an earlier version has believed: stamps that no clock can have shown, which no later change could
    /// have replaced; what nobody could say that he has; and more than there is room for.
    /// - Returns: whether there was any.
    mutating func mend(by peerID: String) -> Bool {
        let before = register
        let isFalse = { (stamp: HybridTimestamp) in !stamp.isPlausible }
        for (id, peer) in peers {
            peers[id]?.known.removeAll(where: isFalse)
            if let holds = peer.holds, isFalse(holds.stamp) { peers[id]?.holds = nil }
        }
        let incarnation = UInt32.random(in: 0 ... .max)
        // Those who still believe it take nothing more of that author for new.
        if register.vector.stamps[author].map(isFalse) ?? false {
            author = StateVersion.author(peerID: peerID, incarnation: incarnation ^ 1)
        }
        register.mend(by: StateVersion.author(peerID: peerID, incarnation: incarnation), where: isFalse)
        for id in peers.keys { peers[id]?.known.keep(authorsOf: register.vector) }
        return register != before
    }

    func encoded() throws -> [UInt8] { Array(try JSONEncoder().encode(self)) }

    /// The register, merged as the app wants it now. When that is another way than before, the newest value goes on
    /// under the version that it has.
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
