import Foundation
import MeshBase
import MeshDelivery
import MeshIdentity
import MeshSimulatedWatch
import MeshTransport
import Testing

@testable import MeshWatchConnectivityTransport

/// Urgent packets on the link, and urgent messages on the transport.
@Suite struct WakeTests {
    /// A phone whose watch is suspended, with a complication. User infos take a second each.
    private static func sleeping(_ seed: UInt64 = 1) throws -> World {
        var conditions = SimulatedWatchConditions.ideal
        conditions.backgroundTime = .seconds(10)
        let world = try World.running(seed: seed, conditions)
        world.pair.watch.isComplicationEnabled = true
        world.pair.watch.enterBackground()
        world.pair.watch.suspend()
        world.pair.advance(by: WatchConnectivityLink.launchTime)
        world.pair.conditions.transferLatency = .seconds(1) ... .seconds(1)
        return world
    }

    private static func send(
        _ numbers: ClosedRange<UInt64>, urgent: Set<UInt64> = [], from world: World, byteCount: Int = 10,
        mode: SessionDeliveryMode = .reliableEventually
    ) async throws {
        let phone = try world[.phone]
        for number in numbers {
            let envelope = try envelope(number, from: .phone, byteCount: byteCount)
            if urgent.contains(number) {
                phone.expedite(eventID: envelope.metadata.eventID, featureID: envelope.metadata.featureID)
            }
            try await phone.send(envelope, mode: mode, to: nil)
        }
    }

    @Test(
        "An urgent message wakes the watch app, and brings the earlier ones along, each once",
        arguments: [SessionDeliveryMode.reliableEventually, .realtimeBestEffort])
    func wakes(mode: SessionDeliveryMode) async throws {
        let world = try Self.sleeping()
        let log = try Log(world[.watch].receiveEnvelopes())
        try await Self.send(1...5, urgent: [5], from: world, mode: mode)
        #expect(try world[.phone].remainingWakes == 50)
        world.pair.advance(by: .milliseconds(2500))
        #expect(world.pair.watch.state == .background)
        #expect(try world[.phone].remainingWakes == 49)
        // The queue alone has delivered one of five.
        #expect(await log.sequences(5) == [1, 2, 3, 4, 5])
        world.pair.advance(by: .seconds(20))
        await letTasksRun()
        #expect(log.all.count == 5 && world.pair.watch.state == .suspended)
        #expect(world.pair.statistics.complicationTransfers == 1)
    }

    @Test func `Without urgency nothing wakes the watch app`() async throws {
        let world = try Self.sleeping()
        let log = try Log(world[.watch].receiveEnvelopes())
        try await Self.send(1...5, from: world)
        world.pair.advance(by: .seconds(3600))
        await letTasksRun()
        #expect(log.all.isEmpty && world.pair.watch.state == .suspended)
        world.pair.watch.enterForeground()
        world.pair.advance(by: .seconds(1))
        #expect(await log.sequences(5) == [1, 2, 3, 4, 5])
        #expect(world.pair.statistics.complicationTransfers == 0)
    }

    @Test func `Messages that are due together cost one wake`() async throws {
        let world = try Self.sleeping()
        let log = try Log(world[.watch].receiveEnvelopes())
        try await Self.send(1...6, urgent: [1, 2, 3, 4, 5, 6], from: world)
        world.pair.advance(by: .seconds(30))
        #expect(await log.sequences(6) == [1, 2, 3, 4, 5, 6])
        #expect(world.pair.statistics.complicationTransfers == 1)
    }

    @Test func `While a wake is on its way to a watch that is away, others wait for it`() async throws {
        let world = try Self.sleeping()
        let log = try Log(world[.watch].receiveEnvelopes())
        world.pair.watch.isInRange = false
        for number in 1...20 as ClosedRange<UInt64> {
            try await Self.send(number...number, urgent: [number], from: world)
            world.pair.advance(by: .seconds(60))
        }
        #expect(world.pair.statistics.complicationTransfers == 1)
        world.pair.watch.isInRange = true
        world.pair.advance(by: .seconds(40))
        #expect(await log.sequences(20) == Array(1...20))
        // The first brings one message. Five seconds later, the second brings the others.
        #expect(world.pair.statistics.complicationTransfers == 2)
    }

    @Test func `Two wakes are five seconds apart`() async throws {
        let world = try Self.sleeping()
        let log = try Log(world[.watch].receiveEnvelopes())
        for number in 1...5 as ClosedRange<UInt64> {
            try await Self.send(number...number, urgent: [number], from: world)
            world.pair.advance(by: .seconds(1))
        }
        #expect(world.pair.statistics.complicationTransfers == 1)
        world.pair.advance(by: .seconds(3))
        #expect(await log.sequences(5) == [1, 2, 3, 4, 5])
        #expect(world.pair.statistics.complicationTransfers == 2)
        world.pair.advance(by: .seconds(30))
        await letTasksRun()
        #expect(log.all.count == 5 && world.pair.statistics.complicationTransfers == 2)
    }

    @Test func `A packet that has arrived at a watch whose app sleeps still wakes it`() async throws {
        let world = try Self.sleeping()
        world.pair.conditions.transferLatency = .milliseconds(1) ... .milliseconds(1)
        let log = try Log(world[.watch].receiveEnvelopes())
        try await Self.send(1...2, urgent: [2], from: world)
        world.pair.advance(by: .seconds(1))
        #expect(await log.sequences(2) == [1, 2])
        await letTasksRun()
        #expect(log.all.count == 2 && world.pair.statistics.complicationTransfers == 1)
    }

    @Test func `After the budget, and without a complication, the queue delivers alone`() async throws {
        let world = try Self.sleeping()
        let log = try Log(world[.watch].receiveEnvelopes())
        for number in 1...60 as ClosedRange<UInt64> {
            try await Self.send(number...number, urgent: [number], from: world)
            world.pair.advance(by: .seconds(60))
        }
        #expect(try world[.phone].remainingWakes == 0)
        #expect(world.pair.statistics.complicationTransfers == 50)
        #expect(await log.sequences(50) == Array(1...50))
        #expect(log.all.count == 50 && world.pair.watch.state == .suspended)
        world.pair.advance(by: .seconds(86_400))
        #expect(try world[.phone].remainingWakes == 50)
        world.pair.watch.isComplicationEnabled = false
        #expect(try world[.phone].remainingWakes == 0)
        try await Self.send(61...61, urgent: [61], from: world)
        world.pair.advance(by: .seconds(60))
        #expect(log.all.count == 50 && world.pair.statistics.complicationTransfers == 50)
        world.pair.watch.isComplicationEnabled = true
        try await Self.send(62...62, urgent: [62], from: world)
        world.pair.advance(by: .seconds(10))
        #expect(await log.sequences(62) == Array(1...62))
        #expect(world.pair.statistics.complicationTransfers == 51)
    }

    @Test func `A killed watch app is launched, and gets everything once`() async throws {
        let world = try Self.sleeping()
        let logs = Locked<[Log<AnySessionSyncEnvelope>]>([])
        world.pair.watch.onLaunch { session in
            guard let transport = try? world.begin(.watch, session) else { return }
            logs.withLock { $0.append(Log(transport.receiveEnvelopes())) }
        }
        world.kill(.watch)
        try await Self.send(1...3, urgent: [3], from: world)
        world.pair.advance(by: .seconds(4))
        let log = try #require(logs.withLock { $0.last })
        #expect(await log.sequences(3) == [1, 2, 3])
        world.pair.advance(by: .seconds(30))
        await letTasksRun()
        #expect(log.all.count == 3)
        #expect(world.pair.statistics.complicationTransfers == 1)
    }

    @Test func `An urgent snapshot wakes the watch app, and arrives once`() async throws {
        let world = try Self.sleeping()
        world.pair.conditions.contextLatency = .seconds(3600) ... .seconds(3600)
        let log = try Log(world[.watch].receiveSnapshots())
        let snapshot = try snapshot(1, from: .phone)
        try world[.phone].expedite(eventID: snapshot.metadata.eventID, featureID: snapshot.metadata.featureID)
        try await world[.phone].sendSnapshot(snapshot, mode: .latestSnapshot, to: nil)
        world.pair.advance(by: .seconds(3))
        #expect(await log.atLeast(1).map(\.revision) == [1])
        world.pair.advance(by: .seconds(7200))
        world.pair.watch.enterForeground()
        world.pair.advance(by: .seconds(10))
        await letTasksRun()
        #expect(log.all.count == 1 && world.pair.statistics.complicationTransfers == 1)
    }

    @Test func `An urgent message that a lying session refuses wakes the watch app from the queue`() async throws {
        let world = try Self.sleeping()
        world.pair.phone.claimedReachability = true
        world.pair.advance(by: .seconds(1))
        let log = try Log(world[.watch].receiveEnvelopes())
        try await Self.send(1...1, urgent: [1], from: world, mode: .realtimeBestEffort)
        world.pair.advance(by: .seconds(5))
        #expect(await log.sequences(1) == [1])
        #expect(world.pair.statistics.complicationTransfers == 1)
    }

    @Test func `A watch app that runs gets urgent messages live, without a wake`() async throws {
        let world = try World.running()
        world.pair.watch.isComplicationEnabled = true
        let log = try Log(world[.watch].receiveEnvelopes())
        try await Self.send(1...5, urgent: [5], from: world)
        world.pair.advance(by: .seconds(10))
        #expect(await log.sequences(5) == [1, 2, 3, 4, 5])
        #expect(world.pair.statistics.complicationTransfers == 0)
        #expect(try world[.watch].remainingWakes == 0)
    }

    @Test func `A version without wakes finds the urgent packet under the usual key`() {
        let names = LinkNames(channel: "")
        let content = names.wake(with: [Data([1]), Data([2]), Data([3])])
        #expect(content[names.key] as? Data == Data([3]))
        #expect(names.packets(inWake: content) == [Data([1]), Data([2]), Data([3])])
        #expect(names.packets(inWake: [names.key: Data([1])]) == nil)
        #expect(names.packets(inWake: names.wake(with: [])) == [])
        #expect(names.packets(inWake: [names.wakeKey: ["text"], names.key: Data([1])]) == nil)
    }

    @Test func `A wake has the urgent packets and as many earlier ones as fit, in order`() {
        func packet(_ number: UInt8, _ count: Int) -> Data { Data(repeating: number, count: count) }
        let waiting = (1...100 as ClosedRange<UInt8>).map { packet($0, 1000) }
        let all = WatchConnectivityLink.packets(of: Array(waiting[..<20]), urgent: [waiting[9]], latest: [])
        #expect(all == Array(waiting[..<10]))
        let some = WatchConnectivityLink.packets(of: waiting, urgent: [waiting[99]], latest: [packet(200, 5000)])
        let count = (65_024 - 1032 - 5032) / 1032
        #expect(some == waiting[..<count] + [waiting[99], packet(200, 5000)])
        #expect(PropertyListLimit.fits(LinkNames(channel: "").wake(with: some)))
        let largest = WatchConnectivityLink.packets(
            of: [packet(1, 65_024)], urgent: [packet(1, 65_024)], latest: [packet(2, 10)])
        #expect(largest == [packet(2, 10)])
    }

    @Test func `A packet that comes both ways counts once, in either order`() {
        var duplicates = WakeDuplicates()
        func queue(_ text: String) -> Bool { duplicates.isNew(Data(text.utf8)) }
        func wake(_ text: String) -> Bool { duplicates.isNew(inWake: Data(text.utf8)) }
        #expect([queue("a"), wake("a")] == [true, false])
        #expect([wake("b"), wake("b"), queue("b"), queue("b")] == [true, false, false, true])
        // The memory is bounded: forgotten packets count as new.
        for number in 0..<5_000 { _ = wake("\(number)") }
        #expect([queue("0"), queue("4999")] == [true, false])
    }

    @Test func `On the link, packets that wait before an urgent one come with it, each once`() throws {
        let ends = try Ends()
        ends.pair.watch.isComplicationEnabled = true
        ends.pair.watch.enterBackground()
        ends.pair.watch.suspend()
        ends.pair.advance(by: WatchConnectivityLink.launchTime)
        ends.pair.conditions.transferLatency = .seconds(1) ... .seconds(1)
        let address = try #require(ends.phone.address)
        for number in 1...3 as ClosedRange<UInt8> {
            let packet = LinkPacket(lane: .queue, bytes: [number], isUrgent: number == 3)
            try #require(ends.phone.link).send(packet, to: address)
        }
        ends.pair.advance(by: .milliseconds(2500))
        #expect(ends.watch.calls.suffix(3) == ["queue 1", "queue 2", "queue 3"])
        ends.pair.advance(by: .seconds(10))
        #expect(ends.watch.calls.filter { $0.hasPrefix("queue") }.count == 3)
    }
}

private func letTasksRun() async { for _ in 0..<200 { await Task.yield() } }

/// The system's limit of a user info.
private enum PropertyListLimit {
    static func fits(_ content: [String: Any]) -> Bool {
        let data = try? PropertyListSerialization.data(fromPropertyList: content, format: .binary, options: 0)
        return data.map { $0.count <= 65_536 } ?? false
    }
}
