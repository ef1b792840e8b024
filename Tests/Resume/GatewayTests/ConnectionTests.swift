import Foundation
import MeshBase
import Testing

@testable import MeshResume
@testable import MeshResumeGateway

/// One gateway, a buffer and frames as text.
private struct Desk {
    var core: GatewayCore
    var buffer: ReplayContents
    var now = Duration.zero
    var texts: [Int: [String]] = [:]
    var closed: [Int: CloseCode] = [:]
    var reads = 0
    /// Called between the buffer's answer about a stream's range and its arrival.
    var beforeLocated: (inout Desk) throws -> Void = { _ in }

    init(_ settings: GatewaySettings = .init(), limits: ReplayLimits = .init()) {
        core = GatewayCore(settings, admission: .unlimited, seed: 1)
        buffer = ReplayContents(limits, seed: 1)
    }

    mutating func open(_ key: Int) {
        core.open(key, now)
        carryOut()
    }

    mutating func say(_ text: String, on key: Int) {
        core.receive(Array(text.utf8), on: key, now)
        carryOut()
    }

    mutating func pass(_ time: Duration) {
        now += time
        core.tick(now)
        carryOut()
    }

    mutating func append(to stream: String, tells: Bool = true) throws {
        let notice = buffer.append(try ReplayEvent(type: "E", json: Array("{}".utf8)), to: stream, now)
        if tells { core.noticed(notice, now) }
        carryOut()
    }

    /// Returns and removes the frames sent since the last call.
    mutating func take(_ key: Int) -> [String] { texts.removeValue(forKey: key) ?? [] }

    mutating func flush(_ key: Int, _ count: Int) {
        core.flushed(count, on: key, now)
        carryOut()
    }

    private mutating func carryOut() {
        var directives = core.takeDirectives()
        while !directives.isEmpty {
            let (key, directive) = directives.removeFirst()
            switch directive {
            case .send(let bytes): texts[key, default: []].append(String(decoding: bytes, as: UTF8.self))
            case .close(let code, _): closed[key] = code
            case .authenticate(let token, _): core.authenticated(token == "bad" ? nil : token, on: key, now)
            case .locate(let stream):
                let standing = buffer.standing(of: stream, now)
                let act = beforeLocated
                beforeLocated = { _ in }
                try? act(&self)
                core.located(standing, on: key, now)
            case .read(let stream, let position, let limit):
                reads += 1
                core.read(buffer.page(of: stream, after: position, limit: limit, now), on: key, now)
            }
            directives += core.takeDirectives()
        }
    }

    /// - Returns: The session's ID.
    mutating func identify(_ key: Int, _ token: String = "u") -> String {
        open(key)
        say(#"{"op":2,"d":{"token":"\#(token)","properties":{"os":"linux"}}}"#, on: key)
        return take(key).last?.split(separator: "\"").first { $0.utf8.count == 50 }.map(String.init) ?? ""
    }

    mutating func resume(_ key: Int, _ id: String, _ last: UInt64, token: String = "u") {
        open(key)
        _ = take(key)
        say(#"{"op":6,"d":{"token":"\#(token)","session_id":"\#(id)","seq":\#(last)}}"#, on: key)
    }
}

@Suite struct ConnectionTests {
    @Test func `A session starts, is live, disconnects and resumes, frame by frame`() throws {
        var desk = Desk()
        desk.open(1)
        #expect(desk.take(1) == [#"{"op":10,"d":{"heartbeat_interval":30000}}"#])
        desk.core.remove(1)
        let id = desk.identify(1)
        desk.say(#"{"op":1,"d":null}"#, on: 1)
        try desk.append(to: "u")
        #expect(desk.take(1) == [#"{"op":11,"d":null}"#, #"{"op":0,"s":1,"t":"E","d":{}}"#])
        desk.core.remove(1)
        try desk.append(to: "u")
        try desk.append(to: "u")
        desk.resume(2, id, 1)
        #expect(
            desk.take(2) == [
                #"{"op":0,"s":null,"t":"RESUMED","d":{"replayed":2,"seq":3}}"#, #"{"op":0,"s":2,"t":"E","d":{}}"#,
                #"{"op":0,"s":3,"t":"E","d":{}}"#,
            ])
    }

    @Test func `An event whose notice overtakes the answer about the stream's range arrives at once`() throws {
        var desk = Desk()
        let id = desk.identify(1)
        try desk.append(to: "u")
        desk.open(2)
        _ = desk.take(2)
        desk.beforeLocated = { try $0.append(to: "u") }
        desk.say(#"{"op":2,"d":{"token":"u"}}"#, on: 2)
        #expect(desk.take(2).map { $0.contains(#""s":2,"t":"E""#) } == [false, true])
        desk.beforeLocated = { try $0.append(to: "u") }
        desk.resume(3, id, 2)
        #expect(desk.take(3).map { $0.contains(#""s":3,"t":"E""#) } == [false, true])
        let reads = desk.reads
        _ = desk.identify(4)
        #expect(desk.reads == reads, "without such a notice nothing is read")
    }

    @Test func `K22 replayed events carry their sequence, and a resume after a resume replays nothing`() throws {
        /// Keeps what any client keeps: the last sequence that it has seen.
        func complaint(_ change: (String) -> String) throws -> String? {
            var desk = Desk()
            let id = desk.identify(1)
            for _ in 0..<3 { try desk.append(to: "u") }
            var last: UInt64 = 1
            for key in 2...3 {
                desk.resume(key, id, last)
                let texts = desk.take(key).map(change)
                if key == 3 { return texts.count == 1 ? nil : "\(texts.count - 1) events again" }
                struct Frame: Decodable { let s: UInt64? }
                for text in texts {
                    last = try JSONDecoder().decode(Frame.self, from: Data(text.utf8)).s ?? last
                }
            }
            return nil
        }
        #expect(try complaint { $0 } == nil)
        let faulty = try complaint { $0.replacing(#/"s":\d+/#, with: "\"s\":null") }
        #expect(faulty != nil)
    }

    @Test func `A resume that isn't possible is refused, and the client may identify on the same connection`() throws {
        var desk = Desk(limits: ReplayLimits(count: 2))
        let id = desk.identify(1)
        for _ in 0..<5 { try desk.append(to: "u") }
        let other = desk.identify(2, "v")
        var refused = 0
        for (key, name, last) in [
            (3, "nonsense", 0), (4, other, 0), (5, id, 1), (6, id, 6), (7, id, UInt64.max),
            (8, "ffffffffffffffff" + id.dropFirst(16), 4),
        ] as [(Int, String, UInt64)] {
            desk.resume(key, name, last)
            let said = desk.take(key)
            if said.count == 1, said[0].hasPrefix(#"{"op":9,"d":false"#) { refused += 1 }
            desk.say(#"{"op":2,"d":{"token":"u"}}"#, on: key)
            #expect(desk.take(key).last?.contains("READY") == true)
        }
        #expect(refused == 6)
        desk.resume(9, id, 3)
        #expect(desk.take(9).count == 3)
    }

    @Test func `The newer of two connections of a session continues, and two sessions of a user coexist`() throws {
        var desk = Desk()
        let id = desk.identify(1)
        _ = desk.identify(2)
        desk.resume(3, id, 0)
        #expect(desk.closed == [1: .sessionTimedOut])
        _ = (desk.take(2), desk.take(3))
        try desk.append(to: "u")
        #expect(desk.take(2).count == 1)
        #expect(desk.take(3).count == 1)
        #expect(desk.core.connectionCount == 2)
    }

    @Test(arguments: [
        ("{", CloseCode.decodeError), ("[]", .decodeError), (#"{"op":2,"d":{}}"#, .decodeError),
        (#"{"op":99}"#, .unknownOpcode), (#"{"op":0}"#, .unknownOpcode),
        (#"{"op":1,"d":"\#(String(repeating: "x", count: 5000))"}"#, .decodeError),
        (#"{"op":2,"d":{"token":"bad"}}"#, .authenticationFailed),
        (#"{"op":6,"d":{"token":"u","session_id":"","seq":-1}}"#, .decodeError),
    ])
    func `A forbidden frame closes the client's connection with its own code`(text: String, code: CloseCode) {
        var desk = Desk()
        desk.open(1)
        desk.say(text, on: 1)
        #expect(desk.closed[1] == code)
        #expect(desk.core.connectionCount == 0)
    }

    @Test func `A second identify, silence, a flood and a slow handshake close a connection`() {
        var desk = Desk()
        _ = desk.identify(1)
        desk.say(#"{"op":2,"d":{"token":"u"}}"#, on: 1)
        desk.open(2)
        desk.pass(.seconds(10))
        _ = desk.identify(3)
        for _ in 0..<121 { desk.say(#"{"op":1}"#, on: 3) }
        _ = desk.identify(4)
        desk.pass(.seconds(60))
        #expect(
            desk.closed == [1: .alreadyAuthenticated, 2: .notAuthenticated, 3: .rateLimited, 4: .unknownError])
    }

    @Test func `A client that reads nothing holds no more than its bound, and is closed resumably`() throws {
        var settings = GatewaySettings()
        settings.unsentBytesMax = 1000
        settings.pageEntries = 10
        var desk = Desk(settings)
        let id = desk.identify(1)
        for _ in 0..<500 { try desk.append(to: "u") }
        #expect(desk.take(1).reduce(0) { $0 + $1.utf8.count } <= 1000 + 10 * 40)
        desk.say(#"{"op":1}"#, on: 1)
        desk.pass(.seconds(31))
        #expect(desk.closed[1] == .unknownError)
        // A client that continues reading gets the rest, in order.
        desk.resume(2, id, 0)
        var seen: [String] = []
        while case let texts = desk.take(2), !texts.isEmpty {
            seen += texts
            desk.flush(2, texts.reduce(0) { $0 + $1.utf8.count })
        }
        #expect(seen.count == 501)
        #expect(seen.last == #"{"op":0,"s":500,"t":"E","d":{}}"#)
    }

    @Test func `A late page for another session skips no event`() throws {
        var buffer = ReplayContents(ReplayLimits(), seed: 1)
        for _ in 0..<20 { _ = buffer.append(try ReplayEvent(type: "E", json: Array("{}".utf8)), to: "u", .zero) }
        let standing = buffer.standing(of: "u", .zero)
        var connection = GatewayConnection(SharedSettings(GatewaySettings()), seed: 1, .zero)
        let id = GatewaySessionID(epoch: standing.epoch, stream: "u", nonce: 1).text
        let resume = #"{"op":6,"d":{"token":"u","session_id":"\#(id)","seq":3}}"#
        connection.receive(Array(resume.utf8), .zero)
        connection.admitted(.zero)
        connection.authenticated("u", .none, .zero)
        connection.located(standing, .zero)
        let late = buffer.page(of: "u", after: .init(epoch: standing.epoch, sequence: 9), limit: 5, .zero)
        let own = buffer.page(of: "u", after: .init(epoch: standing.epoch, sequence: 3), limit: 100, .zero)
        _ = connection.takeDirectives()
        connection.read(late, .zero)
        #expect(
            connection.takeDirectives() == [
                .read(stream: "u", after: .init(epoch: standing.epoch, sequence: 3), limit: 100)
            ])
        connection.read(own, .zero)
        #expect(connection.takeDirectives().count == 17)
    }

    @Test func `The next notice makes up for a lost one`() throws {
        var desk = Desk()
        _ = desk.identify(1)
        try desk.append(to: "u", tells: false)
        #expect(desk.take(1).isEmpty)
        try desk.append(to: "u")
        #expect(desk.take(1).count == 2)
    }

    @Test func `A lost notice without a successor is made up for in time`() throws {
        func complaint(_ interval: Duration) throws -> String? {
            var settings = GatewaySettings()
            settings.catchUpInterval = interval
            var desk = Desk(settings)
            _ = desk.identify(1)
            try desk.append(to: "u", tells: false)
            for _ in 0..<3 {
                desk.pass(.seconds(10))
                desk.say(#"{"op":1,"d":null}"#, on: 1)
            }
            let texts = desk.take(1)
            return texts.contains(#"{"op":0,"s":1,"t":"E","d":{}}"#) ? nil : "\(texts)"
        }
        #expect(try complaint(GatewaySettings().catchUpInterval) == nil)
        #expect(try complaint(.seconds(86_400)) != nil)
    }

    @Test func `A connection that gets notices doesn't query the buffer`() throws {
        var desk = Desk()
        _ = desk.identify(1)
        for _ in 0..<12 {
            desk.pass(.seconds(10))
            desk.say(#"{"op":1,"d":null}"#, on: 1)
            try desk.append(to: "u")
        }
        #expect(desk.reads == 0)
    }

    @Test func `A stopping gateway tells every client when to reconnect`() {
        var desk = Desk()
        for key in 0..<20 { _ = desk.identify(key) }
        desk.core.shutDown(spread: .seconds(5), desk.now)
        var waits: Set<String> = []
        for (_, directive) in desk.core.takeDirectives() {
            if case .send(let bytes) = directive { waits.insert(String(decoding: bytes, as: UTF8.self)) }
            if case .close(let code, _) = directive { #expect(!code.isFatal) }
        }
        #expect(waits.count >= 15)
    }

    @Test func `A client's bytes never trap`() {
        let frames = [
            #"{"op":2,"d":{"token":"u","properties":{"os":"x"}}}"#,
            #"{"op":6,"d":{"token":"u","session_id":"s","seq":18446744073709551615}}"#, #"{"op":1,"d":7}"#,
            String(repeating: "[", count: 4000), String(repeating: #"{"d":"#, count: 800),
        ].map { Array($0.utf8) }
        var random = SplitMix64(seed: 5)
        for frame in frames {
            for end in stride(from: 0, through: frame.count, by: frame.count > 200 ? 500 : 1) {
                var desk = Desk()
                desk.open(1)
                desk.core.receive(frame[..<end], on: 1, .zero)
            }
            for _ in 0..<200 {
                var bytes = frame
                bytes[Int(random.upTo(UInt64(bytes.count - 1)))] = UInt8(random.upTo(255))
                var desk = Desk()
                desk.open(1)
                desk.core.receive(bytes, on: 1, .zero)
            }
        }
    }
}
