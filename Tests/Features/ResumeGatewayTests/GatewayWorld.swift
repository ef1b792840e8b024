import Foundation
import MeshBus
import MeshVirtualTime

@testable import MeshResume
@testable import MeshResumeGateway

/// Clients, two gateway processes and one buffer in virtual time, from a seed: connections that drop on one side or on
/// both, frames that get lost, processes that are killed, a buffer that forgets.
///
/// Each app keeps what it has seen together with its cursor. It must see every event of its user's once and in order, from
/// where it began; it may begin anew only where the buffer has lost something since.
struct GatewayWorld {
    struct Faults {
        var steps = 60
        var losesBuffer = true
        /// K20: a buffer that has lost its events counts from 1 again, in the same epoch.
        var keepsEpoch = false
        var clientMutations: ResumeMutations = []
    }

    enum Step {
        case append(user: Int)
        case open(client: Int)
        case clientTick(Int)
        case gatewayTick
        case toGateway(key: Int, [UInt8])
        case toClient(key: Int, [UInt8])
        case answer(key: Int, GatewayDirective)
        case notice(ReplayNotice, gateway: Int)
        case clientHears(end: Int, CloseCode?)
        case gatewayHears(end: Int)
        case fault
    }

    struct Client {
        let user: Int
        var core: ResumeCore
        var stored: SessionSnapshot?
        var policy: ReconnectPolicy
        var key: Int?
        /// Of the newest event that the app knows.
        var known: Int?
        var seenCount = 0
        var begunAt = 0
        var tickAt: Duration?
        var retryAfter = Duration.zero
    }

    struct Pipe {
        let client: Int
        let gateway: Int
        var upFreeAt: UInt64 = 0
        var downFreeAt: UInt64 = 0
        var isUp = true
    }

    var random: SplitMix64
    let faults: Faults
    var queue = EventQueue<Step>()
    var now: UInt64 = 0
    var gateways: [GatewayCore] = []
    var buffer: ReplayContents
    var lossCount = 0
    var clients: [Client] = []
    var pipes: [Int: Pipe] = [:]
    var keyCount = 0
    var appended: [Int] = []
    /// What stood at a place of a user's stream.
    var places: [String: Int] = [:]
    /// How many had been appended to each stream when the buffer was lost, and after which loss an epoch came to be.
    var baselines: [[Int]] = []
    var lossByEpoch: [UInt64: Int] = [:]
    var areFaultsOver = false
    var complaint: String?
    static let limits = ReplayLimits(count: 100_000, bytes: .max, age: .seconds(1_000_000))

    init(seed: UInt64, _ faults: Faults) {
        random = SplitMix64(seed: seed)
        self.faults = faults
        buffer = ReplayContents(Self.limits, seed: seed)
        appended = [0, 0, 0]
        baselines = [appended]
        buffer = makeBuffer()
        for _ in 0..<2 { gateways.append(makeGateway()) }
        for index in 0..<6 {
            let user = index % 3
            clients.append(
                Client(
                    user: user, core: makeClientCore(),
                    policy: ReconnectPolicy(from: .seconds(1), to: .seconds(8), seed: random.next())))
            enter(.open(client: index), within: 2000)
        }
        for _ in 0..<faults.steps { enter(.fault, within: 120_000) }
        for _ in 0..<150 { enter(.append(user: Int(random.upTo(2))), within: 120_000) }
        enter(.gatewayTick, within: 1000)
    }

    /// - Returns: what is wrong.
    mutating func run() -> String? {
        runUntil(milliseconds: 120_000)
        // Everything heals: what is still missing must come by itself once there is something new.
        areFaultsOver = true
        runUntil(milliseconds: 400_000)
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

    private mutating func runUntil(milliseconds end: UInt64) {
        while complaint == nil, let time = queue.nextTime, time <= end * 1_000_000, let (at, step) = queue.take() {
            now = max(now, at)
            take(step)
        }
        now = end * 1_000_000
    }

    var time: Duration { Duration(nanoseconds: now) }

    mutating func enter(_ step: Step, within milliseconds: UInt64) {
        queue.enter(step, at: now + random.upTo(milliseconds * 1_000_000))
    }

    mutating func makeGateway() -> GatewayCore {
        var settings = GatewaySettings()
        settings.pageEntries = 7
        settings.unsentBytesMax = 400
        settings.framesAtOnce = 10_000
        return GatewayCore(settings, admission: GatewayAdmission(perSecond: 2, atOnce: 4), seed: random.next())
    }

    mutating func makeClientCore() -> ResumeCore {
        ResumeCore(
            .init(
                configuration: .init(sequencing: .contiguous, acknowledgement: .byApp),
                properties: ClientProperties(platform: "t", appVersion: "", osVersion: "", deviceName: ""),
                writeDelay: .zero, mutations: faults.clientMutations), seed: random.next())
    }
}

// MARK: - Steps

extension GatewayWorld {
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
        case .clientHears(let key, let code): clientHears(end: key, code)
        case .gatewayHears(let key):
            guard let pipe = pipes[key] else { return }
            gateways[pipe.gateway].remove(key)
            carryOut(gateway: pipe.gateway)
        case .fault: if !areFaultsOver { doHarm() }
        }
    }

    mutating func append(to user: Int) {
        appended[user] += 1
        guard let event = try? ReplayEvent(type: "EVENT", json: Array("{\"id\":\(appended[user])}".utf8)) else {
            return
        }
        let notice = buffer.append(event, to: "user\(user)", time)
        places["\(user)/\(lossCount)/\(notice.entry.sequence)"] = appended[user]
        for gateway in gateways.indices where areFaultsOver || !random.happens(rate: 0.1) {
            enter(.notice(notice, gateway: gateway), within: 50)
        }
    }

    private mutating func doHarm() {
        let client = Int(random.upTo(UInt64(clients.count - 1)))
        switch random.upTo(19) {
        case 0...9: if let key = clients[client].key { cut(key) }
        case 10...12:
            // The app's process dies, and another begins with what is stored.
            if let key = clients[client].key { cut(key, clientKnows: false) }
            clients[client].core = makeClientCore()
            clients[client].key = nil
            enter(.open(client: client), within: 3000)
        case 13...15:
            let gateway = Int(random.upTo(1))
            gateways[gateway] = makeGateway()
            for (key, pipe) in pipes.sorted(by: { $0.key < $1.key }) where pipe.gateway == gateway { cut(key) }
        case 16: if faults.losesBuffer { loseBuffer() }
        case 17:
            for index in gateways.indices {
                gateways[index].shutDown(spread: .seconds(3), time)
                carryOut(gateway: index)
            }
        default: break
        }
    }

    private mutating func loseBuffer() {
        lossCount += 1
        baselines.append(appended)
        buffer = makeBuffer()
    }

    /// The same seed draws the same epochs for the same streams.
    private mutating func makeBuffer() -> ReplayContents {
        var buffer = ReplayContents(Self.limits, seed: faults.keepsEpoch ? 1 : random.next())
        for user in appended.indices { _ = buffer.standing(of: "user\(user)", time) }
        return buffer
    }

    /// Each side hears of it by itself, at once or much later.
    mutating func cut(_ key: Int, clientKnows: Bool = true) {
        guard pipes[key]?.isUp == true else { return }
        pipes[key]?.isUp = false
        enter(.gatewayHears(end: key), within: random.happens(rate: 0.5) ? 10 : 50_000)
        // A socket that looks open is found dead by its heartbeats.
        if clientKnows, !random.happens(rate: 0.2) { enter(.clientHears(end: key, nil), within: 100) }
    }

    private mutating func answer(_ key: Int, _ question: GatewayDirective) {
        guard let pipe = pipes[key] else { return }
        let gateway = pipe.gateway
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
        carryOut(gateway: gateway)
    }

    mutating func carryOut(gateway: Int) {
        for (key, directive) in gateways[gateway].takeDirectives() {
            switch directive {
            case .send(let bytes): send(.toClient(key: key, bytes), key, up: false)
            case .close(let code, _): send(.clientHears(end: key, code), key, up: false)
            case .authenticate, .locate, .read: enter(.answer(key: key, directive), within: 20)
            }
        }
    }

    /// In order, and at times not at all though the connection lives.
    mutating func send(_ step: Step, _ key: Int, up: Bool) {
        guard var pipe = pipes[key], pipe.isUp else { return }
        let arrival = now + 1_000_000 + random.upTo(40_000_000)
        if up {
            pipe.upFreeAt = max(pipe.upFreeAt + 1, arrival)
            queue.enter(step, at: pipe.upFreeAt)
        } else {
            pipe.downFreeAt = max(pipe.downFreeAt + 1, arrival)
            var isEvent = false
            if case .toClient(_, let bytes) = step {
                isEvent = String(decoding: bytes, as: UTF8.self).contains("EVENT")
            }
            if areFaultsOver || !isEvent || !random.happens(rate: 0.01) { queue.enter(step, at: pipe.downFreeAt) }
        }
        pipes[key] = pipe
    }
}
