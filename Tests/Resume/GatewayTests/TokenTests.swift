import Foundation
import MeshBase
import MeshMailbox
import Testing

@testable import MeshResume
@testable import MeshResumeGateway

/// Tokens that expire, and users that the app disconnects.
@Suite struct TokenTests {
    private static let lead = GatewaySettings().tokenRenewalLead

    /// A core whose clients the test authenticates.
    private struct Desk {
        var core = GatewayCore(admission: .unlimited, seed: 1)
        var buffer = ReplayContents(ReplayLimits(), seed: 1)
        var now = Duration.seconds(1)
        var texts: [Int: [String]] = [:]
        var closed: [Int: CloseCode] = [:]

        mutating func identify(_ key: Int) {
            core.open(key, now)
            core.receive(Array(#"{"op":2,"d":{"token":"u","properties":{}}}"#.utf8), on: key, now)
            carryOut()
        }

        mutating func authenticate(
            _ key: Int, _ user: String? = "u", issued: Duration? = nil, expires: Duration? = nil
        ) {
            core.authenticated(user, issued: issued, expires: expires, on: key, now)
            carryOut()
        }

        mutating func disconnect(_ user: String = "u", madeAt: Duration? = nil) {
            core.disconnect(user, madeAt: madeAt, now)
            carryOut()
        }

        mutating func pass(_ time: Duration) {
            let end = now + time
            while now < end {
                now = min(end, now + .seconds(1))
                // A live client.
                for key in texts.keys.sorted() where closed[key] == nil {
                    core.receive(Array(#"{"op":1,"d":null}"#.utf8), on: key, now)
                }
                core.tick(now)
                carryOut()
            }
        }

        func isLive(_ key: Int) -> Bool {
            closed[key] == nil && texts[key]?.contains { $0.contains("READY") } == true
        }

        private mutating func carryOut() {
            for (key, directive) in core.takeDirectives() {
                switch directive {
                case .send(let bytes): texts[key, default: []].append(String(decoding: bytes, as: UTF8.self))
                case .close(let code, _): closed[key] = code
                case .locate(let stream):
                    core.located(buffer.standing(of: stream, now), on: key, now)
                    carryOut()
                case .read(let stream, let position, let limit):
                    core.read(buffer.page(of: stream, after: position, limit: limit, now), on: key, now)
                case .authenticate: break
                }
            }
        }
    }

    // MARK: Expiry

    @Test func `A client is asked for a new token before its token expires`() {
        var desk = Desk()
        desk.identify(1)
        desk.authenticate(1, expires: desk.now + .seconds(600))
        desk.pass(.seconds(569))
        #expect(desk.isLive(1))
        desk.pass(.seconds(2))
        #expect(desk.closed[1] == .tokenExpired)
        #expect(desk.texts[1]?.last?.contains("retry_after") == true)
        #expect(!CloseCode.tokenExpired.isFatal)
    }

    /// It would return with the same token, and be asked again at once.
    @Test func `A client whose new token expires soon is closed when it does`() {
        var desk = Desk()
        desk.identify(1)
        desk.authenticate(1, expires: desk.now + Self.lead * 2)
        desk.pass(Self.lead * 2 - .seconds(1))
        #expect(desk.isLive(1))
        desk.pass(.seconds(1))
        #expect(desk.closed[1] == .tokenExpired)
    }

    @Test func `A token that has expired already ends the connection at the next tick`() {
        var desk = Desk()
        desk.identify(1)
        desk.authenticate(1, expires: .zero)
        desk.pass(.seconds(1))
        #expect(desk.closed[1] == .tokenExpired)
    }

    // MARK: Disconnected users

    @Test func `All connections of a user end, and those of others don't`() {
        var desk = Desk()
        for key in 1...3 { desk.identify(key) }
        desk.authenticate(1)
        desk.authenticate(2)
        desk.authenticate(3, "other")
        desk.disconnect()
        #expect(desk.closed == [1: .disconnected, 2: .disconnected])
        #expect(desk.isLive(3))
        #expect(!CloseCode.disconnected.isFatal)
    }

    @Test func `An answer about an earlier token doesn't count`() {
        var desk = Desk()
        desk.identify(1)
        desk.disconnect()
        desk.authenticate(1)
        #expect(desk.closed[1] == .disconnected)
        desk.now += .milliseconds(1)
        desk.identify(2)
        desk.authenticate(2)
        #expect(desk.isLive(2), "the app decides whether the user may return")
    }

    @Test func `Tokens from before a disconnection are rejected for a token's maximum lifetime`() {
        var desk = Desk()
        desk.now = .seconds(1_000)
        let before = desk.now - .seconds(10)
        desk.disconnect(madeAt: desk.now - .seconds(1))
        desk.now += .seconds(5)
        desk.identify(1)
        desk.authenticate(1, issued: before)
        #expect(desk.closed[1] == .disconnected)
        desk.identify(2)
        desk.authenticate(2, issued: desk.now - .seconds(1))
        #expect(desk.isLive(2))
        desk.now += GatewaySettings().tokenLifetimeMax
        desk.identify(3)
        desk.authenticate(3, issued: before)
        #expect(desk.isLive(3))
    }

    @Test func `Beyond the maximum number of users, the first is forgotten`() {
        var users = DisconnectedUsers(lifetime: .seconds(86_400))
        for number in 0...DisconnectedUsers.usersMax {
            users.add("\(number)", madeAt: .seconds(number), .seconds(number))
        }
        let now = Duration.seconds(DisconnectedUsers.usersMax + 1)
        #expect(users.accepts("0", issued: .zero, askedAt: now, now))
        #expect(!users.accepts("1", issued: .zero, askedAt: now, now))
    }

    @Test func `No user can have the name of the stream of disconnections`() {
        var desk = Desk()
        desk.identify(1)
        desk.authenticate(1, DisconnectionLog.stream)
        #expect(desk.closed[1] == .authenticationFailed)
    }

    // MARK: Mailboxes

    @Test func `A mailbox ends with its user's disconnection, and with its token`() throws {
        for isDisconnected in [true, false] {
            var core = MailboxCore { key, signature, _ in key == signature ? MailboxID(bytes: key) : nil }
            let id = try #require(MailboxID(bytes: [UInt8](repeating: 1, count: MailboxID.byteCount)))
            let opening = MailboxOpening(token: "u", publicKey: id.bytes, signature: id.bytes, will: [0])
            core.open(1, challenge: [UInt8](repeating: 1, count: 32), .zero)
            core.receive(MailboxRequest.open(opening).bytes, on: 1, .zero)
            core.authenticated("u", expires: .seconds(5), on: 1, .zero)
            if isDisconnected { core.disconnect("u", madeAt: .zero, .zero) }
            core.tick(.seconds(5))
            let codes = core.takeDirectives().compactMap {
                if case .close(let code, _) = $0.directive { code } else { nil }
            }
            #expect(codes == [isDisconnected ? .disconnected : .tokenExpired])
        }
    }

    // MARK: Between gateways

    @Test func `Every gateway reads the disconnected users, and reports when it can't`() throws {
        var buffer = ReplayContents(ReplayLimits(count: 3), seed: 1)
        func append(_ user: String, to buffer: inout ReplayContents) throws -> ReplayNotice {
            let event = try Disconnection(user: user, madeAt: Date(timeIntervalSinceReferenceDate: 1)).event()
            return buffer.append(event, to: DisconnectionLog.stream, .zero)
        }
        func names(_ news: DisconnectionLog.News) -> [String]? {
            if case .users(let users) = news { users.map(\.user) } else { nil }
        }
        _ = try append("before", to: &buffer)
        var log = DisconnectionLog()
        #expect(log.isUnknown)
        log.located(buffer.standing(of: DisconnectionLog.stream, .zero), .zero)
        func readAll(_ log: inout DisconnectionLog, _ buffer: inout ReplayContents, _ now: Duration) -> [String]? {
            guard let position = log.page(after: .seconds(30), now) else { return [] }
            return names(log.take(buffer.page(of: DisconnectionLog.stream, after: position, limit: 10, now), now))
        }
        #expect(readAll(&log, &buffer, .zero) == ["before"])
        #expect(names(log.noticed(try append("told", to: &buffer), .zero)) == ["told"])
        _ = try append("not told", to: &buffer)
        #expect(readAll(&log, &buffer, .seconds(1)) == [])
        #expect(readAll(&log, &buffer, .seconds(30)) == ["not told"])
        // The buffer fails to answer once.
        _ = try append("late", to: &buffer)
        _ = log.page(after: .seconds(30), .seconds(60))
        log.failed()
        #expect(readAll(&log, &buffer, .seconds(61)) == ["late"])
        for number in 0..<5 { _ = try append("\(number)", to: &buffer) }
        #expect(readAll(&log, &buffer, .seconds(91)) == nil, "some were trimmed before they were read")
        // All connections were closed, and a user that has returned since is disconnected.
        _ = try append("gap", to: &buffer)
        #expect(readAll(&log, &buffer, .seconds(121)) == ["gap"])
        #expect(readAll(&log, &buffer, .seconds(151)) == [])
    }
}
