import Foundation
import MeshBase
import MeshIdentity
import MeshRegister
import Testing

@testable import MeshKeySync

@Suite struct ExchangeTests {
    private static func text(_ index: Int) -> String {
        let length = 20 + index * 37 % 181
        return String((0..<length).map { Character(UnicodeScalar(UInt8(97 + (index &* 31 &+ $0 &* $0) % 26))) })
    }

    /// A phone with `count` keys, and a watch that knows none of them.
    private static func world(_ count: Int) -> KeyWorld {
        var world = KeyWorld()
        for index in 0..<count { world.rules["setting.\(index)"] = KeyRule() }
        for id in ["phone", "watch"] { world.register(id) }
        for index in 0..<count { world.set("phone", "setting.\(index)", text(index)) }
        return world
    }

    /// Delivers messages until none are left, and counts them.
    private static func exchange(
        _ world: inout KeyWorld, until limit: Int = .max
    ) -> (bytes: Int, messages: Int, items: Int) {
        var (bytes, messages, items) = (0, 0, 0)
        while !world.packets.isEmpty, messages < limit {
            bytes += world.packets[0].message.packed().count
            messages += 1
            items += world.packets[0].message.items.count
            world.deliver(0)
        }
        return (bytes, messages, items)
    }

    private static func isEqual(_ world: KeyWorld) -> Bool {
        guard let phone = world.replicas["phone"], let watch = world.replicas["watch"] else { return false }
        return phone.entries == watch.entries
    }

    @Test
    func
        `For ten changed keys of ten thousand, little more than those ten is sent, whichever side asks or changed them`()
    {
        var world = Self.world(10_000)
        world.meet("phone")
        world.meet("watch")
        let all = Self.exchange(&world)
        #expect(Self.isEqual(world))
        for (changer, asker) in [("phone", "watch"), ("watch", "watch"), ("phone", "phone")] {
            world.launch("phone")
            world.launch("watch")
            for index in 0..<10 {
                world.set(changer, "setting.\(index * 997)", "\(changer) \(asker) \(Self.text(index))")
            }
            world.meet(asker)
            let few = Self.exchange(&world)
            #expect(Self.isEqual(world))
            #expect(few.bytes * 50 <= all.bytes, "\(few) of \(all)")
        }
    }

    @Test func `Both devices change different keys and the same keys while apart`() {
        var world = Self.world(300)
        world.meetAndSettle()
        for id in ["phone", "watch"] { world.launch(id) }
        for index in 0..<60 { world.set("phone", "setting.\(index)", "phone \(index)") }
        for index in 40..<120 { world.set("watch", "setting.\(index)", index % 7 == 0 ? nil : "watch \(index)") }
        for index in 50..<55 { world.set("phone", "setting.\(index)", "phone again") }
        for id in ["phone", "watch"] { world.meet(id) }
        _ = Self.exchange(&world)
        #expect(Self.isEqual(world))
        #expect(world.text("watch", "setting.52") == "phone again" && world.text("phone", "setting.45") == "watch 45")
        for id in ["phone", "watch"] {
            #expect(world.rules.keys.allSatisfy { world.replicas[id]?.status(of: $0) ?? .synced == .synced })
        }
    }

    @Test func `L5 changes that both send at once are sent once`() {
        var world = Self.world(2000)
        world.meet("phone")
        world.meet("watch")
        #expect(Self.exchange(&world).items == 2000)
    }

    @Test func `Keys that arrived before the link was lost or the watch died don't travel again`() {
        var world = Self.world(5000)
        world.meet("watch")
        _ = Self.exchange(&world, until: 8)
        let had = world.replicas["watch"]?.entries.count ?? 0
        #expect(had > 500 && had < 4500, "\(had)")
        world.packets = []
        world.launch("watch")
        world.launch("phone")
        world.meet("watch")
        let again = Self.exchange(&world).items
        #expect(Self.isEqual(world))
        #expect(again == 5000 - had)
    }

    @Test func `At most eight messages are in flight, and progress reports their share`() {
        var world = Self.world(5000)
        world.meet("watch")
        world.deliver(0)
        #expect(world.packets.count <= KeyLimits.unconfirmedMessagesMax)
        #expect(world.replicas["phone"]?.progress.waiting == 5000)
        world.deliver(0)
        let progress = world.replicas["watch"]?.progress ?? KeyProgress()
        #expect(progress.arrived > 0 && progress.arrived + progress.following == 5000 && !progress.isComplete)
        _ = Self.exchange(&world)
        for id in ["phone", "watch"] {
            let progress = world.replicas[id]?.progress
            #expect(progress?.isComplete == true && progress?.fraction == 1)
        }
        #expect(world.replicas["phone"]?.progress.confirmed == 5000)
    }

    @Test func `L6 a large value is sent in pieces, and other changes go between them`() {
        var world = KeyWorld(rules: ["large": KeyRule(priority: 9)], messageBytes: 1000, maxAutoSyncSize: 1 << 20)
        world.meetAndSettle()
        let large = String(repeating: "0123456789", count: 2000)
        world.set("phone", "large", large)
        world.deliver(0)
        world.set("phone", "a", "meanwhile")
        var sizes: [Int] = []
        while !world.packets.isEmpty {
            sizes.append(world.packets[0].message.packed().count)
            world.deliver(0)
            if sizes.count == 6 { #expect(world.text("watch", "a") == "meanwhile") }
        }
        #expect(world.text("watch", "large") == large)
        #expect(world.replicas["phone"]?.status(of: "large") == .synced)
        #expect(sizes.allSatisfy { $0 < 1100 } && sizes.count > 80)
    }

    @Test func `A large value continues after lost messages, and starts over when it changes`() {
        var world = KeyWorld(rules: ["large": KeyRule()], messageBytes: 1000, maxAutoSyncSize: 1 << 20)
        world.meetAndSettle()
        world.set("phone", "large", String(repeating: "x", count: 5000))
        for _ in 0..<10 { world.deliver(0) }
        let had = world.replicas["watch"]?.peers["phone"]?.download?.bytes.count ?? 0
        #expect(had > 500)
        world.packets = []
        world.now += .seconds(400)
        for _ in 0..<2 {
            world.replicas["phone"]?.tick(at: world.now)
            world.now += .seconds(400)
        }
        world.post("phone")
        #expect(world.packets.first?.message.piece.map { $0.offset > 0 && $0.offset <= had } == true)
        for _ in 0..<6 { world.deliver(0) }
        world.set("phone", "large", String(repeating: "y", count: 3000))
        world.settle()
        #expect(world.text("watch", "large") == String(repeating: "y", count: 3000))
        #expect(world.replicas["watch"]?.peers["phone"]?.download == nil)
    }

    @Test func `A large value removed while a piece is lost doesn't block the next one`() {
        let rules = ["one": KeyRule(), "two": KeyRule(priority: 2)]
        var world = KeyWorld(rules: rules, messageBytes: 1000, maxAutoSyncSize: 1 << 20)
        world.meetAndSettle()
        // The value that is set first is in flight.
        for key in ["two", "one"] { world.set("phone", key, String(repeating: key, count: 4000)) }
        for _ in 0..<9 { world.deliver(0) }
        let upload = world.replicas["phone"]?.peers["watch"]?.upload
        #expect(upload?.isInFlight == true && upload?.item.place == world.replicas["phone"]?.table.place(of: "two"))
        world.packets = []
        world.set("phone", "two", nil)
        world.settle()
        #expect(world.text("watch", "one") == String(repeating: "one", count: 4000))
        #expect(world.replicas["phone"]?.status(of: "one") == .synced)
    }

    @Test func `A forgotten key frees its place, and leaves nothing for the next key there`() {
        var world = KeyWorld()
        world.meetAndSettle()
        let count = KeyLimits.removedMax * 2
        for number in 0..<count {
            world.set("phone", "old \(number)", "x")
            world.set("phone", "old \(number)", nil)
        }
        // Unknown keys are sent when a peer asks.
        world.meetAndSettle()
        let entries = world.replicas["phone"]?.entries.count ?? 0
        let places = world.replicas["phone"]?.table.records.count ?? 0
        // Keys of the catalog keep their places.
        let free = places - entries - world.rules.count
        #expect(entries < count && free > 0)
        for number in 0..<free { world.set("phone", "new \(number)", "\(number)") }
        #expect(world.replicas["phone"]?.status(of: "new 0") == .pending)
        #expect(world.replicas["phone"]?.table.records.count == places)
        world.replicas["phone"]?.send((0..<free).map { "new \($0)" })
        world.settle()
        #expect(
            (0..<free).allSatisfy {
                world.text("watch", "new \($0)") == "\($0)" && world.text("phone", "new \($0)") == "\($0)"
            })
    }

    @Test func `Two large values, a rejected one and a removal in between all arrive`() {
        let rules = ["one": KeyRule(), "two": KeyRule(priority: 2), "no": KeyRule(priority: 1)]
        var world = KeyWorld(rules: rules, messageBytes: 1000, maxAutoSyncSize: 1 << 20)
        world.replicas["watch"]?.setRule(KeyRule(policy: .never), of: "no")
        world.meetAndSettle()
        for key in rules.keys.sorted() { world.set("phone", key, String(repeating: key, count: 4000)) }
        for _ in 0..<9 { world.deliver(0) }
        world.set("phone", "two", nil)
        world.settle()
        #expect(
            world.text("watch", "one") != nil && world.text("watch", "two") == nil && world.text("watch", "no") == nil)
        #expect(world.replicas["phone"]?.status(of: "one") == .synced)
        guard case .refused = world.replicas["phone"]?.status(of: "no") else {
            Issue.record("\(String(describing: world.replicas["phone"]?.status(of: "no")))")
            return
        }
    }

    @Test(arguments: [true, false])
    func `A message that couldn't be sent is replaced by a later one`(isTakenBack: Bool) throws {
        // Both keys are in one bucket, so a comparison lists keys that both devices have.
        let other = try #require(
            (0..<10_000).map { "other\($0)" }.first { KeyDigest.bucket(of: $0) == KeyDigest.bucket(of: "a") })
        var world = KeyWorld(rules: [other: KeyRule()])
        world.meetAndSettle()
        world.set("phone", "a", "same")
        world.settle()
        for id in ["phone", "watch"] { world.replicas[id]?.forget(KeyWorld.other(id)) }
        world.set("phone", other, "new")
        world.meet("phone")
        world.deliver(0)
        world.deliver(0)
        let comparison = world.packets.removeFirst()
        #expect(comparison.message.compared != nil && world.packets.isEmpty)
        if isTakenBack { world.replicas["phone"]?.undoSend(of: comparison.message, to: "watch") }
        world.settle()
        #expect(world.text("watch", other) == "new")
        #expect(world.replicas["watch"]?.status(of: "a") == .synced)
    }

    @Test func `A message sent after an answer has a retry time of its own`() {
        var world = KeyWorld()
        world.meetAndSettle()
        world.set("phone", "a", "first")
        #expect(world.replicas["phone"]?.planRetries(at: world.now) == world.now + .seconds(2))
        world.deliverAll()
        // The phone has learned by other means that the watch has the key that it would have sent again.
        world.replicas["phone"]?.peers["watch"]?.retry.plan(at: world.now + .seconds(2))
        #expect(world.replicas["phone"]?.planRetries(at: world.now) == nil)
        world.now += .seconds(100)
        world.set("phone", "a", "second")
        #expect(world.replicas["phone"]?.planRetries(at: world.now) == world.now + .seconds(2))
        #expect(world.packets.count == 1)
    }

    @Test func `A peer that returns is asked again soon, however long it was silent`() throws {
        var world = KeyWorld()
        world.meet("phone")
        var planned = world.replicas["phone"]?.planRetries(at: world.now)
        for _ in 0..<8 {
            world.now = try #require(planned)
            world.replicas["phone"]?.tick(at: world.now)
            world.post("phone")
            planned = world.replicas["phone"]?.planRetries(at: world.now)
        }
        #expect(try #require(planned) > world.now + .seconds(60))
        world.meet("phone")
        #expect(world.replicas["phone"]?.planRetries(at: world.now) == world.now + .seconds(2))
    }

    /// Delivers each message after `latency` seconds. Returns the number of messages in an hour, and the last one's time.
    private static func exchange(_ world: inout KeyWorld, latency: Int) -> (messages: Int, last: Int) {
        var (messages, last) = (0, 0)
        var underWay: [(due: Int, packet: KeyWorld.Packet)] = []
        for second in 0..<3600 {
            world.now = .seconds(second)
            while let next = underWay.first, next.due <= second {
                underWay.removeFirst()
                world.packets.insert(next.packet, at: 0)
                world.deliver(0)
            }
            for id in ["phone", "watch"] {
                world.replicas[id]?.tick(at: world.now)
                world.post(id)
            }
            guard !world.packets.isEmpty else { continue }
            (messages, last) = (messages + world.packets.count, second)
            underWay += world.packets.map { (second + latency, $0) }
            world.packets = []
        }
        return (messages, last)
    }

    @Test("If an answer takes longer than the first repetition, repeating ends", arguments: [1, 5, 30, 90])
    func repeatingEnds(latency: Int) {
        var world = Self.world(3000)
        for id in ["phone", "watch"] { world.meet(id) }
        let (messages, last) = Self.exchange(&world, latency: latency)
        #expect(Self.isEqual(world))
        #expect(world.rules.keys.allSatisfy { world.replicas["phone"]?.status(of: $0) ?? .synced == .synced })
        #expect(last <= 40 * latency && messages < 200, "\(messages) messages, the last after \(last) s")
    }

    // MARK: - Message sizes

    /// A phone and a watch on a link with the payload limit of a watch.
    private static func watchLink() -> KeyWorld {
        var world = KeyWorld(messageBytes: 45_696)
        world.linkBytesMax = 60_928
        return world
    }

    /// Regression: a comparison with versions and items exceeded the limit, again at each retry.
    @Test(arguments: [2000, 11_000])
    func `Devices with many different keys exchange them in messages that the link takes`(count: Int) {
        var world = Self.watchLink()
        for id in ["phone", "watch"] {
            for index in 0..<count {
                let key = "settings.of.the.\(id).\(index)"
                world.rules[key] = KeyRule()
                world.replicas[id]?.setRule(KeyRule(), of: key)
                _ = world.replicas[id]?.set(Data("x".utf8), key, at: HybridTimestamp(rawValue: UInt64(1 << 20 + index)))
            }
        }
        for id in ["phone", "watch"] { world.meet(id) }
        // The watch's request and its answer arrive before the phone sends again.
        world.deliver(0)
        let packets = world.packets
        world.packets = []
        for packet in packets { _ = world.replicas["phone"]?.receive(packet.message, from: "watch") }
        world.post("phone")
        world.settle()
        #expect(Self.isEqual(world) && world.replicas["phone"]?.entries.count == 2 * count)
        #expect(world.oversizedCount == 0)
    }

    @Test func `Refusals of many long names are reported in messages that the link takes`() {
        var world = Self.watchLink()
        world.meetAndSettle()
        let keys = (0..<500).map { "\($0)" + String(repeating: "n", count: 297) }
        for (index, key) in keys.enumerated() {
            world.replicas["phone"]?.setRule(KeyRule(), of: key)
            world.replicas["watch"]?.setRule(KeyRule(policy: .never), of: key)
            let stamp = HybridTimestamp(rawValue: UInt64(1 << 21 + index))
            _ = world.replicas["phone"]?.set(Data("x".utf8), key, at: stamp)
        }
        world.post("phone")
        let packets = world.packets
        world.packets = []
        for packet in packets { _ = world.replicas["watch"]?.receive(packet.message, from: "phone") }
        world.post("watch")
        world.settle()
        #expect(
            keys.allSatisfy { world.replicas["phone"]?.status(of: $0) == .refused(reason: "a peer doesn't accept it") })
        #expect(world.oversizedCount == 0)
    }

    /// A liar may choose the names of one bucket.
    @Test func `A bucket whose prints exceed a message is exchanged as well`() {
        var world = KeyWorld(messageBytes: 2000)
        world.linkBytesMax = 2700
        let keys = (0..<200_000).map { "k\($0)" }.filter { KeyDigest.bucket(of: $0) == 7 }.prefix(600)
        for (index, key) in keys.enumerated() {
            let id = index % 2 == 0 ? "phone" : "watch"
            for id in ["phone", "watch"] { world.replicas[id]?.setRule(KeyRule(), of: key) }
            _ = world.replicas[id]?.set(Data("x".utf8), key, at: HybridTimestamp(rawValue: UInt64(1 << 20 + index)))
        }
        world.meetAndSettle()
        #expect(Self.isEqual(world) && world.replicas["phone"]?.entries.count == keys.count && keys.count == 600)
        #expect(world.oversizedCount == 0)
    }
}
