import Dispatch
import Foundation
import MeshBase
import MeshIdentity
import MeshSimulatedWatch
import MeshTransport
import MeshWatchConnectivityTransport
import Testing

/// The link alone, over a session.
@Suite struct LinkTests {
    @Test func `A device is found when the session is activated, and connected while it is reachable`() throws {
        let ends = try Ends()
        #expect(ends.phone.calls == ["found", "connected"])
        ends.pair.watch.enterBackground()
        ends.pair.advance(by: .seconds(1))
        #expect(ends.phone.calls == ["found", "connected", "disconnected"])
        ends.pair.watch.enterForeground()
        ends.pair.advance(by: .seconds(1))
        #expect(ends.phone.calls == ["found", "connected", "disconnected", "connected"])
    }

    /// Regression: a counterpart could add a key with each context, and all of them were kept.
    @Test func `The newest context is remembered, and repeated values aren't delivered again`() throws {
        let ends = try Ends()
        let prefix = WatchSessionMultiplexer.prefix + "link.0./"
        func take(_ packets: [String: UInt8]) throws {
            let link = try #require(ends.phone.link)
            link.takeContext(
                Dictionary(uniqueKeysWithValues: packets.map { (prefix + $0, Data([$1])) }))
        }
        try take(["a": 1])
        try take(["a": 1, "b": 2])
        try take(["b": 2])
        #expect(ends.phone.calls.suffix(2) == ["latest 1", "latest 2"])
        // A packet of an earlier context may be passed on once more. Delivery rejects it.
        try take(["a": 1, "b": 2])
        #expect(ends.phone.calls.suffix(2) == ["latest 2", "latest 1"])
    }

    @Test func `A relaunched app is a new connection, however quickly it returns`() throws {
        let ends = try Ends()
        ends.pair.phone.claimedReachability = true
        try ends.watch.send(.datagram, [0])
        ends.pair.advance(by: .milliseconds(100))
        ends.watch.link = nil
        ends.pair.watch.kill()
        try ends.launch(ends.watch, launch: 9)
        ends.pair.advance(by: .milliseconds(100))
        try ends.watch.send(.datagram, [1])
        ends.pair.advance(by: .milliseconds(100))
        #expect(ends.phone.calls == ["found", "connected", "datagram 0", "disconnected", "connected", "datagram 1"])
    }

    @Test func `A session with false reachability is detected after three rejections, and trusted again after a while`()
        throws
    {
        let ends = try Ends()
        ends.pair.phone.claimedReachability = true
        ends.pair.watch.enterBackground()
        ends.pair.advance(by: .seconds(1))
        for _ in 1...2 {
            try ends.phone.send(.datagram, [1])
            ends.pair.advance(by: .milliseconds(10))
        }
        #expect(ends.phone.calls == ["found", "connected"] + ["undelivered", "undelivered"])
        try ends.phone.send(.datagram, [1])
        ends.pair.advance(by: .milliseconds(10))
        #expect(ends.phone.calls.suffix(2) == ["undelivered", "disconnected"])
        #expect(throws: LinkError(.unreachable)) { try ends.phone.send(.datagram, [1]) }
        ends.pair.advance(by: .seconds(1))
        #expect(ends.phone.calls.last == "connected")
    }

    @Test func `Switching watches changes the address, and waiting packets are delivered after switching back`() throws
    {
        let ends = try Ends(watches: 2)
        let first = try #require(ends.phone.address)
        ends.pair.switchTo(ends.pair.watches[1])
        ends.pair.watches[1].launch()
        ends.pair.advance(by: .seconds(1))
        let second = try #require(ends.phone.address)
        #expect(first != second)
        #expect(ends.phone.calls == ["found", "connected", "disconnected", "found"])
        #expect(throws: LinkError(.full)) { try ends.phone.send(.queue, [1], to: first) }
        try ends.phone.send(.latest, [2], to: first, key: "a")
        ends.pair.switchTo(ends.pair.watch)
        ends.pair.advance(by: .seconds(1))
        #expect(ends.phone.address == first)
        #expect(ends.phone.calls.contains("writable"))
        try ends.phone.send(.queue, [1], to: first)
        ends.pair.advance(by: .seconds(1))
        #expect(ends.watch.calls.filter { $0.hasPrefix("latest") || $0.hasPrefix("queue") } == ["latest 2", "queue 1"])
    }

    @Test func `Concurrent callers get the same name for a watch`() throws {
        for seed in 1...20 as ClosedRange<UInt64> {
            let pair = SimulatedWatchPair(seed: seed, conditions: .ideal)
            let session = try #require(pair.phone.launch())
            let app = Recorder(session)
            pair.runUntilIdle()
            let names = Locked<Set<String?>>([])
            DispatchQueue.concurrentPerform(iterations: 8) { _ in
                let name = session.counterpartID
                names.withLock { _ = $0.insert(name) }
            }
            #expect(names.withLock { $0.count } == 1)
            #expect(!names.withLock { $0.contains(nil) })
            withExtendedLifetime(app) {}
        }
    }

    @Test func `A reachable counterpart is present, even while the session reports that its app isn't installed`()
        throws
    {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let session = InjectedSession()
        let link = WatchConnectivityLink(session, clock: pair.clock)
        let phone = End(pair.phone)
        func say(_ isReachable: Bool, _ counterpart: String?) {
            session.isReachable = isReachable
            session.counterpartID = counterpart
            session.delegate?.sessionReachabilityDidChange(.default)
        }
        session.counterpartID = nil
        try link.open(phone)
        #expect(phone.calls.isEmpty)
        say(true, nil)
        #expect(phone.calls == ["found", "connected"])
        say(true, "watch")
        #expect(phone.calls == ["found", "connected", "disconnected", "found", "connected"])
        #expect(phone.address == "watch")
        say(true, nil)
        #expect(phone.calls.count == 5)
        try link.send(LinkPacket(lane: .datagram, bytes: [1]), to: "watch")
        say(false, nil)
        #expect(phone.calls.suffix(2) == ["connected", "disconnected"])
        #expect(throws: LinkError(.unreachable)) { try link.send(LinkPacket(lane: .datagram, bytes: [1]), to: "watch") }
    }

    @Test func `A received message proves that the counterpart is reachable, even if the system doesn't report it`()
        throws
    {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let (here, there) = (InjectedSession(), InjectedSession())
        let (end, other) = (End(pair.phone), End(pair.watch))
        let (link, sender) = (
            WatchConnectivityLink(here, clock: pair.clock), WatchConnectivityLink(there, clock: pair.clock)
        )
        there.isReachable = true
        try link.open(end)
        try sender.open(other)
        #expect(!end.calls.contains("connected"))
        here.isReachable = true
        try sender.send(LinkPacket(lane: .datagram, bytes: [1]), to: "paired")
        let message = try #require(there.sentMessages.withLock { $0.first })
        here.delegate?.session(.default, didReceiveMessageData: message)
        #expect(end.calls.contains("connected"))
        try link.send(LinkPacket(lane: .datagram, bytes: [2]), to: "paired")
        withExtendedLifetime(sender) {}
    }

    @Test func `A failed activation is retried at a fixed pace, however many users the session has`() throws {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let session = InjectedSession(activationError: WCError(.genericError))
        let links = ["a", "b"].map { WatchConnectivityLink(session, channel: $0, clock: pair.clock) }
        for link in links { try link.open(End(pair.phone)) }
        pair.advance(by: .seconds(240))
        #expect((20...30).contains(session.activationCount.withLock { $0 }))
    }

    @Test func `A failed transfer is repeated`() throws {
        let ends = try Ends()
        ends.pair.watch.isDiskFull = true
        for value in 1...3 as ClosedRange<UInt8> { try ends.phone.send(.queue, [value]) }
        ends.pair.advance(by: .seconds(5))
        #expect(!ends.watch.calls.contains { $0.hasPrefix("queue") })
        ends.pair.watch.isDiskFull = false
        ends.pair.advance(by: .seconds(40))
        #expect(ends.watch.calls.filter { $0.hasPrefix("queue") }.sorted() == ["queue 1", "queue 2", "queue 3"])
    }

    @Test func `A successful transfer brings failed ones forward`() throws {
        let ends = try Ends()
        ends.pair.watch.isDiskFull = true
        try ends.phone.send(.queue, [1])
        ends.pair.advance(by: .seconds(65))
        ends.pair.watch.isDiskFull = false
        try ends.phone.send(.queue, [2])
        ends.pair.advance(by: .seconds(5))
        #expect(ends.watch.calls.filter { $0.hasPrefix("queue") }.sorted() == ["queue 1", "queue 2"])
    }

    @Test func `Packets that an earlier launch queued are delivered once, or cancelled if a store offers them again`()
        throws
    {
        for cancels in [false, true] {
            let ends = try Ends()
            ends.pair.watch.isInRange = false
            try ends.phone.send(.queue, [1])
            ends.pair.advance(by: .seconds(1))
            ends.phone.link = nil
            ends.pair.phone.kill()
            try ends.launch(ends.phone, launch: 9, cancelsOutstanding: cancels)
            ends.pair.advance(by: .seconds(1))
            ends.pair.watch.isInRange = true
            ends.pair.advance(by: .seconds(5))
            #expect(ends.watch.calls.filter { $0.hasPrefix("queue") } == (cancels ? [] : ["queue 1"]))
        }
    }

    @Test func `Packets up to the limits are accepted, larger ones rejected`() throws {
        let ends = try Ends()
        for lane in ends.phone.lanes {
            let bytes = [UInt8](repeating: 7, count: lane.value.bytes + 1)
            #expect(throws: LinkError(.oversized)) { try ends.phone.send(lane.key, bytes) }
            try ends.phone.send(lane.key, Array(bytes.dropLast()))
        }
        ends.pair.advance(by: .seconds(1))
        #expect(Set(ends.watch.calls.suffix(3)) == ["datagram 7", "queue 7", "latest 7"])
    }

    @Test(arguments: ["other", "/k"])
    func `Links of two channels share a session and get their own packets`(channel: String) throws {
        let ends = try Ends()
        let (phone, watch) = (End(ends.pair.phone), End(ends.pair.watch))
        try ends.launch(phone, launch: 3, channel: channel, isRunning: true)
        try ends.launch(watch, launch: 4, channel: channel, isRunning: true)
        ends.pair.advance(by: .milliseconds(100))
        for lane in phone.lanes.keys {
            try phone.send(lane, [1])
            try ends.phone.send(lane, [2])
        }
        ends.pair.advance(by: .seconds(1))
        #expect(Set(watch.calls.suffix(3)) == ["datagram 1", "queue 1", "latest 1"])
        #expect(Set(ends.watch.calls.suffix(3)) == ["datagram 2", "queue 2", "latest 2"])
    }
}

/// A link on each device, and the events that it reports.
final class Ends {
    let pair: SimulatedWatchPair
    let phone: End
    let watch: End

    init(watches: Int = 1) throws {
        pair = SimulatedWatchPair(seed: 1, conditions: .ideal, watches: watches)
        (phone, watch) = (End(pair.phone), End(pair.watch))
        try launch(phone, launch: 1)
        try launch(watch, launch: 2)
        pair.advance(by: .seconds(1))
    }

    func launch(
        _ end: End, launch: UInt32, channel: String = "", cancelsOutstanding: Bool = false, isRunning: Bool = false
    ) throws {
        guard let session = isRunning ? end.device.session : end.device.launch() else { throw World.NotInstalled() }
        let link = WatchConnectivityLink(
            session, channel: channel, cancelsOutstanding: cancelsOutstanding, clock: pair.clock, launch: launch)
        end.link = link
        try link.open(end)
    }
}

final class End: LinkObserver {
    private struct Record {
        var calls: [String] = []
        var address: LinkAddress?
        var link: WatchConnectivityLink?
    }

    let device: SimulatedDevice
    private let record = Locked(Record())

    init(_ device: SimulatedDevice) { self.device = device }

    var calls: [String] { record.withLock { $0.calls } }
    /// The address found last.
    var address: LinkAddress? { record.withLock { $0.address } }
    var link: WatchConnectivityLink? {
        get { record.withLock { $0.link } }
        set {
            let old = record.withLock { record in
                defer { record.link = newValue }
                return record.link
            }
            withExtendedLifetime(old) {}
        }
    }
    var lanes: [LinkLane: PayloadLimit] { link?.lanes ?? [:] }

    func send(_ lane: LinkLane, _ bytes: [UInt8], to address: LinkAddress? = nil, key: String = "k") throws {
        guard let address = address ?? self.address, let link else { throw World.NotInstalled() }
        try link.send(LinkPacket(lane: lane, bytes: bytes, key: lane == .latest ? key : ""), to: address)
    }

    private func note(_ text: String, _ address: LinkAddress? = nil) {
        record.withLock { record in
            record.calls.append(text)
            if let address { record.address = address }
        }
    }

    func found(_ address: LinkAddress, as peerID: String?) { note("found", address) }
    func connected(_ address: LinkAddress, as peerID: String?) { note("connected") }
    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
        note("\(lane.rawValue) \(bytes.first ?? 0)")
    }
    func undelivered(_ packet: LinkPacket, to address: LinkAddress) { note("undelivered") }
    func writable(_ address: LinkAddress) { note("writable") }
    func disconnected(_ address: LinkAddress, reason: String?) { note("disconnected") }
    func failed(_ reason: String) { note("failed") }
}
