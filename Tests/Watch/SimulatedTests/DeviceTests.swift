import Foundation
import MeshBase
import MeshSimulatedWatch
import Testing

@Suite struct DeviceTests {
    @Test(
        "Switching watches makes the phone's session inactive, then deactivates it; activated anew it talks to the other"
    )
    func switching() throws {
        let running = try Running(watches: 2)
        let (pair, phone) = (running.pair, running.phone)
        let other = TestApp(try pair.watches[1].launched())
        pair.runUntilIdle()
        #expect(!other.session.isReachable && phone.session.isReachable)
        phone.session.transferUserInfo(["n": 1])
        running.watch.session.transferUserInfo(["n": 2])
        other.session.transferUserInfo(["n": 3])
        pair.switchTo(pair.watches[1])
        #expect(phone.session.activationState == .inactive && pair.activeWatch == pair.watches[1])
        #expect(throws: WCError(.sessionInactive)) { try phone.session.updateApplicationContext(["n": 0]) }
        pair.runUntilIdle()
        #expect(phone.events == [.inactive, .deactivated])
        #expect(phone.session.activationState == .notActivated)
        #expect(!running.watch.session.isReachable)
        phone.session.activate()
        pair.runUntilIdle()
        #expect(phone.events.dropFirst(2) == [.activated(.activated, nil), .userInfo(3)])
        #expect(phone.session.outstandingUserInfoTransfers.isEmpty)
        try phone.session.updateApplicationContext(["n": 4])
        pair.runUntilIdle()
        #expect(other.events.contains(.context(4)) && !running.watch.events.contains(.context(4)))
        pair.switchTo(pair.watch)
        pair.runUntilIdle()
        phone.session.activate()
        pair.runUntilIdle()
        #expect(phone.events.contains(.userInfo(2)) && running.watch.events.contains(.userInfo(1)))
    }

    @Test("Content that arrived before the switch is delivered before the session is deactivated")
    func switchingLate() throws {
        let running = try Running(watches: 2)
        running.pair.phone.suspend()
        running.watch.session.transferUserInfo(["n": 1])
        running.pair.runUntilIdle()
        running.pair.switchTo(running.pair.watches[1])
        running.pair.runUntilIdle()
        #expect(running.phone.events.isEmpty)
        running.pair.phone.resume()
        running.pair.runUntilIdle()
        #expect(running.phone.events == [.inactive, .reachable(false), .userInfo(1), .deactivated])
    }

    @Test("A session that is activated while it is inactive stays so until it is deactivated")
    func activatingWhileInactive() throws {
        var conditions = SimulatedWatchConditions.ideal
        conditions.switchingDelay = .seconds(1) ... .seconds(1)
        let running = try Running(conditions, watches: 2)
        running.pair.switchTo(running.pair.watches[1])
        running.phone.session.activate()
        running.pair.runUntilIdle()
        #expect(
            running.phone.events.filter { $0 != .reachable(false) } == [
                .inactive, .activated(.inactive, nil), .deactivated,
            ])
    }

    @Test("A phone that needs to be unlocked after a restart cannot be reached, and wakes no app")
    func unlocking() throws {
        let running = try Running()
        running.pair.phone.restart()
        running.pair.runUntilIdle()
        let session = running.watch.session
        #expect(session.iOSDeviceNeedsUnlockAfterRebootForReachability && !session.isReachable)
        running.pair.watch.claimedReachability = true
        running.pair.runUntilIdle()
        running.watch.send(1)
        running.pair.runUntilIdle()
        #expect(running.watch.events.last == .failed(.deliveryFailed) && running.pair.phone.state == .notRunning)
        running.pair.phone.needsUnlock = false
        running.pair.watch.claimedReachability = nil
        running.pair.runUntilIdle()
        #expect(session.isReachable && !session.iOSDeviceNeedsUnlockAfterRebootForReachability)
    }

    @Test("Reachability can be false both ways")
    func lies() throws {
        let running = try Running()
        running.pair.watch.enterBackground()
        running.pair.phone.claimedReachability = true
        running.pair.runUntilIdle()
        #expect(running.phone.session.isReachable)
        running.phone.send(1)
        running.phone.send(2, wantsReply: true)
        running.pair.runUntilIdle()
        #expect(running.phone.events.suffix(2) == [.failed(.deliveryFailed), .failed(.deliveryFailed)])
        running.pair.watch.enterForeground()
        running.pair.phone.claimedReachability = false
        running.pair.runUntilIdle()
        #expect(running.phone.events.last == .reachable(false))
        running.phone.send(3)
        running.pair.runUntilIdle()
        #expect(running.phone.events.last == .failed(.notReachable))
        running.pair.phone.claimedReachability = nil
        running.pair.runUntilIdle()
        #expect(running.phone.events.last == .reachable(true) && running.watch.events.isEmpty == false)
    }

    @Test("Reachability flaps if configured, each time for a while")
    func flaps() throws {
        var conditions = SimulatedWatchConditions.ideal
        conditions.flapInterval = .seconds(10)
        let running = try Running(conditions)
        running.pair.advance(by: .seconds(600))
        let events = running.phone.events + running.watch.events
        #expect(events.filter { $0 == .reachable(false) }.count > 20)
        running.pair.conditions = .ideal
        running.pair.advance(by: .seconds(60))
        #expect(running.phone.session.isReachable && running.watch.session.isReachable)
    }

    @Test("Out of range nothing is reachable and no message passes; queued ones wait")
    func range() throws {
        let running = try Running()
        running.watch.send(1, wantsReply: true)
        running.pair.watch.isInRange = false
        running.pair.runUntilIdle()
        #expect(running.watch.events.contains(.failed(.deliveryFailed)))
        #expect(!running.watch.session.isReachable && !running.phone.session.isReachable)
        running.watch.session.transferUserInfo(["n": 2])
        running.pair.advance(by: .seconds(3600))
        #expect(running.phone.events == [.reachable(false)])
        running.pair.watch.isInRange = true
        running.pair.runUntilIdle()
        #expect(running.phone.events.contains(.userInfo(2)))
    }

    @Test("The phone's folder for a watch exists as long as the watch app")
    func watchDirectory() throws {
        let running = try Running(watches: 2)
        let url = try #require(running.phone.session.watchDirectoryURL)
        #expect(FileManager.default.fileExists(atPath: url.path))
        running.pair.watch.uninstall()
        #expect(running.phone.session.watchDirectoryURL == nil)
        #expect(!FileManager.default.fileExists(atPath: url.path))
        running.pair.runUntilIdle()
        #expect(running.phone.events.contains(.watchState))
    }

    @Test("Timers run in one order with everything else, at their time")
    func clock() throws {
        let running = try Running()
        let clock = running.pair.clock
        let start = clock.elapsed
        running.watch.session.transferUserInfo(["n": 1])
        let phone = running.phone
        clock.wake(at: start + .microseconds(500)) { phone.send(-1) }
        clock.wake(at: start + .seconds(5)) { phone.send(-2) }
        running.pair.runUntilIdle()
        #expect(running.watch.events == [.message(-1), .finishedUserInfo(1, nil)] || running.watch.events.count == 2)
        #expect(clock.elapsed < start + .seconds(1) && !clock.passesByItself)
        running.pair.advance(by: .seconds(6))
        #expect(running.watch.events.last == .message(-2))
        #expect(clock.wall.timeIntervalSince1970 > 1_750_000_006)
    }

    @Test("In real time events happen by themselves, off the main thread")
    func realTime() async throws {
        let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
        pair.runInRealTime()
        let phone = TestApp(try pair.phone.launched())
        #expect(pair.clock.passesByItself)
        await withCheckedContinuation { continuation in
            phone.onEvent.withLock { $0 = { event in if case .activated = event { continuation.resume() } } }
        }
        #expect(phone.callsOnMainThread == 0)
    }
}
