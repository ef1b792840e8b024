import Foundation
import MeshIdentity
import MeshRegister

@testable import MeshKeySync

/// Replicas and the messages between them, as a value. The test decides the order of delivery.
struct KeyWorld: Hashable {
    struct Packet: Hashable {
        var from: String
        var to: String
        var message: KeyMessage
    }

    var replicas: [String: KeyReplica] = [:]
    var packets: [Packet] = []
    var now = Duration.zero
    var stamp: UInt64 = 1 << 20
    var rules: [String: KeyRule]
    var messageBytes: Int
    var maxAutoSyncSize = SyncConfiguration().maxAutoSyncSize
    var launches: UInt64 = 0
    /// True if the link drops a message that equals the one before.
    var dropsIdentical = false
    var last: [String: KeyMessage] = [:]
    /// Maximum number of bytes of a message. The link throws for a larger one.
    var linkBytesMax = Int.max
    /// The number of messages that were too large.
    var oversizedCount = 0

    init(
        rules: [String: KeyRule] = [:], messageBytes: Int = 60_000,
        maxAutoSyncSize: Int = SyncConfiguration().maxAutoSyncSize
    ) {
        self.maxAutoSyncSize = maxAutoSyncSize
        self.rules = ["a": KeyRule(), "b": KeyRule()].merging(rules) { $1 }
        self.messageBytes = messageBytes
        for id in ["phone", "watch"] { launch(id) }
    }

    /// Launches the process with the contents of its store, or of a backup.
    mutating func launch(_ id: String, losingStore: Bool = false, from backup: KeyReplica? = nil) {
        launches += 1
        let old = losingStore ? nil : backup ?? replicas[id]
        let peers = old.map { old in old.peers.keys.sorted().compactMap(old.storedPeer) } ?? []
        let author = "\(id)#\(launches)"
        var replica = KeyReplica(
            author: old?.author ?? author, nextAuthor: old == nil ? nil : author, entries: old?.entries ?? [:],
            seen: old?.seen ?? .init(), nonce: launches << 32)
        replica.configuration.messageBytes = messageBytes
        replica.configuration.maxAutoSyncSize = maxAutoSyncSize
        replicas[id] = replica
        register(id)
        replicas[id]?.restore(peers)
    }

    /// Registers the app's current catalog.
    mutating func register(_ id: String) {
        for key in rules.keys.sorted() { replicas[id]?.setRule(rules[key] ?? KeyRule(), of: key) }
    }

    static func other(_ id: String) -> String { id == "phone" ? "watch" : "phone" }

    mutating func set(_ id: String, _ key: String, _ text: String?) {
        stamp += 1
        _ = replicas[id]?.set(text.map { Data($0.utf8) }, key, at: HybridTimestamp(rawValue: stamp))
        post(id)
    }

    mutating func meet(_ id: String) {
        for other in replicas.keys.sorted() where other != id { replicas[id]?.meet(other) }
        post(id)
    }

    /// Persists all changes, then sends the pending messages.
    mutating func post(_ id: String) {
        replicas[id]?.markWritten()
        for other in replicas.keys.sorted() where other != id {
            while let message = replicas[id]?.nextMessage(to: other) {
                if dropsIdentical, last[id] == message { continue }
                last[id] = message
                if linkBytesMax < .max, message.packed().count > linkBytesMax {
                    oversizedCount += 1
                    replicas[id]?.undoSend(of: message, to: other)
                    break
                }
                packets.append(Packet(from: id, to: other, message: message))
            }
        }
    }

    mutating func deliver(_ index: Int) {
        let packet = packets.remove(at: index)
        _ = replicas[packet.to]?.receive(packet.message, from: packet.from)
        post(packet.to)
    }

    mutating func deliverAll() {
        var patience = 600
        while !packets.isEmpty, patience > 0 {
            deliver(0)
            patience -= 1
        }
    }

    /// Delivers all messages and lets time pass, so that retries happen.
    mutating func settle(rounds: Int = 6) {
        deliverAll()
        for _ in 0..<rounds {
            now += .seconds(400)
            for id in replicas.keys.sorted() {
                replicas[id]?.tick(at: now)
                post(id)
            }
            deliverAll()
        }
    }

    mutating func meetAndSettle() {
        for id in replicas.keys.sorted() { meet(id) }
        settle()
    }

    func text(_ id: String, _ key: String) -> String? {
        replicas[id]?.value(key).map { String(decoding: $0, as: UTF8.self) }
    }
}
