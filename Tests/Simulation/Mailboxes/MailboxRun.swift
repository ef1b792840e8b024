import MeshBase
import MeshMailbox
import MeshResume
import MeshResumeGateway
import MeshVirtualTime

/// One seed of devices that write into each other's mailboxes at two gateway processes with one store, in virtual time.
/// Connections drop on one side or on both, notices are lost, gateways are killed, and the store is down, slow or
/// emptied.
///
/// Each receiver gets the accepted messages of each sender in order. Messages acknowledged before the store lost
/// everything may be missing. In the end each device knows that the others are present, and has their newest values.
struct MailboxRun: GatewayRun {
    struct Faults {
        var losesStore = true
        /// True if gateways perform a connection's later posts after a write has failed.
        var writesOn = false
        /// True if devices forget unanswered messages when a connection ends.
        var forgetsHeld = false
        /// True if receivers' seals open overtaken messages.
        var opensOvertaken = false
        /// True if a store that has lost everything counts from 1 again, in the same epoch.
        var keepsEpoch = false
        /// True if the last device forges frames.
        var hasLiar = false
    }

    enum Step: GatewayStep {
        case post(device: Int)
        case dial(device: Int)
        case deviceTick(Int)
        case gatewayTick
        case toGateway(key: Int, [UInt8])
        case toDevice(key: Int, [UInt8])
        case answer(key: Int, MailboxDirective)
        case write(key: Int)
        case notice(ReplayNotice, gateway: Int)
        case word(MailboxWord, gateway: Int)
        case deviceDisconnects(key: Int)
        case gatewayDisconnects(key: Int)
        case fault
        /// A device sends many messages to a slow store, which is emptied meanwhile. The device misses the answers.
        case sendBurst(device: Int)
        case cut(key: Int)
        case emptying
    }

    struct Device {
        let id: MailboxID
        var core = MailboxClientCore()
        var key: Int?
        /// The peers' presence as reported to this process.
        var presences: [MailboxID: [UInt8]] = [:]
    }

    /// The messages from one device to another.
    struct Exchange {
        /// Numbers of the queued messages that the sender's core accepted.
        var accepted: [Int] = []
        /// Numbers of messages that may be missing because the store was emptied. It lost them after its answer, or it
        /// had forgotten the receiver's admission and rejected them.
        var excused: Set<Int> = []
        var answered: Set<Int> = []
        var received: Set<Int> = []
        var newest = -1
        var latest: Int?
        var latestIsExcused = false
        var latestIsAnswered = false
        var shown: Int?
    }

    var random: SplitMix64
    let faults: Faults
    var queue = EventQueue<Step>()
    var now: UInt64 = 0
    var devices: [Device] = []
    var gateways: [MailboxCore] = []
    /// The number of times that each gateway serves each stream. A gateway is notified only of streams that it serves.
    var served: [[String: Int]] = []
    var store: MailboxContents
    var pipes: [Int: GatewayPipe] = [:]
    /// The writes that a connection's gateway must perform, in order, by connection.
    var writes: [Int: [MailboxWrite]] = [:]
    /// Connections that had a failed write.
    var failedKeys: Set<Int> = []
    var exchanges: [[Exchange]] = []
    var keyCount = 0
    var postCount = 0
    var receivedCount = 0
    var refusedCount = 0
    var areFaultsOver = false
    /// The time at which the emptied store received each device's admissions again; nil before that. 0 if the store was
    /// never emptied.
    var admittedAt: [UInt64?] = Array(repeating: 0, count: deviceCount)
    var downUntil: UInt64 = 0
    var slowUntil: UInt64 = 0
    var faultCounts: [String: Int] = [:]
    var complaint: String?

    init(seed: UInt64, _ faults: Faults) {
        random = SplitMix64(seed: seed)
        self.faults = faults
        store = MailboxContents(Self.limits, seed: 1)
        store = makeStore()
        devices = (0..<Self.deviceCount).compactMap { index in
            MailboxID(bytes: [UInt8](repeating: UInt8(index + 1), count: MailboxID.byteCount)).map { Device(id: $0) }
        }
        exchanges = Array(
            repeating: Array(repeating: Exchange(), count: devices.count), count: devices.count)
        for _ in 0..<2 {
            gateways.append(makeGateway())
            served.append([:])
        }
        for index in devices.indices {
            enter(.dial(device: index), within: 2000)
            enter(.deviceTick(index), within: 250)
            for _ in 0..<60 { enter(.post(device: index), within: 120_000) }
        }
        for _ in 0..<50 { enter(.fault, within: 120_000) }
        if seed % 4 == 0 { for index in devices.indices { enter(.sendBurst(device: index), within: 110_000) } }
        enter(.gatewayTick, within: 1000)
    }

    static let deviceCount = 3
    static let limits = ReplayLimits(count: 100_000, bytes: .max, age: .seconds(1_000_000))

    /// Devices whose messages are checked.
    var honest: Range<Int> { 0..<(faults.hasLiar ? Self.deviceCount - 1 : Self.deviceCount) }

    /// - Returns: The failure, or nil.
    mutating func run() -> String? {
        playFaults()
        // Posts again, now that every device knows its peers' mailboxes.
        for index in devices.indices { for _ in 0..<3 { post(from: index) } }
        runUntil(milliseconds: 500_000)
        check()
        return complaint
    }

    private mutating func check() {
        for sender in honest {
            for receiver in honest where sender != receiver && complaint == nil {
                let exchange = exchanges[sender][receiver]
                let missing = exchange.accepted.filter {
                    !exchange.received.contains($0) && !exchange.excused.contains($0)
                }
                if let first = missing.first {
                    complaint = "device \(receiver) never received message \(first) of device \(sender)"
                }
                if let latest = exchange.latest, exchange.shown != latest, !exchange.latestIsExcused {
                    complaint =
                        "device \(receiver) shows \(exchange.shown as Any) of device \(sender), not \(latest)"
                }
                if devices[receiver].presences[devices[sender].id]?.first != 1 {
                    complaint = "device \(receiver) doesn't know that device \(sender) is present"
                }
            }
        }
    }

    func makeGateway() -> MailboxCore {
        var settings = MailboxSettings()
        settings.pageEntries = 7
        settings.unsentBytesMax = 600
        settings.writesMax = 8
        // Another module checks proofs, and its tests cover them.
        return MailboxCore(settings) { key, signature, _ in key == signature ? MailboxID(bytes: key) : nil }
    }

    mutating func makeStore() -> MailboxContents {
        MailboxContents(Self.limits, seed: faults.keepsEpoch ? 1 : random.next())
    }
}

// MARK: - Devices

extension MailboxRun {
    mutating func take(_ step: Step) {
        switch step {
        case .post(let device): post(from: device)
        case .dial(let device): dial(device)
        case .deviceTick(let device):
            if let due = devices[device].core.dueAt, due <= time { devices[device].core.tick(time) }
            carryOut(device: device)
            queue.enter(.deviceTick(device), at: now + 250_000_000)
        case .gatewayTick:
            for index in gateways.indices {
                gateways[index].tick(time)
                carryOut(gateway: index)
            }
            queue.enter(.gatewayTick, at: now + 1_000_000_000)
        case .toGateway(let key, let bytes):
            guard let pipe = pipes[key], pipe.isUp else { return }
            gateways[pipe.gateway].receive(bytes, on: key, time)
            carryOut(gateway: pipe.gateway)
        case .toDevice(let key, let bytes): deliver(bytes, key)
        case .answer(let key, let question): answer(key, question)
        case .write(let key): writeNext(key)
        case .notice(let notice, let gateway):
            gateways[gateway].noticed(notice, time)
            carryOut(gateway: gateway)
        case .word(let word, let gateway):
            gateways[gateway].changed(word, time)
            carryOut(gateway: gateway)
        case .deviceDisconnects(let key): deviceDisconnects(key: key)
        case .gatewayDisconnects(let key):
            guard let pipe = pipes[key] else { return }
            gateways[pipe.gateway].remove(key)
            carryOut(gateway: pipe.gateway)
        case .fault: if !areFaultsOver { injectFault() }
        case .sendBurst(let device): sendBurst(device)
        case .cut(let key): cut(key)
        case .emptying: loseStore()
        }
    }

    mutating func post(from device: Int) {
        if !honest.contains(device) { return postLies(from: device) }
        let receiver = (device + 1 + Int(random.upTo(UInt64(devices.count - 2)))) % devices.count
        let isLatest = random.happens(rate: 0.3)
        // A device has no key of a peer that it hasn't heard from.
        guard devices[device].presences[devices[receiver].id] != nil else { return }
        postCount += 1
        let number = postCount
        let bytes = withUnsafeBytes(of: UInt64(number).bigEndian) { Array($0) }
        let taking = devices[device].core.post(
            bytes, to: devices[receiver].id, on: isLatest ? .latest : .queue, key: isLatest ? "k" : "", isHeld: true,
            time)
        carryOut(device: device)
        guard taking == .taken else { return }
        if isLatest {
            exchanges[device][receiver].latest = number
            (exchanges[device][receiver].latestIsExcused, exchanges[device][receiver].latestIsAnswered) = (false, false)
        } else {
            exchanges[device][receiver].accepted.append(number)
        }
    }

    private mutating func dial(_ device: Int) {
        guard devices[device].key == nil else { return }
        keyCount += 1
        let key = keyCount
        devices[device].key = key
        pipes[key] = GatewayPipe(device: device, gateway: Int(random.upTo(1)))
        devices[device].core.connected(time)
        let challenge = (0..<MailboxFrame.challengeByteCount).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        gateways[pipes[key]?.gateway ?? 0].open(key, challenge: challenge, time)
        if let pipe = pipes[key] { carryOut(gateway: pipe.gateway) }
    }

    private mutating func deliver(_ bytes: [UInt8], _ key: Int) {
        guard let pipe = pipes[key], pipe.isUp else { return }
        gateways[pipe.gateway].flushed(bytes.count, on: key, time)
        carryOut(gateway: pipe.gateway)
        guard devices[pipe.device].key == key else { return }
        devices[pipe.device].core.received(bytes, time)
        carryOut(device: pipe.device)
    }

    mutating func deviceDisconnects(key: Int) {
        guard let pipe = pipes[key] else { return }
        pipes[key]?.isUp = false
        gateways[pipe.gateway].remove(key)
        carryOut(gateway: pipe.gateway)
        guard devices[pipe.device].key == key else { return }
        devices[pipe.device].key = nil
        devices[pipe.device].core.disconnected()
        if faults.forgetsHeld { devices[pipe.device].core = MailboxClientCore() }
        enter(.dial(device: pipe.device), within: 3000)
    }

    mutating func carryOut(device: Int) {
        var directives = devices[device].core.takeDirectives()
        while !directives.isEmpty {
            switch directives.removeFirst() {
            case .send(let bytes):
                guard let key = devices[device].key else { break }
                if !honest.contains(device) { sendLies(like: bytes, key) }
                send(.toGateway(key: key, bytes), key, up: true)
            case .prove:
                let id = devices[device].id.bytes
                devices[device].core.open(
                    MailboxOpening(token: "user", publicKey: id, signature: id, will: [0]), time)
            case .opened:
                devices[device].core.follow(devices.map(\.id).filter { $0 != devices[device].id }, time)
            case .following:
                _ = devices[device].core.post(
                    [1], to: devices[device].id, on: .presence, isHeld: true, time)
            case .presence(let id, let bytes): devices[device].presences[id] = bytes
            case .received(let packet): received(packet, device)
            case .writable: break
            case .refused(let post, let reason): refused(post, reason, device)
            case .drop:
                if let key = devices[device].key {
                    cut(key, deviceKnows: false)
                    deviceDisconnects(key: key)
                }
            }
            directives += devices[device].core.takeDirectives()
        }
    }

    /// Checks a rejected message. The gateway may reject it only if the store was emptied and has forgotten which peers
    /// the receiver admits. The receiver then sends its admissions again. That may need several connections, and a
    /// device notices only after a minute that one is dead.
    private mutating func refused(_ post: MailboxPost, _ reason: String, _ sender: Int) {
        guard let receiver = devices.firstIndex(where: { $0.id == post.to }), honest.contains(sender),
            honest.contains(receiver)
        else { return }
        if let admittedAt = admittedAt[receiver], admittedAt == 0 || now - admittedAt > 120_000_000_000 {
            complaint = "device \(sender) was rejected by device \(receiver) at \(time): \(reason)"
            return
        }
        refusedCount += 1
        if post.lane == .queue {
            exchanges[sender][receiver].excused.insert(post.bytes.reduce(0) { $0 << 8 | Int($1) })
        } else {
            exchanges[sender][receiver].latestIsExcused = true
        }
    }

    private mutating func received(_ packet: MailboxPacket, _ receiver: Int) {
        guard let sender = devices.firstIndex(where: { $0.id == packet.from }) else {
            complaint = "device \(receiver) hears of a device that doesn't exist"
            return
        }
        guard honest.contains(sender), honest.contains(receiver) else { return }
        let number = packet.bytes.reduce(0) { $0 << 8 | Int($1) }
        if packet.lane == .latest {
            guard number <= postCount else { return misattribute(number, sender, receiver) }
            exchanges[sender][receiver].shown = max(number, exchanges[sender][receiver].shown ?? 0)
            return
        }
        let isOvertaken = number < exchanges[sender][receiver].newest
        guard exchanges[sender][receiver].accepted.contains(number) else {
            return misattribute(number, sender, receiver)
        }
        // Drops duplicates and overtaken messages, as the counter of a real receiver's seal does. A message is
        // overtaken if the store lost it and its sender repeats it, because no answer had arrived. So a wrong order
        // shows as a missing message.
        guard !isOvertaken || faults.opensOvertaken,
            exchanges[sender][receiver].received.insert(number).inserted
        else { return }
        receivedCount += 1
        if isOvertaken {
            complaint =
                "device \(receiver) receives message \(number) of device \(sender) after "
                + "\(exchanges[sender][receiver].newest), at \(time)"
        }
        exchanges[sender][receiver].newest = number
    }
}
