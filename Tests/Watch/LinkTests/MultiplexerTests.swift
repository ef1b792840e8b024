import Foundation
import MeshBase
import MeshSimulatedWatch
import MeshWatchConnectivityTransport
import Testing

/// The single delegate slot and the objects that share it.
@Suite struct MultiplexerTests {
    enum Step: CaseIterable { case mesh, app, activation }

    /// Creates a user of the slot for a session. It calls `onMesh` when it gets something that belongs to the mesh.
    typealias Sharer = @Sendable (WCSession, _ onMesh: @escaping @Sendable () -> Void) -> AnyObject

    @Test func `M14 the app's delegate and the mesh both get their own messages, in every order of construction`() {
        #expect(complaint(about: Self.multiplexer) == nil)
        #expect(complaint(about: Self.capturing) != nil)
    }

    /// The rule: in every order of construction, the mesh gets what belongs to it, and the app's own delegate gets everything
    /// else, even after the session was reactivated.
    private func complaint(about sharer: Sharer) -> String? {
        for order in Self.orders {
            let pair = SimulatedWatchPair(seed: 1, conditions: .ideal, watches: 2)
            guard let phone = pair.phone.launch(), let watch = pair.watch.launch() else { return "nothing runs" }
            let sender = Recorder(watch)
            let meshCount = Locked(0)
            let app = Recorder()
            var kept: AnyObject?
            for step in order {
                switch step {
                case .mesh: kept = sharer(phone) { meshCount.withLock { $0 += 1 } }
                case .app: phone.delegate = app
                case .activation: phone.activate()
                }
                pair.runUntilIdle()
            }
            watch.transferUserInfo(["app": 1])
            watch.transferUserInfo(["sessionmesh.test": 1])
            pair.runUntilIdle()
            if meshCount.withLock({ $0 }) != 1 { return "\(order): the mesh missed what is its own" }
            if app.userInfos != [["app"]] { return "\(order): the app got \(app.userInfos)" }

            // Switching to another watch and back reactivates the session.
            pair.switchTo(pair.watches[1])
            pair.runUntilIdle()
            pair.switchTo(pair.watch)
            pair.runUntilIdle()
            watch.transferUserInfo(["app": 2])
            watch.transferUserInfo(["sessionmesh.test": 2])
            pair.runUntilIdle()
            if meshCount.withLock({ $0 }) != 2 { return "\(order): the mesh missed what came after a switch" }
            if app.userInfos != [["app"], ["app"]] { return "\(order): after a switch the app got \(app.userInfos)" }
            withExtendedLifetime((kept, sender)) {}
        }
        return nil
    }

    private static let orders: [[Step]] = [
        [.mesh, .app, .activation], [.mesh, .activation, .app], [.app, .mesh, .activation],
        [.app, .activation, .mesh], [.activation, .mesh, .app], [.activation, .app, .mesh],
    ]

    private static let multiplexer: Sharer = { session, onMesh in
        let multiplexer = WatchSessionMultiplexer.of(session)
        let listener = TestListener { content in
            guard case .userInfo(let userInfo) = content, userInfo["sessionmesh.test"] != nil else { return false }
            onMesh()
            return true
        }
        multiplexer.attach(listener)
        multiplexer.activate()
        return [multiplexer, listener] as NSArray
    }

    private static let capturing: Sharer = { session, onMesh in
        CapturingDelegate(session, isMesh: { $0["sessionmesh.test"] != nil }, onMesh: onMesh)
    }

    @Test func `A session has one multiplexer, which restores the delegate when it is released`() throws {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let session = try #require(pair.phone.launch())
        let app = Recorder(session)
        var multiplexer: WatchSessionMultiplexer? = .of(session)
        #expect(multiplexer === WatchSessionMultiplexer.of(session))
        #expect(session.delegate === multiplexer)
        #expect(multiplexer?.appDelegate === app)
        multiplexer = nil
        #expect(session.delegate === app)
    }

    @Test func `The mesh's messages wait for a listener that attaches late`() throws {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let phone = try #require(pair.phone.launch())
        let watch = try #require(pair.watch.launch())
        let sender = Recorder(watch)
        let app = Recorder(phone)
        let multiplexer = WatchSessionMultiplexer.of(phone)
        multiplexer.activate()
        pair.runUntilIdle()
        watch.transferUserInfo(["sessionmesh.late": 7])
        pair.runUntilIdle()
        let count = Locked(0)
        let listener = TestListener { _ in
            count.withLock { $0 += 1 }
            return true
        }
        multiplexer.attach(listener)
        #expect(count.withLock { $0 } == 1)
        #expect(app.userInfos.isEmpty)
        withExtendedLifetime(sender) {}
    }

    @Test(arguments: [true, false])
    func `A listener that attaches while another one is asked gets its user infos`(isEarly: Bool) throws {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let phone = try #require(pair.phone.launch())
        let watch = try #require(pair.watch.launch())
        let sender = Recorder(watch)
        let multiplexer = WatchSessionMultiplexer.of(phone)
        multiplexer.activate()
        let count = Locked(0)
        let second = TestListener { _ in
            count.withLock { $0 += 1 }
            return true
        }
        let isAttached = Locked(false)
        let first = TestListener { _ in
            let isFirst = isAttached.withLock { isAttached in
                defer { isAttached = true }
                return !isAttached
            }
            if isFirst { multiplexer.attach(second) }
            return false
        }
        pair.runUntilIdle()
        if !isEarly { multiplexer.attach(first) }
        watch.transferUserInfo(["sessionmesh.second": 7])
        pair.runUntilIdle()
        if isEarly { multiplexer.attach(first) }
        #expect(count.withLock { $0 } == 1)
        withExtendedLifetime((sender, first, second)) {}
    }

    @Test func `A delegate that forwards to the previous delegate creates no cycle`() throws {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let phone = try #require(pair.phone.launch())
        let watch = try #require(pair.watch.launch())
        let sender = Recorder(watch)
        let multiplexer = WatchSessionMultiplexer.of(phone)
        let app = CapturingDelegate(phone, isMesh: { _ in false }, onMesh: {})
        pair.runUntilIdle()
        watch.transferUserInfo(["app": 1])
        pair.runUntilIdle()
        #expect(phone.delegate === multiplexer)
        #expect(multiplexer.appDelegate === app)
        withExtendedLifetime(sender) {}
    }

    @Test func `Requests that the mesh doesn't accept are answered by the app, or not at all`() throws {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let phone = try #require(pair.phone.launch())
        let watch = try #require(pair.watch.launch())
        let sender = Recorder(watch)
        let app = Recorder(phone)
        let multiplexer = WatchSessionMultiplexer.of(phone)
        multiplexer.activate()
        pair.runUntilIdle()
        let answers = Locked<[Int]>([])
        let errors = Locked<[WCError.Code?]>([])
        func ask(_ number: Int) {
            watch.sendMessage(
                ["n": number], replyHandler: { reply in answers.withLock { $0.append(reply["n"] as? Int ?? -1) } },
                errorHandler: { error in errors.withLock { $0.append((error as? WCError)?.code) } })
            pair.runUntilIdle()
        }
        ask(1)
        #expect(answers.withLock { $0 } == [101])
        multiplexer.appDelegate = nil
        ask(2)
        pair.advance(by: .seconds(11))
        #expect(answers.withLock { $0 } == [101])
        #expect(errors.withLock { $0 } == [.messageReplyTimedOut])
        withExtendedLifetime((sender, app)) {}
    }

    @Test func `The app gets its part of an application context if that part has changed`() throws {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let phone = try #require(pair.phone.launch())
        let watch = try #require(pair.watch.launch())
        let sender = Recorder(watch)
        let app = Recorder(phone)
        let multiplexer = WatchSessionMultiplexer.of(phone)
        multiplexer.activate()
        pair.runUntilIdle()
        for context in [
            ["sessionmesh.x": 1], ["app": 1, "sessionmesh.x": 1], ["app": 1, "sessionmesh.x": 2], ["app": 2],
        ] {
            try watch.updateApplicationContext(context)
            pair.runUntilIdle()
        }
        #expect(app.contexts == [["app"], ["app"]])
        withExtendedLifetime((sender, multiplexer)) {}
    }

    @Test func `W24 an injected session's reachability is observed`() async {
        let session = InjectedSession()
        let multiplexer = WatchSessionMultiplexer.of(session)
        multiplexer.activate()
        var states = multiplexer.states().makeAsyncIterator()
        #expect(await states.next()?.isReachable == false)
        session.isReachable = true
        while let state = await states.next() { if state.isReachable { break } }
        session.isReachable = false
        while let state = await states.next() { if !state.isReachable { break } }
    }
}
