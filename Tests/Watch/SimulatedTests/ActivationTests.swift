import Foundation
import MeshBase
import MeshSimulatedWatch
import Testing

@Suite struct ActivationTests {
    @Test("Outside a simulation WatchConnectivity isn't supported")
    func unsupported() async throws {
        #expect(!WCSession.isSupported())
        let session = WCSession.default
        #expect(session === WCSession.default)
        session.activate()
        #expect(session.activationState == .notActivated)
        #expect(!session.isReachable && !session.isPaired && session.watchDirectoryURL == nil)
        #expect(throws: WCError.self) { try session.updateApplicationContext([:]) }
        #expect(!session.transferUserInfo(["a": 1]).isTransferring)
        let code = await withCheckedContinuation { continuation in
            session.sendMessage(["a": 1], replyHandler: nil) { continuation.resume(returning: ($0 as NSError).code) }
        }
        #expect(code == 7002)
    }

    @Test("Activation is asynchronous, and no call comes before it")
    func asynchronous() throws {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let app = TestApp(try pair.phone.launched(), activates: false)
        let watch = TestApp(try pair.watch.launched())
        pair.runUntilIdle()
        watch.session.transferUserInfo(["n": 1])
        try watch.session.updateApplicationContext(["n": 2])
        watch.send(3)
        pair.runUntilIdle(within: .seconds(1))
        #expect(app.events.isEmpty)
        app.session.activate()
        #expect(app.session.activationState == .notActivated)
        pair.runUntilIdle()
        #expect(app.session.activationState == .activated)
        #expect(app.events == [.activated(.activated, nil), .message(3), .context(2), .userInfo(1)])
    }

    @Test("Without a delegate nothing is activated and nothing is sent")
    func missingDelegate() throws {
        let running = try Running()
        let session = running.phone.session
        session.delegate = nil
        #expect(throws: WCError(.sessionMissingDelegate)) { try session.updateApplicationContext(["n": 1]) }
        let fresh = try #require(running.pair.watch.relaunch())
        fresh.activate()
        running.pair.runUntilIdle()
        #expect(fresh.activationState == .notActivated)
    }

    @Test("The session holds its delegate weakly")
    func weakDelegate() throws {
        let pair = SimulatedWatchPair(seed: 1)
        let session = try pair.phone.launched()
        var app: TestApp? = TestApp(session, activates: false)
        #expect(session.delegate === app)
        app = nil
        #expect(session.delegate == nil)
    }

    @Test("Activation can fail, and succeed on a retry")
    func failure() throws {
        var conditions = SimulatedWatchConditions.ideal
        conditions.activationFailureRate = 1
        let pair = SimulatedWatchPair(seed: 1, conditions: conditions)
        let app = TestApp(try pair.phone.launched())
        pair.runUntilIdle()
        #expect(app.events == [.activated(.notActivated, .genericError)])
        pair.conditions = .ideal
        app.session.activate()
        pair.runUntilIdle()
        #expect(app.events.last == .activated(.activated, nil))
    }

    @Test("A session's properties of the counterpart are false and empty until it has been activated")
    func blankBeforeActivation() throws {
        let running = try Running()
        try running.watch.session.updateApplicationContext(["n": 1])
        running.pair.runUntilIdle()
        let session = try #require(running.pair.phone.relaunch())
        #expect(!session.isPaired && !session.isWatchAppInstalled && !session.isReachable)
        #expect(session.receivedApplicationContext.isEmpty && session.outstandingUserInfoTransfers.isEmpty)
        let app = TestApp(session)
        running.pair.runUntilIdle()
        #expect(session.isPaired && session.isWatchAppInstalled && session.isReachable)
        #expect(session.receivedApplicationContext["n"] as? Int == 1)
        #expect(app.events == [.activated(.activated, nil)])
    }

    @Test("Each launch gives a new session, and a killed app's session does nothing")
    func relaunch() throws {
        let running = try Running()
        let old = running.phone.session
        let fresh = try #require(running.pair.phone.relaunch())
        #expect(fresh !== old && running.pair.phone.session === fresh)
        #expect(old.activationState == .notActivated && old.delegate == nil)
        old.delegate = running.phone
        old.activate()
        old.transferUserInfo(["n": 1])
        running.phone.send(2)
        running.pair.runUntilIdle()
        #expect(running.phone.events.isEmpty && !running.watch.events.contains(.userInfo(1)))
    }

    @Test("Code of an app finds its session as the default one, in tasks and callbacks too")
    func currentSession() async throws {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        let isSame = Locked<[Bool]>([])
        let app = Locked<TestApp?>(nil)
        pair.phone.onLaunch { session in
            isSame.withLock { $0.append(WCSession.default === session && WCSession.isSupported()) }
            let launched = TestApp(WCSession.default)
            launched.onEvent.withLock { $0 = { _ in isSame.withLock { $0.append(WCSession.isSupported()) } } }
            app.withLock { $0 = launched }
        }
        pair.phone.launch()
        pair.runUntilIdle()
        let id = ObjectIdentifier(try #require(pair.phone.session))
        let task = pair.phone.run { Task { ObjectIdentifier(WCSession.default) == id } }
        #expect(await task.value)
        #expect(isSame.withLock { $0 } == [true, true])
        #expect(!WCSession.isSupported())
    }

    @Test("An app is never called on the main thread, even if that thread advances the pair")
    @MainActor func offMainThread() throws {
        #expect(isMainThread)
        let running = try Running()
        running.watch.send(1, wantsReply: true)
        running.pair.advance(by: .seconds(1))
        #expect(running.watch.events == [.replied(101)])
        #expect(running.phone.events == [.request(1)])
        #expect(running.watch.callsOnMainThread + running.phone.callsOnMainThread == 0)
    }

    @Test("A suspended app gets no call until it runs again, and then gets all")
    func suspension() throws {
        let running = try Running()
        running.pair.phone.suspend()
        running.watch.session.transferUserInfo(["n": 1])
        running.watch.session.transferUserInfo(["n": 2])
        try running.watch.session.updateApplicationContext(["n": 3])
        running.pair.runUntilIdle()
        #expect(running.phone.events.isEmpty)
        #expect(running.watch.events == [.finishedUserInfo(1, nil), .finishedUserInfo(2, nil)])
        running.pair.phone.resume()
        running.pair.runUntilIdle()
        #expect(running.phone.events == [.context(3), .userInfo(1), .userInfo(2)])
    }

    @Test("An app may use its session when its last reference is released with a callback")
    func lastReference() throws {
        final class Owner: Sendable {
            nonisolated(unsafe) let session: WCSession
            let ended: Locked<Int>
            init(_ session: WCSession, _ ended: Locked<Int>) {
                self.session = session
                self.ended = ended
            }
            deinit {
                session.delegate = nil
                session.sendMessage(["n": 1], replyHandler: nil)
                ended.withLock { $0 += 1 }
            }
        }
        let ended = Locked(0)
        do {
            let running = try Running()
            let (pair, watch) = (running.pair, running.watch)
            running.phone.answers.withLock { $0 = false }
            for _ in 0..<3 {
                let owner = Owner(watch.session, ended)
                watch.session.sendMessage(["n": 1]) { _ in
                    _ = owner
                } errorHandler: { _ in
                    _ = owner
                }
            }
            pair.advance(by: .seconds(60))
            #expect(ended.withLock { $0 } == 3)
            watch.session.delegate = watch
            for _ in 0..<3 {
                let owner = Owner(watch.session, ended)
                watch.session.sendMessage(["n": 1]) { _ in
                    _ = owner
                } errorHandler: { _ in
                    _ = owner
                }
                pair.watch.onLaunch { _ in _ = owner }
            }
            pair.watch.kill()
            pair.advance(by: .seconds(60))
            #expect(ended.withLock { $0 } == 5)
        }
        #expect(ended.withLock { $0 } == 6)
    }
}
