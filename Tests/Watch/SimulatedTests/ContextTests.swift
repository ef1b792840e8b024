import Foundation
import MeshSimulatedWatch
import Testing

@Suite struct ContextTests {
    @Test("An application context replaces a pending one")
    func replacement() throws {
        let running = try Running()
        running.pair.watch.isInRange = false
        for number in 1...5 { try running.phone.session.updateApplicationContext(["n": number]) }
        running.pair.runUntilIdle()
        running.pair.watch.isInRange = true
        running.pair.runUntilIdle()
        #expect(running.watch.events.filter { if case .context = $0 { true } else { false } } == [.context(5)])
        #expect(running.phone.session.applicationContext["n"] as? Int == 5)
        #expect(running.watch.session.receivedApplicationContext["n"] as? Int == 5)
        #expect(running.watch.session.applicationContext.isEmpty)
    }

    @Test("A context that is sent while another is in flight follows it")
    func following() throws {
        let running = try Running(.calm)
        try running.phone.session.updateApplicationContext(["n": 1])
        try running.phone.session.updateApplicationContext(["n": 2])
        try running.phone.session.updateApplicationContext(["n": 3])
        running.pair.runUntilIdle()
        #expect(running.watch.events == [.context(1), .context(3)])
    }

    @Test("An identical context is not delivered again, not even after a relaunch")
    func identical() throws {
        let running = try Running()
        try running.phone.session.updateApplicationContext(["n": 1, "x": ["y": true]])
        running.pair.runUntilIdle()
        try running.phone.session.updateApplicationContext(["x": ["y": true], "n": 1])
        running.pair.runUntilIdle()
        let phone = TestApp(try #require(running.pair.phone.relaunch()))
        running.pair.runUntilIdle()
        try phone.session.updateApplicationContext(["n": 1, "x": ["y": true]])
        running.pair.runUntilIdle()
        #expect(running.watch.events.filter { $0 == .context(1) }.count == 1)
        try phone.session.updateApplicationContext(["n": 1, "x": ["y": true], "nonce": 2])
        running.pair.runUntilIdle()
        #expect(running.watch.events.filter { $0 == .context(1) }.count == 2)
    }

    @Test("A context changed and changed back before delivery isn't delivered again")
    func thereAndBack() throws {
        let running = try Running()
        try running.phone.session.updateApplicationContext(["n": 1])
        running.pair.runUntilIdle()
        running.pair.watch.isInRange = false
        try running.phone.session.updateApplicationContext(["n": 2])
        try running.phone.session.updateApplicationContext(["n": 1])
        running.pair.watch.isInRange = true
        running.pair.runUntilIdle()
        #expect(running.watch.events.filter { $0 == .context(1) || $0 == .context(2) } == [.context(1)])
    }

    @Test("A returning app gets the newest context once, and the received one survives relaunches")
    func relaunch() throws {
        let running = try Running()
        running.pair.watch.kill()
        for number in 1...3 {
            try running.phone.session.updateApplicationContext(["n": number])
            running.pair.runUntilIdle()
        }
        let watch = TestApp(try running.pair.watch.launched())
        #expect(!watch.session.hasContentPending)
        running.pair.runUntilIdle()
        #expect(watch.events.filter { $0 != .reachable(true) } == [.activated(.activated, nil), .context(3)])
        let again = TestApp(try #require(running.pair.watch.relaunch()))
        running.pair.runUntilIdle()
        #expect(again.events == [.activated(.activated, nil)])
        #expect(again.session.receivedApplicationContext["n"] as? Int == 3)
    }

    @Test("A context is rejected with the specific code")
    func refusals() throws {
        let running = try Running()
        let session = running.phone.session
        #expect(throws: WCError(.payloadUnsupportedTypes)) { try session.updateApplicationContext(["n": NSNull()]) }
        #expect(throws: WCError(.payloadTooLarge)) {
            try session.updateApplicationContext(["n": Data(count: 262_144)])
        }
        try session.updateApplicationContext(["n": Data(count: 262_000)])
        running.pair.watch.uninstall()
        #expect(throws: WCError(.watchAppNotInstalled)) { try session.updateApplicationContext(["n": 1]) }
        let fresh = TestApp(try #require(running.pair.phone.relaunch()))
        do {
            try fresh.session.updateApplicationContext(["n": 1])
            Issue.record("refused nothing")
        } catch WCError.sessionNotActivated {
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test("Blocked callers are counted, separately on the main thread")
    @MainActor func blocking() throws {
        var conditions = SimulatedWatchConditions.ideal
        conditions.contextBlocking = .milliseconds(200) ... .milliseconds(200)
        let running = try Running(conditions)
        for number in 1...5 { try running.phone.session.updateApplicationContext(["n": number]) }
        #expect(running.pair.statistics.contextBlocking == .seconds(1))
        #expect(running.pair.statistics.mainThreadBlocks == 5)
    }
}
