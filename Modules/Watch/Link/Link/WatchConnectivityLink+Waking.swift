import Foundation
import MeshBase
import MeshTransport

#if canImport(WatchConnectivity)
    import WatchConnectivity
#else
    import MeshSimulatedWatch
#endif

// Wakes the watch app for urgent packets. A packet always goes by its own lane. A wake is a copy of what waits there, in
// a user info for the complication: the system puts it ahead of the queue, and starts the watch app with it. So nothing
// depends on a wake, and without budget the queue delivers alone.
//
// A wake carries the urgent packets and those that wait before them, in order, as far as they fit. An event can't be
// applied without its sender's earlier ones. The receiver drops the second copy of a packet.
//
// An app that the system has just launched may not have made its features when the wake arrives, and what came before it.
// They would miss the best-effort messages. So just after a launch all of it is passed on once more, and both copies of a
// packet count: delivery and the features drop the second one.
//
// Packets that are due together share a wake. Another one follows no sooner than five seconds after the last has arrived.
// A packet that has left the queue may still need it: the system says so once the watch has the packet, and its app may be
// suspended.

/// The urgent packets for one address that no wake has carried yet.
struct PendingWake {
    /// Urgent packets of the lane `queue`. At most as many as user infos may be in transfer, as each is one.
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
    /// The time in which urgent packets gather for one wake.
    static let gatheringTime = Duration.milliseconds(100)
    /// The time from the arrival of a wake to the next one. Urgent packets gather meanwhile.
    static let wakeInterval = Duration.seconds(5)
    /// The time after a launch in which both copies of a packet count.
    static let launchTime = Duration.seconds(10)
    /// The time after which a launched app has made its features, and gets the packets of a wake once more.
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

    /// Notes an urgent packet and plans a wake, unless there is no budget: then its own lane delivers it.
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
            // A wake that hasn't arrived yet, because the watch is away, is as good as two. `wakeHasEnded` goes on.
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

    /// Goes on with packets that became urgent while a wake was on its way.
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

    /// Takes the packets of a wake, as if the queue had delivered them.
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

/// Packets that came by a wake and are still to come by the queue, and the last ones that came by the queue and may come
/// by a wake. Bounded: a copy of a forgotten packet is delivered twice, and delivery or the engine drops it.
struct WakeDuplicates {
    /// Maximum number of bytes of packets that came by wakes.
    static let wokenBytesMax = 1 << 20
    /// Maximum number of bytes of packets that came by the queue. The system queue is at most one packet ahead of a wake.
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

    /// Bounds the number of packets too, because each look compares with all.
    private static func cost(_ packet: Data) -> Int { packet.count + 256 }
}
