import Foundation
import MeshBase
import MeshTransport

#if canImport(WatchConnectivity)
    import WatchConnectivity
#else
    import MeshSimulatedWatch
#endif

// Wakes the watch app for urgent packets. Every packet goes by its own lane. A wake carries copies of packets, in a
// user info for the complication: the system puts it ahead of the queue, and launches the watch app to receive it. So
// no packet depends on a wake. When the day's budget is used up, the queue delivers alone.
//
// A wake carries the urgent packets and those that wait before them, in order, as far as they fit. An event can't be
// applied without its sender's earlier ones. The receiver drops the second copy of a packet.
//
// An app that the system has just launched may not have created its features when the wake and earlier packets arrive.
// The features would miss the best-effort messages. So shortly after a launch the link passes these packets on a second
// time. It doesn't drop second copies then: delivery and the features do.
//
// Packets that are due together share a wake. The next wake follows at least five seconds after the last one has
// arrived. A packet that has left the queue may still need a wake: the system takes it off the queue once the watch has
// it, but the watch app may be suspended.

/// The urgent packets for one address that no wake has carried yet.
struct PendingWake {
    /// Urgent packets of the lane `queue`. Bounded by `transfersMax`, because each is also sent as a user info.
    var urgent: [Data] = []
    /// Urgent packets of the lane `latest`, by key.
    var urgentLatest: [String: Data] = [:]
    /// True if a wake is planned.
    var isPlanned = false
    /// The time from which the next wake may follow the last one.
    var earliest = Duration.zero

    var isEmpty: Bool { urgent.isEmpty && urgentLatest.isEmpty }

    mutating func takePackets() -> (queued: [Data], latest: [Data]) {
        defer { (urgent, urgentLatest) = ([], [:]) }
        return (urgent, urgentLatest.sorted { $0.key < $1.key }.map(\.value))
    }
}

extension WatchConnectivityLink {
    /// The time for which urgent packets are collected for one wake.
    static let gatheringTime = Duration.milliseconds(100)
    /// The minimum time from the arrival of a wake to the next wake. Urgent packets are collected in between.
    static let wakeInterval = Duration.seconds(5)
    /// The time after a launch in which second copies of packets are passed on.
    static let launchTime = Duration.seconds(10)
    /// The time after which a launched app should have created its features. The link then passes the packets of a wake
    /// on again.
    static let featuresTime = Duration.seconds(2)
    /// Overhead of a packet in a wake's property list, rounded up: a marker with a length, an offset and a reference.
    private static let packetOverhead = 32

    /// The number of complication transfers left today, on a phone whose watch face shows the app's complication.
    /// Otherwise 0; nil on a watch, whose messages wake the phone app anyway.
    public var remainingWakes: Int? {
        #if os(watchOS)
            nil
        #else
            session.activationState == .activated ? session.remainingComplicationUserInfoTransfers : 0
        #endif
    }

    /// Notes an urgent packet and plans a wake. Does nothing without budget: the packet's own lane then delivers it.
    func planWake(of address: LinkAddress, _ note: (inout PendingWake) -> Void) {
        guard remainingWakes ?? 0 > 0 else { return }
        state.withLock { state in
            guard var wake = state.addressStates[address]?.wake else { return }
            note(&wake)
            state.addressStates[address]?.wake = wake
        }
        scheduleWake(of: address)
    }

    private func scheduleWake(of address: LinkAddress) {
        let now = clock.elapsed
        let dueAt: Duration? = state.withLock { state in
            guard let wake = state.addressStates[address]?.wake, !wake.isEmpty, !wake.isPlanned else { return nil }
            state.addressStates[address]?.wake.isPlanned = true
            return max(now + Self.gatheringTime, wake.earliest)
        }
        guard let dueAt else { return }
        clock.wake(at: dueAt) { [weak self] in self?.wake(address) }
    }

    /// Wakes the watch app with the urgent packets and those that wait.
    private func wake(_ address: LinkAddress) {
        #if !os(watchOS)
            let outstanding = session.outstandingUserInfoTransfers
            // While a wake is in transfer, for example because the watch is away, another one adds nothing.
            // `wakeHasEnded` schedules the next.
            let isUnderWay = outstanding.contains { $0.userInfo[names.wakeKey] != nil }
            let remaining = remainingWakes ?? 0
            let now = clock.elapsed
            let due: (queued: [Data], latest: [Data])? = state.withLock { state in
                state.addressStates[address]?.wake.isPlanned = false
                guard state.phase == .open, state.address == address, state.isActive, !isUnderWay else { return nil }
                return state.addressStates[address]?.wake.takePackets()
            }
            guard let due, remaining > 0 else { return }
            let waiting = outstanding.compactMap { $0.userInfo[names.key] as? Data }
            let packets = Self.packets(of: waiting, urgent: due.queued, latest: due.latest)
            state.withLock { $0.addressStates[address]?.wake.earliest = now + Self.wakeInterval }
            session.transferCurrentComplicationUserInfo(names.wake(with: packets))
        #endif
    }

    /// Schedules a wake for the packets that became urgent while the last wake was in transfer.
    func wakeHasEnded() {
        let now = clock.elapsed
        let address = state.withLock { state -> LinkAddress? in
            guard let address = state.lastAddress else { return nil }
            state.addressStates[address]?.wake.earliest = now + Self.wakeInterval
            return address
        }
        if let address { scheduleWake(of: address) }
    }

    /// Chooses the packets of a wake: the urgent ones and the newest values, then those that wait before them, oldest
    /// first, as far as they fit. They keep their order.
    static func packets(of waiting: [Data], urgent: [Data], latest: [Data]) -> [Data] {
        var space = PayloadLimit.watchConnectivityUserInfo.bytes
        func fits(_ packet: Data) -> Bool {
            guard packet.count + packetOverhead <= space else { return false }
            space -= packet.count + packetOverhead
            return true
        }
        let isUrgent = Set(urgent)
        let end = waiting.lastIndex { isUrgent.contains($0) }.map { $0 + 1 } ?? 0
        let before = Set(waiting[..<end])
        let all = waiting[..<end] + urgent.filter { !before.contains($0) }
        var isChosen = all.map { isUrgent.contains($0) && fits($0) }
        let values = latest.filter(fits)
        for index in isChosen.indices where !isUrgent.contains(all[index]) {
            guard fits(all[index]) else { break }
            isChosen[index] = true
        }
        return zip(all, isChosen).filter(\.1).map(\.0) + values
    }

    // MARK: Receiving

    /// Passes on the packets of a wake, as if the queue had delivered them.
    func takeWake(_ packets: [Data]) {
        let launchAge = clock.elapsed - state.withLock { $0.openedAt }
        pass(packets, countsBoth: launchAge < Self.launchTime)
        guard launchAge < Self.featuresTime else { return }
        clock.wake(at: clock.elapsed + Self.featuresTime) { [weak self] in self?.passAgain(packets) }
    }

    private func passAgain(_ packets: [Data]) {
        let queued = state.withLock { state in
            state.address.flatMap { state.addressStates[$0]?.duplicates.newest } ?? []
        }
        let known = Set(packets)
        pass(queued.filter { !known.contains($0) } + packets, countsBoth: true)
    }

    private func pass(_ packets: [Data], countsBoth: Bool) {
        state.withLock { state in
            guard let address = state.address else { return }
            for packet in packets
            where countsBoth || state.addressStates[address]?.duplicates.isNew(inWake: packet) ?? true {
                notify { $0.received([UInt8](packet), on: .queue, from: address) }
            }
        }
        calls.run()
    }
}

/// Detects the second copy of a packet that travels both in a wake and in the queue. Remembers the packets that came in
/// a wake until the queue brings them too, and the last packets that the queue brought. Bounded: the second copy of a
/// forgotten packet is passed on, and delivery or the engine drops it.
struct WakeDuplicates {
    /// Maximum number of bytes of packets that came by wakes.
    static let wokenBytesMax = 1 << 20
    /// Maximum number of bytes of packets that came by the queue. The system's queue is at most one packet ahead of a
    /// wake.
    static let queuedBytesMax = 1 << 16

    private var woken = RecentPackets(bytesMax: wokenBytesMax)
    private var queued = RecentPackets(bytesMax: queuedBytesMax)

    /// The last packets that came by the queue, oldest first.
    var newest: [Data] { queued.packets }

    /// Returns false for the queue's copy of a packet that a wake has brought.
    mutating func isNew(_ packet: Data) -> Bool {
        if woken.remove(packet) { return false }
        queued.add(packet)
        return true
    }

    /// Returns false for a wake's copy of a packet that the queue has brought.
    mutating func isNew(inWake packet: Data) -> Bool {
        if woken.contains(packet) || queued.remove(packet) { return false }
        woken.add(packet)
        return true
    }
}

/// The last packets, up to a number of bytes.
private struct RecentPackets {
    let bytesMax: Int
    private(set) var packets: [Data] = []
    private var bytes = 0

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    func contains(_ packet: Data) -> Bool { packets.contains(packet) }

    mutating func add(_ packet: Data) {
        packets.append(packet)
        bytes += Self.cost(packet)
        while bytes > bytesMax { bytes -= Self.cost(packets.removeFirst()) }
    }

    mutating func remove(_ packet: Data) -> Bool {
        guard let index = packets.firstIndex(of: packet) else { return false }
        bytes -= Self.cost(packets.remove(at: index))
        return true
    }

    /// Bounds the number of packets too, because each lookup compares with all of them.
    private static func cost(_ packet: Data) -> Int { packet.count + 256 }
}
