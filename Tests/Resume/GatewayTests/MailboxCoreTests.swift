import MeshBase
import MeshMailbox
import MeshResume
import Testing

@testable import MeshResumeGateway

/// One gateway with a store in memory that answers at once, in virtual time. A key serves as its own signature.
struct MailboxCoreTests {
    private struct Gateway {
        var core: MailboxCore
        var store = MailboxContents(MailboxBounds.queue, seed: 1)
        var now = Duration.seconds(1)
        var news: [Int: [MailboxServerFrame]] = [:]
        var closed: [Int: CloseCode] = [:]
        var reported: [MailboxActivity] = []
        var paused: Set<Int> = []
        var served: [String: Int] = [:]
        var writes: [MailboxWrite] = []
        /// True if the store answers writes.
        var answersWrites = true

        init(_ settings: MailboxSettings = .init()) {
            core = MailboxCore(settings) { key, signature, _ in key == signature ? MailboxID(bytes: key) : nil }
        }

        mutating func open(_ key: Int, _ id: MailboxID, follows: [MailboxID] = [], token: String = "anna") {
            core.open(key, challenge: [UInt8](repeating: UInt8(key), count: 32), now)
            say(.open(opening(id, token: token)), key)
            say(.follow(follows), key)
            say(.post(MailboxPost(number: 1, to: id, lane: .presence, bytes: [1, UInt8(key)])), key)
        }

        func opening(_ id: MailboxID, token: String = "anna", signature: [UInt8]? = nil) -> MailboxOpening {
            MailboxOpening(token: token, publicKey: id.bytes, signature: signature ?? id.bytes, will: [0])
        }

        mutating func say(_ request: MailboxRequest, _ key: Int) { say(request.bytes, key) }

        mutating func say(_ bytes: [UInt8], _ key: Int) {
            core.receive(bytes, on: key, now)
            carryOut()
        }

        mutating func wait(_ duration: Duration) {
            let end = now + duration
            while now < end {
                now += .seconds(1)
                core.tick(now)
                carryOut()
            }
        }

        mutating func carryOut() {
            var directives = core.takeDirectives()
            while !directives.isEmpty {
                for (key, directive) in directives { carryOut(directive, key) }
                directives = core.takeDirectives()
            }
        }

        private mutating func carryOut(_ directive: MailboxDirective, _ key: Int) {
            switch directive {
            case .send(let bytes):
                if let news = try? MailboxServerFrame(bytes) { self.news[key, default: []].append(news) }
            case .close(let code, _): closed[key] = code
            case .report(let activity): reported.append(activity)
            case .serve(let stream, let isServed): served[stream, default: 0] += isServed ? 1 : -1
            case .pause: paused.insert(key)
            case .resume: paused.remove(key)
            case .authenticate(let token): core.authenticated(token == "nobody" ? nil : token, on: key, now)
            case .locate(let stream): core.located(store.queues.standing(of: stream, now), on: key, now)
            case .find(let names, let stream): core.found(store.values.values(names, of: stream), on: key, now)
            case .read(let stream, let position, let limit):
                core.read(store.queues.page(of: stream, after: position, limit: limit, now), on: key, now)
            case .view(let stream):
                core.viewed(store.values.values(MailboxCore.viewedNames, of: stream), of: stream, now)
            case .pass(let bytes, let stream): core.changed(.passed(bytes, stream: stream), now)
            case .write(let write):
                writes.append(write)
                if answersWrites || !write.isPost { perform(write, key) }
            }
        }

        mutating func perform(_ write: MailboxWrite, _ key: Int) {
            let change = store.perform(write, now)
            if let notice = change?.notice { core.noticed(notice, now) }
            for word in change?.words ?? [] { core.changed(word, now) }
            core.wrote(write, change == nil ? .full : .done, on: key, now)
        }

        func packets(_ key: Int) -> [MailboxPacket] {
            (news[key] ?? []).compactMap { if case .packet(let packet) = $0 { packet } else { nil } }
        }

        func refusals(_ key: Int) -> [String] {
            (news[key] ?? []).compactMap { if case .posted(_, let refusal?) = $0 { refusal } else { nil } }
        }
    }

    private static func id(_ byte: UInt8) throws -> MailboxID {
        try #require(MailboxID(bytes: [UInt8](repeating: byte, count: MailboxID.byteCount)))
    }

    /// Returns two devices that admit each other, on connections 1 and 2.
    private static func pair(_ settings: MailboxSettings = .init()) throws -> (Gateway, MailboxID, MailboxID) {
        var gateway = Gateway(settings)
        let (phone, watch) = (try id(1), try id(2))
        gateway.open(1, phone, follows: [watch])
        gateway.open(2, watch, follows: [phone])
        return (gateway, phone, watch)
    }

    @Test func `Devices that admit each other see each other's presence, and each lane keeps its rules`() throws {
        var (gateway, phone, watch) = try Self.pair()
        #expect(gateway.news[1]?.contains(.presence(of: watch, [1, 2])) == true)
        #expect(gateway.news[2]?.contains(.presence(of: phone, [1, 1])) == true)
        for (number, lane) in [MailboxLane.hello, .datagram, .queue, .latest].enumerated() {
            gateway.say(
                .post(
                    MailboxPost(
                        number: UInt64(number + 2), to: watch, lane: lane, key: lane == .latest ? "k" : "", bytes: [9])),
                1)
        }
        #expect(gateway.packets(2).map(\.lane) == [.hello, .datagram, .queue, .latest])
        #expect(gateway.packets(2).allSatisfy { $0.from == phone && $0.bytes == [9] })
        // The watch leaves and returns. Stored messages arrive, and now-or-never messages don't.
        gateway.core.remove(2)
        gateway.carryOut()
        #expect(gateway.news[1]?.last == .presence(of: watch, [0]))
        gateway.open(3, watch, follows: [phone])
        #expect(Set(gateway.packets(3).map(\.lane)) == [.queue, .latest])
    }

    @Test func `Messages already taken aren't sent to another process of the device`() throws {
        var (gateway, phone, watch) = try Self.pair()
        for number in 0..<3 {
            gateway.say(
                .post(MailboxPost(number: UInt64(number + 2), to: watch, lane: .queue, bytes: [UInt8(number)])), 1)
        }
        let position = try #require(gateway.packets(2)[1].position)
        gateway.say(.taken(position), 2)
        gateway.core.remove(2)
        gateway.carryOut()
        gateway.open(3, watch, follows: [phone])
        #expect(gateway.packets(3).map(\.bytes) == [[2]])
        // A nonexistent position means the beginning.
        gateway.say(.taken(MailboxPosition(epoch: position.epoch, sequence: .max)), 3)
        gateway.core.remove(3)
        gateway.carryOut()
        gateway.open(4, watch, follows: [phone])
        #expect(gateway.packets(4).count == 3)
    }

    @Test func `A mailbox can't be opened without its key or without a user`() throws {
        var gateway = Gateway()
        let phone = try Self.id(1)
        gateway.core.open(1, challenge: [UInt8](repeating: 0, count: 32), gateway.now)
        gateway.say(.open(gateway.opening(phone, signature: [UInt8](repeating: 2, count: 32))), 1)
        #expect(gateway.closed[1] == .authenticationFailed)
        gateway.core.open(2, challenge: [UInt8](repeating: 0, count: 32), gateway.now)
        gateway.say(.open(gateway.opening(phone, token: "nobody")), 2)
        #expect(gateway.closed[2] == .authenticationFailed)
        #expect(gateway.writes.isEmpty)
        // Nor does it wait for one forever.
        gateway.core.open(3, challenge: [UInt8](repeating: 0, count: 32), gateway.now)
        gateway.wait(.seconds(11))
        #expect(gateway.closed[3] == .notAuthenticated)
    }

    @Test func `A stranger can't reach a mailbox or learn whether its device is present`() throws {
        var (gateway, phone, watch) = try Self.pair()
        let stranger = try Self.id(3)
        gateway.open(3, stranger, follows: [phone, watch])
        let writes = gateway.writes.count
        for lane in [MailboxLane.hello, .datagram, .queue, .latest, .presence] {
            gateway.say(.post(MailboxPost(number: 7, to: watch, lane: lane, bytes: [9])), 3)
        }
        gateway.wait(.seconds(40))
        #expect(gateway.packets(2).isEmpty && gateway.writes.count == writes)
        #expect(gateway.refusals(3).count == 5)
        #expect(gateway.news[3]?.contains { if case .presence = $0 { true } else { false } } == false)
        // Nor may an admitted device write to a device that it doesn't follow itself.
        gateway.say(.follow([]), 1)
        gateway.say(.post(MailboxPost(number: 8, to: watch, lane: .queue, bytes: [9])), 1)
        #expect(gateway.packets(2).isEmpty && gateway.refusals(1).count == 1)
    }

    @Test(arguments: [true, false])
    func `Activity reports name senders, receivers, sizes and refusals`(isWatched: Bool) throws {
        var settings = MailboxSettings()
        settings.tellsActivity = isWatched
        var (gateway, phone, watch) = try Self.pair(settings)
        for lane in [MailboxLane.datagram, .queue, .latest] {
            gateway.say(.post(MailboxPost(number: 7, to: watch, lane: lane, bytes: [8, 9])), 1)
        }
        gateway.say(.post(MailboxPost(number: 8, to: watch, lane: .presence, bytes: [9])), 1)
        gateway.core.remove(2)
        gateway.carryOut()
        let posted = [MailboxLane.datagram, .queue, .latest].map {
            MailboxActivity.posted(from: phone, to: watch, lane: $0, byteCount: 2, refusal: nil)
        }
        let refused = MailboxActivity.posted(
            from: phone, to: watch, lane: .presence, byteCount: 1,
            refusal: "a device can post only its own presence")
        #expect(
            gateway.reported
                == (isWatched ? [.opened(phone), .opened(watch)] + posted + [refused, .closed(watch)] : []))
    }

    @Test
    func `The store is asked once more before a post is refused, so a sender that was admitted meanwhile succeeds`()
        throws
    {
        var gateway = Gateway()
        let (phone, watch) = (try Self.id(1), try Self.id(2))
        gateway.open(1, phone, follows: [watch])
        gateway.now += .seconds(2)
        // Another gateway admitted it, and the notice was lost.
        _ = gateway.store.values.set(phone.bytes, MailboxValue.admitted, of: watch.description)
        gateway.say(.post(MailboxPost(number: 2, to: watch, lane: .queue, bytes: [9])), 1)
        #expect(gateway.refusals(1).isEmpty)
        #expect(gateway.store.queues.standing(of: watch.description, gateway.now).newest == 1)
    }

    @Test func `The newer connection holds the mailbox, and the older one's will isn't published`() throws {
        var (gateway, phone, watch) = try Self.pair()
        gateway.open(3, watch, follows: [phone])
        #expect(gateway.closed[2] == .sessionTimedOut)
        gateway.core.remove(2)
        gateway.carryOut()
        #expect(gateway.store.values.values([MailboxValue.presence], of: watch.description).values.first == [1, 3])
    }

    /// `plugins-tool simulate mailboxes --mutate opensOvertaken --seed 2000235`: the reason that the seal's counter
    /// decides order.
    @Test
    func `A message that the store lost and its sender repeats follows the messages that the store accepted meanwhile`()
        throws
    {
        var (gateway, phone, watch) = try Self.pair()
        func post(_ number: UInt8) -> MailboxRequest {
            .post(MailboxPost(number: UInt64(number), to: watch, lane: .queue, bytes: [number]))
        }
        // The store accepts 34 and loses it, before the receiver has read it and the sender has the answer.
        gateway.answersWrites = false
        gateway.say(post(34), 1)
        gateway.answersWrites = true
        gateway.store.queues = ReplayContents(MailboxBounds.queue, seed: 2)
        gateway.say(post(35), 1)
        gateway.open(3, phone, follows: [watch])
        for number in [34, 35, 36] as [UInt8] { gateway.say(post(number), 3) }
        #expect(gateway.packets(2).map(\.bytes) == [[35], [34], [35], [36]])
        var opened: [UInt8] = []
        for packet in gateway.packets(2) where packet.bytes[0] > opened.last ?? 0 { opened += packet.bytes }
        #expect(opened == [35, 36], "34 is lost with the store, and delivery must send it again")
    }

    @Test func `A will published after a newer connection's presence is corrected`() throws {
        var (gateway, _, watch) = try Self.pair()
        _ = gateway.store.values.set([0], MailboxValue.presence, of: watch.description)
        gateway.core.changed(.changed(name: MailboxValue.presence, stream: watch.description), gateway.now)
        gateway.carryOut()
        #expect(gateway.store.values.values([MailboxValue.presence], of: watch.description).values.first == [1, 2])
    }

    @Test func `Invalid frames, and frames out of place, end only their connection`() throws {
        var (gateway, phone, watch) = try Self.pair()
        gateway.say([0xff, 1, 2], 1)
        #expect(gateway.closed[1] == .decodeError && gateway.closed[2] == nil)
        gateway.say(.open(gateway.opening(watch)), 2)
        #expect(gateway.closed[2] == .alreadyAuthenticated)
        // Requests before the mailbox is open are ignored.
        gateway.core.open(4, challenge: [UInt8](repeating: 0, count: 32), gateway.now)
        let writes = gateway.writes.count
        gateway.say(.post(MailboxPost(number: 1, to: phone, lane: .queue, bytes: [])), 4)
        gateway.say(.follow([phone]), 4)
        #expect(gateway.writes.count == writes && gateway.closed[4] == nil)
    }

    @Test func `A device that reads nothing costs a bounded number of bytes, and is closed`() throws {
        var settings = MailboxSettings()
        settings.unsentBytesMax = 1000
        var (gateway, _, watch) = try Self.pair(settings)
        for number in 0..<200 {
            gateway.say(
                .post(
                    MailboxPost(
                        number: UInt64(number + 2), to: watch, lane: .queue, bytes: [UInt8](repeating: 7, count: 100))),
                1)
            gateway.say(
                .post(MailboxPost(number: 0, to: watch, lane: .datagram, bytes: [UInt8](repeating: 8, count: 100))), 1)
            gateway.core.flushed(10_000, on: 1, gateway.now)
        }
        #expect(gateway.packets(2).count < 20)
        for _ in 0..<35 {
            gateway.say(.heartbeat, 2)
            gateway.wait(.seconds(1))
        }
        #expect(gateway.closed[2] == .unknownError && gateway.closed[1] == nil)
    }

    @Test func `A store that doesn't answer pauses reading from a device, and memory doesn't grow`() throws {
        var settings = MailboxSettings()
        settings.writesMax = 8
        var (gateway, _, watch) = try Self.pair(settings)
        gateway.answersWrites = false
        for number in 0..<8 {
            gateway.say(.post(MailboxPost(number: UInt64(number + 2), to: watch, lane: .queue, bytes: [1])), 1)
        }
        #expect(gateway.paused == [1])
        for write in gateway.writes.suffix(8).prefix(4) { gateway.perform(write, 1) }
        gateway.carryOut()
        #expect(gateway.paused.isEmpty)
    }

    @Test func `A device that sends much at once is paused for a while and loses nothing`() throws {
        var settings = MailboxSettings()
        (settings.framesAtOnce, settings.framesPerSecond) = (20, 10)
        var (gateway, _, watch) = try Self.pair(settings)
        func post(_ number: UInt64) {
            gateway.say(.post(MailboxPost(number: number, to: watch, lane: .queue, bytes: [9])), 1)
        }
        for number in 2...30 as ClosedRange<UInt64> { post(number) }
        #expect(gateway.paused == [1] && gateway.closed.isEmpty)
        #expect(gateway.packets(2).count == 29)
        gateway.wait(.seconds(1))
        #expect(gateway.paused.isEmpty)
        for number in 31...39 as ClosedRange<UInt64> { post(number) }
        #expect(gateway.paused.isEmpty && gateway.packets(2).count == 38)
        // A socket that ignores the pause is closed.
        for number in 40...70 as ClosedRange<UInt64> { post(number) }
        #expect(gateway.closed == [1: .rateLimited])
    }

    @Test func `A device that keeps changing whom it follows is closed, and the store isn't asked again`() throws {
        var settings = MailboxSettings()
        settings.followsAtOnce = 4
        var gateway = Gateway(settings)
        gateway.open(1, try Self.id(1))
        for number in 10..<20 { gateway.say(.follow([try Self.id(UInt8(number))]), 1) }
        #expect(gateway.closed[1] == .rateLimited)
        #expect(gateway.writes.count { if case .admit = $0 { true } else { false } } == 4)
    }

    @Test func `A user's number of devices is limited, and known devices can return`() throws {
        var settings = MailboxSettings()
        settings.mailboxesPerUser = 2
        var gateway = Gateway(settings)
        for number in 1...3 { gateway.open(number, try Self.id(UInt8(number))) }
        #expect(gateway.closed == [3: .rateLimited])
        gateway.open(4, try Self.id(1))
        gateway.open(5, try Self.id(9), token: "bert")
        #expect(gateway.closed[4] == nil && gateway.closed[5] == nil)
    }

    @Test func `Many devices of one user are read no faster than two, and other users' devices as before`() throws {
        var settings = MailboxSettings()
        (settings.framesAtOnce, settings.framesPerSecond) = (20, 10)
        var gateway = Gateway(settings)
        for key in 1...4 { gateway.open(key, try Self.id(UInt8(key)), token: "eve") }
        gateway.open(5, try Self.id(5))
        for _ in 0..<12 { for key in 1...4 { gateway.say(.heartbeat, key) } }
        #expect(gateway.paused == [1, 2, 3, 4] && gateway.closed.isEmpty)
        gateway.wait(.seconds(1))
        #expect(gateway.paused.isEmpty)
    }

    @Test func `While much of a user's work waits for the store, the user's devices aren't read, including new ones`()
        throws
    {
        var gateway = Gateway()
        gateway.open(1, try Self.id(1), token: "eve")
        gateway.open(2, try Self.id(2))
        gateway.core.strain("eve", true)
        gateway.open(3, try Self.id(3), token: "eve")
        gateway.carryOut()
        #expect(gateway.paused == [1, 3] && gateway.closed.isEmpty)
        gateway.core.strain("eve", false)
        gateway.carryOut()
        #expect(gateway.paused.isEmpty)
    }

    @Test func `However often values change, at most one query for them is open`() throws {
        var (gateway, phone, watch) = try Self.pair()
        _ = gateway.core.takeDirectives()
        for number in 0..<100 {
            gateway.core.changed(.changed(name: "latest/\(phone)/\(number)", stream: watch.description), gateway.now)
            gateway.core.changed(.changed(name: MailboxValue.presence, stream: phone.description), gateway.now)
        }
        let directives = gateway.core.takeDirectives()
        #expect(directives.count { if case .find(_, watch.description) = $0.directive { true } else { false } } == 1)
        #expect(directives.count { if case .find(_, phone.description) = $0.directive { true } else { false } } == 1)
        #expect(directives.count { if case .view = $0.directive { true } else { false } } == 1)
        // Once that is answered, one question covers every change.
        gateway.core.found([:], on: 2, gateway.now)
        guard case .find(let names?, _) = gateway.core.takeDirectives().first?.directive else {
            Issue.record("no question follows")
            return
        }
        #expect(names.count == 99)
    }

    @Test func `A gateway serves the mailboxes of its devices, and of devices that they follow while they do`() throws {
        var (gateway, phone, watch) = try Self.pair()
        let other = try Self.id(3)
        #expect(gateway.served == [phone.description: 2, watch.description: 2])
        gateway.say(.follow([other]), 1)
        #expect(gateway.served[watch.description] == 1)
        #expect(gateway.served[other.description] == 1)
        for key in [1, 2] { gateway.core.remove(key) }
        gateway.carryOut()
        #expect(gateway.served.values.allSatisfy { $0 == 0 })
    }

    @Test func `If changes may be missing, the store is asked for all of them`() throws {
        var (gateway, phone, watch) = try Self.pair()
        _ = gateway.core.takeDirectives()
        gateway.core.changed(.missed(stream: watch.description), gateway.now)
        let directives = gateway.core.takeDirectives().map(\.directive)
        #expect(directives == [.view(stream: watch.description), .find(names: nil, stream: watch.description)])
        gateway.core.noticed(.missed(in: phone.description), gateway.now)
        guard case .read(phone.description, _, _) = gateway.core.takeDirectives().first?.directive else {
            Issue.record("the queue isn't read")
            return
        }
    }

    @Test func `A device that the app removes is disconnected, leaves nothing, and gets no more messages`() throws {
        var (gateway, _, watch) = try Self.pair()
        gateway.say(.post(MailboxPost(number: 2, to: watch, lane: .queue, bytes: [9])), 1)
        for word in gateway.store.remove(watch.description).words { gateway.core.changed(word, gateway.now) }
        gateway.carryOut()
        #expect(gateway.closed == [2: .authenticationFailed])
        gateway.core.remove(2)
        gateway.say(.post(MailboxPost(number: 3, to: watch, lane: .queue, bytes: [9])), 1)
        gateway.carryOut()
        #expect(gateway.refusals(1) == ["that mailbox doesn't admit this device"])
        #expect(gateway.store.values.values(nil, of: watch.description).isEmpty)
    }

    @Test func `A device whose admissions can't be stored is closed, and gets no frame afterwards`() throws {
        var gateway = Gateway()
        let phone = try Self.id(1)
        gateway.core.open(1, challenge: [UInt8](repeating: 1, count: 32), gateway.now)
        gateway.say(.open(gateway.opening(phone)), 1)
        gateway.core.receive(MailboxRequest.follow([try Self.id(2)]).bytes, on: 1, gateway.now)
        for (key, directive) in gateway.core.takeDirectives() {
            if case .write(let write) = directive { gateway.core.wrote(write, .full, on: key, gateway.now) }
            if case .view(let stream) = directive { gateway.core.viewed([:], of: stream, gateway.now) }
        }
        gateway.carryOut()
        #expect(gateway.news[1]?.contains(.following) == false && gateway.closed[1] == .rateLimited)
    }

    @Test(
        arguments: [
            (.milliseconds(1500), 1500), (.milliseconds(500), 1000), (.seconds(-1), 1000), (.seconds(3600), 600_000),
        ] as [(Duration, UInt64)])
    func `A device that keeps the announced heartbeat interval stays connected`(
        interval: Duration, announced: UInt64
    ) throws {
        var settings = MailboxSettings()
        settings.heartbeatInterval = interval
        var gateway = Gateway(settings)
        gateway.open(1, try Self.id(1))
        #expect(gateway.news[1]?.first == .challenge([UInt8](repeating: 1, count: 32), heartbeat: announced))
        let end = gateway.now + .milliseconds(announced * 2)
        gateway.core.tick(end - .nanoseconds(1))
        gateway.carryOut()
        #expect(gateway.closed[1] == nil)
        gateway.core.tick(end)
        gateway.carryOut()
        #expect(gateway.closed[1] == .unknownError)
    }

    @Test func `A post that is held back is refused when its device stops following the mailbox`() throws {
        var gateway = Gateway()
        let (phone, watch) = (try Self.id(1), try Self.id(2))
        gateway.open(2, watch)
        gateway.open(1, phone, follows: [watch])
        gateway.now += .seconds(2)
        let post = MailboxPost(number: 5, to: watch, lane: .queue, bytes: [1])
        gateway.core.receive(MailboxRequest.post(post).bytes, on: 1, gateway.now)
        // The store doesn't answer whether the watch admits the phone by now.
        #expect(gateway.core.takeDirectives().map(\.directive) == [.view(stream: watch.description)])
        gateway.say(.follow([]), 1)
        #expect(gateway.refusals(1) == ["this device doesn't follow that mailbox"])
    }

    @Test func `A full mailbox is reported`() throws {
        var (gateway, _, watch) = try Self.pair()
        gateway.answersWrites = false
        gateway.say(.post(MailboxPost(number: 5, to: watch, lane: .latest, key: "k", bytes: [1])), 1)
        let write = try #require(gateway.writes.last)
        gateway.core.wrote(write, .full, on: 1, gateway.now)
        gateway.carryOut()
        #expect(gateway.refusals(1) == ["that mailbox is full for this device"])
    }

    @Test func `Values beyond either bound change nothing`() {
        var values = MailboxValues(streamsMax: 1)
        func sets(_ count: Int, _ name: String) -> Bool {
            values.set([UInt8](repeating: 1, count: count), name, of: "a")
        }
        let names = (0..<MailboxBounds.valuesMax).map { "\($0)" }
        let outcomes = names.map { sets(0, $0) }
        #expect(outcomes.allSatisfy { $0 })
        let (isOneMoreTaken, isOneAnewTaken) = (sets(0, "more"), sets(1, "0"))
        #expect(!isOneMoreTaken && isOneAnewTaken)
        let (isAllTaken, isBeyondTaken) = (sets(MailboxBounds.bytesMax, "0"), sets(1, "1"))
        #expect(isAllTaken && !isBeyondTaken)
        #expect(values.values(["1"], of: "a") == ["1": []])
    }

    @Test func `A user whose last mailbox has another user now is forgotten`() {
        var values = MailboxValues(streamsMax: 10)
        for number in 0..<100 {
            #expect(values.enrol("mailbox", of: "user \(number)", max: 1, .zero) == [])
        }
        #expect(values.mailboxes == ["user 99": ["mailbox"]])
    }

    @Test func `A refused enrolment removes no mailbox`() {
        var values = MailboxValues(streamsMax: 10)
        for (mailbox, time) in [("a", 0), ("b", 1), ("c", 1)] {
            #expect(values.enrol(mailbox, of: "anna", max: 3, .seconds(time)) == [])
        }
        // A gateway with a lower maximum enrols after the first mailbox has become idle.
        let later = MailboxBounds.idle + .seconds(1)
        #expect(values.enrol("d", of: "anna", max: 2, later) == nil)
        #expect(values.mailboxes == ["anna": ["a", "b", "c"]])
        #expect(values.enrol("d", of: "anna", max: 3, later) == ["a"])
        #expect(values.mailboxes == ["anna": ["b", "c", "d"]])
    }

    @Test func `A refused value makes no mailbox, and a mailbox without a registration gives way to a new one`() {
        var values = MailboxValues(streamsMax: 2)
        let tooLarge = [UInt8](repeating: 1, count: MailboxBounds.bytesMax + 1)
        for stream in ["x", "y"] { #expect(values.set(tooLarge, "value", of: stream) == false) }
        #expect(values.enrol("a", of: "anna", max: 9, .zero) == [])
        #expect(values.enrol("b", of: "bernd", max: 9, .zero) == [])
        #expect(values.enrol("c", of: "carla", max: 9, .seconds(1)) == nil)
        // A write that was under way when the mailbox was removed.
        values.remove("b")
        #expect(values.set([1], "value", of: "b") == true)
        #expect(values.enrol("c", of: "carla", max: 9, .seconds(2)) == ["b"])
    }

    /// A device that has dialed another gateway has signed for that gateway's name.
    @Test(arguments: [
        ("gateway.example", "gateway.example", true), ("eu.example.org", "eu.example.org", true),
        ("rogue.example", "rogue.example", false), ("a.eu.example.org", "a.eu.example.org", false),
        ("example.org", "example.org", false), ("rogue.example", "gateway.example", false),
    ])
    func `A signature for another server opens nothing`(signedFor: String, said: String, isOpened: Bool) throws {
        var settings = MailboxSettings()
        settings.serverNames = ["gateway.example", "*.example.org"]
        // The signature is simply a copy of the bytes to be signed.
        var core = MailboxCore(settings) { key, signature, signed in signature == signed ? MailboxID(bytes: key) : nil }
        let challenge = [UInt8](repeating: 7, count: MailboxFrame.challengeByteCount)
        core.open(1, challenge: challenge, .zero)
        let opening = MailboxOpening(
            token: "anna", publicKey: try Self.id(1).bytes,
            signature: MailboxFrame.signed(challenge, server: signedFor), will: [0], server: said)
        core.receive(MailboxRequest.open(opening).bytes, on: 1, .zero)
        let directives = core.takeDirectives().map(\.directive)
        #expect(directives.contains(.authenticate(token: "anna")) == isOpened)
        let isRefused = directives.contains { if case .close(.authenticationFailed, _) = $0 { true } else { false } }
        #expect(isRefused != isOpened)
    }

    @Test(arguments: [true, false])
    func `A device of an earlier version may sign for any server, if that is allowed`(isAccepted: Bool) throws {
        var settings = MailboxSettings()
        settings.serverNames = ["gateway.example"]
        settings.acceptsUnnamedServer = isAccepted
        var gateway = Gateway(settings)
        gateway.open(1, try Self.id(1))
        #expect((gateway.closed[1] == nil) == isAccepted)
    }
}
