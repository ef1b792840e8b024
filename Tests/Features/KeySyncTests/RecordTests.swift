import Foundation
import MeshBrokenRules
import MeshIdentity
import MeshRegister
import MeshWire
import Testing

@testable import MeshKeySync

@Suite("The record of seen changes") struct RecordTests {
    static let count = 400
    static let names = (0..<count).map { "k\($0)" }

    /// Two devices with 400 keys that the setter has set, and backups from then. Afterwards the remover removes the keys.
    private static func world(
        setBy setter: String = "phone", removedBy remover: String = "phone"
    ) -> (world: KeyWorld, backups: [String: KeyReplica]) {
        let rules = Dictionary(uniqueKeysWithValues: names.map { ($0, KeyRule()) })
        var world = KeyWorld(rules: rules)
        world.meetAndSettle()
        for name in names { world.set(setter, name, "1") }
        world.set(setter, "a", "1")
        world.settle()
        let backups = world.replicas
        for name in names { world.set(remover, name, nil) }
        world.set(remover, "a", "2")
        world.settle()
        // Devices forget the last removals with the next message that contains the record.
        for id in ["phone", "watch"] { world.set(id, "b", "by \(id)") }
        world.settle()
        return (world, backups)
    }

    /// The values without removals, because one device may have forgotten removals that the other still has.
    private static func values(in world: KeyWorld, _ id: String) -> [String: StateEntry] {
        world.replicas[id]?.entries.filter { $0.value.bytes != nil } ?? [:]
    }

    private static func returned(in world: KeyWorld, _ id: String) -> Int { names.count { world.text(id, $0) != nil } }

    @Test(
        "Removed keys don't return from a restored backup, however many were removed",
        arguments: ["phone", "watch"], ["phone", "watch"])
    func restoredBackup(setter: String, remover: String) {
        for restored in ["phone", "watch"] {
            var (world, backups) = Self.world(setBy: setter, removedBy: remover)
            let other = KeyWorld.other(restored)
            #expect(world.replicas[other].map { $0.table.removedCount < Self.count } == true, "nothing was forgotten")
            world.launch(restored, from: backups[restored])
            world.meetAndSettle()
            #expect(Self.returned(in: world, "phone") == 0 && Self.returned(in: world, "watch") == 0, "\(restored)")
            #expect(world.text(restored, "a") == "2" && world.text(other, "a") == "2")
            #expect(Self.values(in: world, "phone") == Self.values(in: world, "watch"))
            #expect(Self.names.allSatisfy { world.replicas[restored]?.status(of: $0) ?? .synced == .synced })
        }
    }

    @Test(
        "Without the record, removed keys return",
        .breaksRules)
    func withoutTheRecord() {
        breaking(KeyMutation.noRecord) {
            var (world, backups) = Self.world()
            world.launch("phone", from: backups["phone"])
            world.meetAndSettle()
            #expect(Self.returned(in: world, "watch") > 200)
        }
    }

    @Test("Keys of a tablet that was used alone stay when it is paired after 400 removals")
    func tabletAlone() {
        var (world, _) = Self.world()
        world.launch("tablet")
        for name in Self.names.prefix(10) { world.set("tablet", name, "of the tablet") }
        world.meetAndSettle()
        for id in ["phone", "watch", "tablet"] { #expect(Self.returned(in: world, id) == 10, "\(id)") }
    }

    @Test("A manual key sent a month later counts as new, whatever was synced meanwhile")
    func manualKey() {
        var world = KeyWorld(rules: ["m": KeyRule(policy: .manual)])
        world.meetAndSettle()
        world.set("phone", "m", "early")
        for number in 0..<40 {
            world.set("phone", "a", "\(number)")
            world.settle()
        }
        for id in ["phone", "watch"] { world.launch(id) }
        world.now += .seconds(30 * 86_400)
        world.replicas["phone"]?.meet("watch")
        world.replicas["phone"]?.send(["m"])
        world.post("phone")
        world.settle()
        #expect(world.text("watch", "m") == "early")
    }

    @Test("A value that the peer rejects, or that is too large, arrives once the peer accepts it")
    func refusedAndTooLarge() {
        var world = KeyWorld(rules: ["no": KeyRule(), "large": KeyRule()], maxAutoSyncSize: 100)
        world.replicas["watch"]?.setRule(KeyRule(policy: .never), of: "no")
        world.meetAndSettle()
        world.set("phone", "no", "1")
        world.set("phone", "large", String(repeating: "x", count: 200))
        for number in 0..<5 {
            world.set("phone", "a", "\(number)")
            world.settle()
        }
        #expect(world.text("watch", "no") == nil && world.text("watch", "large") == nil)
        world.maxAutoSyncSize = 1000
        for id in ["phone", "watch"] { world.launch(id) }
        world.meetAndSettle()
        #expect(world.text("watch", "no") == "1" && world.text("watch", "large")?.count == 200)
    }

    @Test("Values of an author beyond the bound on remembered authors count as new")
    func tooManyAuthors() {
        var (world, backups) = Self.world()
        for number in 0..<KeyLimits.authorsMax {
            let stamp = HybridTimestamp(rawValue: 1 << 40 + UInt64(number))
            world.replicas["watch"]?.seen.note(StateVersion(stamp: stamp, author: "other#\(number)"))
        }
        world.replicas["watch"]?.trimRecord()
        #expect(world.replicas["watch"]?.seen.stamps.count == KeyLimits.authorsMax)
        world.launch("phone", from: backups["phone"])
        world.meetAndSettle()
        #expect(Self.returned(in: world, "watch") > 200)
        #expect(Self.values(in: world, "phone") == Self.values(in: world, "watch"))
    }

    /// A phone is restored from a backup without the change of `lost`. It writes something before it meets the watch.
    private static func afterLostChange(settlesFirst: Bool = true) -> KeyWorld {
        var world = KeyWorld(rules: ["lost": KeyRule()])
        world.meetAndSettle()
        world.set("phone", "a", "1")
        world.settle()
        let backup = world.replicas["phone"]
        world.set("phone", "lost", "1")
        if settlesFirst { world.settle() } else { world.deliverAll() }
        world.launch("phone", from: backup)
        world.set("phone", "a", "2")
        world.set("watch", "b", "1")
        world.meetAndSettle()
        return world
    }

    @Test("A restored device gets back the values it had set since, and removes none")
    func lostChangeComesBack() {
        for settlesFirst in [true, false] {
            let world = Self.afterLostChange(settlesFirst: settlesFirst)
            for id in ["phone", "watch"] { #expect(world.text(id, "lost") == "1" && world.text(id, "a") == "2") }
        }
    }

    @Test(
        "A restored device that kept its author would take its own lost changes for removals",
        .breaksRules)
    func keepsAuthor() {
        breaking(KeyMutation.keepsAuthor) { #expect(Self.afterLostChange().text("watch", "lost") == nil) }
    }

    @Test("A peer states nothing before the other one has confirmed everything in it")
    func recordWaits() {
        #expect(Self.afterLateMessage() == "1")
        if BrokenRules.areThere { breaking(KeyMutation.recordTooSoon) { #expect(Self.afterLateMessage() == nil) } }
    }

    /// The first of two messages arrives late. The second one must not have claimed that the first was seen.
    private static func afterLateMessage() -> String? {
        var world = KeyWorld()
        world.meetAndSettle()
        world.set("phone", "a", "1")
        let lost = world.packets
        world.packets = []
        world.set("phone", "b", "2")
        world.deliverAll()
        world.packets = lost
        world.deliverAll()
        return world.text("watch", "a")
    }

    /// A watch sends a large value to a phone that has lost its store. Before the last piece, the phone gets a record of the lost
    /// store, from a launch of the watch whose store has the older marks, or from a message that the platform kept.
    private static func afterRecordOfLostStore(watchIsRelaunched: Bool) -> KeyWorld {
        var world = KeyWorld(messageBytes: 200)
        world.meetAndSettle()
        world.set("phone", "a", String(repeating: "1", count: 400))
        world.settle()
        world.meetAndSettle()
        let older = world.replicas["watch"]
        world.meet("watch")
        let kept = world.packets
        #expect(kept.contains { $0.message.record?.seen.stamps.keys.contains("phone#1") == true })
        world.packets = []
        if !watchIsRelaunched { world.launch("watch") }
        world.launch("phone", losingStore: true)
        world.meet("phone")
        while world.replicas["phone"]?.peers["watch"]?.download == nil, !world.packets.isEmpty { world.deliver(0) }
        let others = world.packets
        #expect(world.text("phone", "a") == nil && !others.isEmpty)
        world.packets = kept
        if watchIsRelaunched {
            world.packets = []
            world.launch("watch", from: older)
            world.meet("watch")
        }
        while let index = world.packets.firstIndex(where: { $0.to == "phone" }) { world.deliver(index) }
        world.packets += others
        world.settle()
        return world
    }

    @Test("A lost store's record removes nothing", arguments: [true, false])
    func recordOfLostStore(watchIsRelaunched: Bool) {
        let world = Self.afterRecordOfLostStore(watchIsRelaunched: watchIsRelaunched)
        for id in ["phone", "watch"] { #expect(world.text(id, "a")?.count == 400) }
    }

    @Test(
        "If every record counted, it would remove the other device's only copy",
        .breaksRules,
        arguments: [true, false])
    func recordCountsUnasked(watchIsRelaunched: Bool) {
        let world = breaking(KeyMutation.recordUnasked) {
            Self.afterRecordOfLostStore(watchIsRelaunched: watchIsRelaunched)
        }
        #expect(world.text("watch", "a") == nil)
    }

    // MARK: - Bytes

    @Test("A message without a record has the bytes of the version before")
    func goldenBytes() throws {
        var message = KeyMessage(nonce: 5)
        message.items = [
            .init(
                key: "a",
                entry: StateEntry(
                    version: StateVersion(stamp: HybridTimestamp(rawValue: 300), author: "phone#1"), bytes: Data([7])))
        ]
        let golden: [UInt8] =
            [1, 7] + Array("phone#1".utf8) + [5, 0, 0, 0, 0, 0, 0, 1, 1, 0x61, 0xD8, 4, 2, 7, 0, 0, 0]
        #expect(message.packed() == golden)
        #expect(try golden.withUnsafeBytes { try KeyMessage(packed: $0) } == message)
        // The record is at the end, where the previous version stops reading.
        message.record = .init(
            seen: StateVector(["watch#2": HybridTimestamp(rawValue: 9)]), newest: HybridTimestamp(rawValue: 3))
        let packed = message.packed()
        #expect(packed.count == golden.count + 1 + 1 + 8 + 8 && packed[10] == 128)
        #expect(packed[11..<golden.count] == golden[11...])
    }

    @Test("A peer that asks without a record gets none")
    func versionBefore() {
        var world = KeyWorld()
        func withoutRecords(_ packets: [KeyWorld.Packet]) -> [KeyWorld.Packet] {
            packets.map { packet in
                var packet = packet
                if packet.from == "watch" { packet.message.record = nil }
                return packet
            }
        }
        for id in ["phone", "watch"] { world.meet(id) }
        world.set("phone", "a", "1")
        world.set("watch", "b", "2")
        while !world.packets.isEmpty {
            world.packets = withoutRecords(world.packets)
            let packet = world.packets[0]
            if packet.from == "phone", packet.message.digests == nil { #expect(packet.message.record == nil) }
            world.deliver(0)
        }
        for id in ["phone", "watch"] {
            #expect(world.text(id, "a") == "1" && world.text(id, "b") == "2")
            for key in ["a", "b"] { #expect(world.replicas[id]?.status(of: key) == .synced) }
        }
        #expect(world.replicas["phone"]?.seen.stamps.keys.contains { $0.hasPrefix("watch") } == false)
    }

    @Test("A stored record is read as written, and every truncated one is rejected")
    func storedRecord() throws {
        let record = StateVector([
            "phone#1": HybridTimestamp(rawValue: 5), "watch#ff+": HybridTimestamp(rawValue: 1 << 50),
        ])
        let bytes = record.stored()
        #expect(try StateVector(stored: bytes) == record)
        for count in bytes.indices {
            #expect(throws: WireError.self) { try StateVector(stored: Array(bytes[..<count])) }
        }
        #expect(throws: WireError.self) { try StateVector(stored: bytes + [0]) }
    }
}

@Suite("Keys with unknown status") struct LooseKeyTests {
    /// Found by the simulation (seed 2000671): the watch dies after it takes a key, before it learns that its confirmation
    /// arrived. It asks, and the phone answers that nothing differs. Only the phone then knew that both have the key.
    private static func statuses() -> [KeyStatus?] {
        var world = KeyWorld()
        world.meetAndSettle()
        world.set("phone", "a", "1")
        world.deliver(0)
        world.packets = []
        world.launch("watch")
        // Knowledge about peers is written late: this launch doesn't know that the phone has the key.
        let place = world.replicas["watch"]?.table.place(of: "a") ?? 0
        world.replicas["watch"]?.peers["phone"]?.unconfirm(place)
        world.meet("watch")
        world.settle()
        return ["phone", "watch"].map { world.replicas[$0]?.status(of: "a") }
    }

    @Test("An answer without differences confirms the keys that were asked about")
    func answerConfirms() {
        #expect(Self.statuses() == [.synced, .synced])
        if BrokenRules.areThere {
            breaking(KeyMutation.looseKeysWait) { #expect(Self.statuses() == [.synced, .pending]) }
        }
    }

    @Test("A key whose answer was lost is asked about again")
    func asksAgain() {
        var world = KeyWorld()
        world.set("phone", "a", "1")
        world.meetAndSettle()
        for id in ["phone", "watch"] { world.launch(id) }
        let place = world.replicas["phone"]?.table.place(of: "a") ?? 0
        world.meet("phone")
        world.packets = []
        world.replicas["phone"]?.peers["watch"]?.awaitsAnswer = false
        world.replicas["phone"]?.peers["watch"]?.unconfirm(place)
        world.settle()
        #expect(world.replicas["phone"]?.status(of: "a") == .synced)
    }

    @Test("If a peer of the previous version leaves a key open, asking becomes rare")
    func askingBecomesRare() {
        var world = KeyWorld()
        world.meetAndSettle()
        world.set("phone", "a", "1")
        world.deliverAll()
        var requests = 0
        for second in 0..<3600 {
            world.now = .seconds(second)
            world.replicas["phone"]?.tick(at: world.now)
            world.post("phone")
            requests += world.packets.count { $0.message.digests != nil }
            world.deliverAll()
            let place = world.replicas["phone"]?.table.place(of: "a") ?? 0
            world.replicas["phone"]?.peers["watch"]?.unconfirm(place)
        }
        #expect(requests > 5 && requests < 25, "\(requests)")
    }
}
