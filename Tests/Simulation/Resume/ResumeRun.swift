import Foundation
import MeshBase
import MeshResume
import MeshResumeGateway
import MeshVirtualTime

/// One seed of clients, two gateway processes and one buffer in virtual time. Connections drop on one side or on both,
/// frames are lost, and processes are killed. The store is down, slow, empty or behind.
///
/// Each app stores the events that it has seen together with its cursor. It must see every event of its user once and
/// in order, from where it began. It may start over only if the buffer has lost something since.
struct ResumeRun: GatewayRun {
    struct Faults {
        var clients = 6
        var losesBuffer = true
        /// True if a store that failed over to older contents continues from them as if nothing were missing.
        var ignoresFence = false
        /// K20: true if a buffer that has lost its events counts from 1 again, in the same epoch.
        var keepsEpoch = false
    }

    enum Step: GatewayStep {
        case append(user: Int)
        case open(client: Int)
        case clientTick(Int)
        case gatewayTick
        case toGateway(key: Int, [UInt8])
        case toClient(key: Int, [UInt8])
        case answer(key: Int, GatewayDirective)
        case notice(ReplayNotice, gateway: Int)
        case clientDisconnects(key: Int, CloseCode?)
        case gatewayDisconnects(key: Int)
        case fault

        static func deviceDisconnects(key: Int) -> Self { .clientDisconnects(key: key, nil) }
    }

    struct Client {
        let user: Int
        var core: ResumeCore
        var stored: SessionSnapshot?
        var policy: ReconnectPolicy
        var key: Int?
        /// The number of the newest event that the app knows.
        var known: Int?
        var seenCount = 0
        /// The number of buffer losses before the epoch in which the app last started.
        var begunAt = 0
        var tickAt: Duration?
        var retryAfter = Duration.zero
    }

    var random: SplitMix64
    /// Random numbers for the events that apps fail to process. Separate, so that a seed's other faults don't change.
    var appRandom: SplitMix64
    let faults: Faults
    var queue = EventQueue<Step>()
    var now: UInt64 = 0
    var gateways: [GatewayCore] = []
    var buffer: ReplayContents
    var lossCount = 0
    var clients: [Client] = []
    var pipes: [Int: GatewayPipe] = [:]
    var keyCount = 0
    var appended: [Int] = []
    /// The number of the event at each position of a user's stream. A key has the user, the number of losses and the
    /// sequence.
    var places: [String: Int] = [:]
    /// The number of events that each stream had when a buffer was created. The index is the number of losses so far.
    var baselines: [[Int]] = []
    /// The number of losses before each epoch of a buffer.
    var lossByEpoch: [UInt64: Int] = [:]
    var areFaultsOver = false
    var downUntil: UInt64 = 0
    var slowUntil: UInt64 = 0
    /// Earlier contents of the store.
    var older: ReplayContents?
    var faultCounts: [String: Int] = [:]
    var complaint: String?
    static let limits = ReplayLimits(count: 100_000, bytes: .max, age: .seconds(1_000_000))

    init(seed: UInt64, _ faults: Faults) {
        random = SplitMix64(seed: seed)
        appRandom = SplitMix64(seed: ~seed)
        self.faults = faults
        buffer = ReplayContents(Self.limits, seed: seed)
        appended = Array(repeating: 0, count: max(3, faults.clients / 10))
        baselines = [appended]
        buffer = makeBuffer()
        for _ in 0..<2 { gateways.append(makeGateway()) }
        for index in 0..<faults.clients {
            let user = index % appended.count
            clients.append(
                Client(
                    user: user, core: makeClientCore(),
                    policy: ReconnectPolicy(from: .seconds(1), to: .seconds(8), seed: random.next())))
            enter(.open(client: index), within: 2000)
        }
        for _ in 0..<faults.clients * 10 { enter(.fault, within: 120_000) }
        let users = UInt64(appended.count - 1)
        for _ in 0..<appended.count * 50 { enter(.append(user: Int(random.upTo(users))), within: 120_000) }
        enter(.gatewayTick, within: 1000)
    }

    /// - Returns: The failure, or nil.
    mutating func run() -> String? {
        playFaults()
        // A new event must also make a client fetch the events that it missed.
        for user in appended.indices { append(to: user) }
        runUntil(milliseconds: 600_000)
        for (index, client) in clients.enumerated() where complaint == nil {
            if client.known != appended[client.user] {
                complaint =
                    "client \(index) knows \(client.known as Any) of \(appended[client.user]): "
                    + "\(client.core.state)"
            }
        }
        return complaint
    }

    mutating func makeGateway() -> GatewayCore {
        var settings = GatewaySettings()
        settings.pageEntries = 7
        settings.unsentBytesMax = 400
        settings.framesAtOnce = 10_000
        // With more clients, a gateway admits proportionally more handshakes.
        let crowd = max(1, faults.clients / 6)
        let admission = GatewayAdmission(perSecond: 2 * Double(crowd), atOnce: 4 * crowd)
        return GatewayCore(settings, admission: admission, seed: random.next())
    }

    mutating func makeClientCore() -> ResumeCore {
        ResumeCore(
            .init(
                configuration: .init(sequencing: .contiguous, acknowledgement: .byApp),
                properties: ClientProperties(platform: "t", appVersion: "", osVersion: "", deviceName: ""),
                writeDelay: .zero), seed: random.next())
    }
}

// MARK: - Steps

extension ResumeRun {
    mutating func take(_ step: Step) {
        switch step {
        case .append(let user): append(to: user)
        case .open(let client): open(client)
        case .clientTick(let client):
            clients[client].tickAt = nil
            clients[client].core.tick(time)
            carryOut(client)
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
        case .toClient(let key, let bytes): deliver(bytes, key)
        case .answer(let key, let question): answer(key, question)
        case .notice(let notice, let gateway):
            gateways[gateway].noticed(notice, time)
            carryOut(gateway: gateway)
        case .clientDisconnects(let key, let code): clientDisconnects(key: key, code)
        case .gatewayDisconnects(let key):
            guard let pipe = pipes[key] else { return }
            gateways[pipe.gateway].remove(key)
            carryOut(gateway: pipe.gateway)
        case .fault: if !areFaultsOver { injectFault() }
        }
    }

    mutating func append(to user: Int) {
        // While the store is down, the publisher gets no answer, but some events are stored anyway.
        if now < downUntil, !random.happens(rate: 0.3) { return }
        appended[user] += 1
        guard let event = try? ReplayEvent(type: "EVENT", json: Array("{\"id\":\(appended[user])}".utf8)) else {
            return
        }
        let notice = buffer.append(event, to: "user\(user)", time)
        places["\(user)/\(lossCount)/\(notice.entry.sequence)"] = appended[user]
        for gateway in gateways.indices where areFaultsOver || !random.happens(rate: 0.1) {
            let delay = max(downUntil, slowUntil, now) - now
            enter(.notice(notice, gateway: gateway), within: 50 + delay / 1_000_000)
        }
    }

    private mutating func injectFault() {
        let client = Int(random.upTo(UInt64(clients.count - 1)))
        switch random.upTo(99) {
        case 0..<50: cutClient(client)
        case 50..<65: killApp(client)
        case 65..<80 where happensToAll(): killGateway(Int(random.upTo(1)))
        case 80..<83 where happensToAll(): if faults.losesBuffer { loseBuffer() }
        case 83..<86 where happensToAll(): if faults.losesBuffer { older = buffer }
        case 86..<89 where happensToAll(): if faults.losesBuffer { goBack() }
        case 89..<93 where happensToAll(): stopStore()
        case 93..<97 where happensToAll(): slowStore()
        case 97... where happensToAll():
            count("gateways shut down")
            for index in gateways.indices {
                gateways[index].shutDown(spread: .seconds(3), time)
                carryOut(gateway: index)
            }
        default: break
        }
    }

    /// True at random. Keeps faults that hit all clients as frequent with a thousand clients as with six.
    private mutating func happensToAll() -> Bool { random.happens(rate: 6 / Double(clients.count)) }

    private mutating func cutClient(_ client: Int) {
        guard let key = clients[client].key else { return }
        count("connection cut")
        cut(key)
    }

    /// Kills the app's process, and starts another with the stored state.
    private mutating func killApp(_ client: Int) {
        count("app killed")
        if let key = clients[client].key { cut(key, deviceKnows: false) }
        clients[client].core = makeClientCore()
        clients[client].key = nil
        enter(.open(client: client), within: 3000)
    }

    private mutating func killGateway(_ gateway: Int) {
        count("gateway killed")
        gateways[gateway] = makeGateway()
        for key in keys(at: gateway) { cut(key) }
    }

    private mutating func loseBuffer() {
        count("store emptied")
        lossCount += 1
        baselines.append(appended)
        buffer = makeBuffer()
    }

    /// Fails over to a replica without the newest events. Its contents must not be used: see the fence of
    /// `RedisReplayBuffer`.
    private mutating func goBack() {
        guard let older else { return }
        count("store behind")
        guard faults.ignoresFence else { return loseBuffer() }
        buffer = older
    }

    /// Makes a buffer. Opens all streams in order, so that the same seed generates the same epochs.
    private mutating func makeBuffer() -> ReplayContents {
        var buffer = ReplayContents(Self.limits, seed: faults.keepsEpoch ? 1 : random.next())
        for user in appended.indices { _ = buffer.standing(of: "user\(user)", time) }
        return buffer
    }

    private mutating func answer(_ key: Int, _ question: GatewayDirective) {
        guard let pipe = pipes[key] else { return }
        let gateway = pipe.gateway
        defer { carryOut(gateway: gateway) }
        if now < downUntil, question.isForStore {
            gateways[gateway].failed("unavailable", on: key, time)
            return
        }
        switch question {
        case .authenticate(let token, _): gateways[gateway].authenticated(token, on: key, time)
        case .locate(let stream):
            let standing = buffer.standing(of: stream, time)
            lossByEpoch[standing.epoch] = lossCount
            gateways[gateway].located(standing, on: key, time)
        case .read(let stream, let position, let limit):
            let page = buffer.page(of: stream, after: position, limit: limit, time)
            gateways[gateway].read(page, on: key, time)
        case .send, .close: break
        }
    }

    mutating func carryOut(gateway: Int) {
        for (key, directive) in gateways[gateway].takeDirectives() {
            switch directive {
            case .send(let bytes): send(.toClient(key: key, bytes), key, up: false)
            case .close(let code, _): send(.clientDisconnects(key: key, code), key, up: false)
            case .authenticate, .locate, .read:
                let isLate = directive.isForStore && now < max(downUntil, slowUntil)
                enter(.answer(key: key, directive), within: isLate ? 2000 : 20)
            }
        }
    }

    /// True at random for a frame with an event, which is then lost although the connection is open.
    mutating func isLost(_ step: Step) -> Bool {
        guard !areFaultsOver, case .toClient(_, let bytes) = step,
            String(decoding: bytes, as: UTF8.self).contains("EVENT")
        else { return false }
        return random.happens(rate: 0.01)
    }
}

extension GatewayDirective {
    fileprivate var isForStore: Bool {
        switch self {
        case .locate, .read: true
        case .authenticate, .send, .close: false
        }
    }
}
