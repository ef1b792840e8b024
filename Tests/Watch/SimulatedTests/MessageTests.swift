import Foundation
import MeshBase
import MeshSimulatedWatch
import Testing

@Suite struct MessageTests {
    @Test("Messages arrive in order, and replies come back")
    func delivery() throws {
        var conditions = SimulatedWatchConditions.calm
        conditions.messageLatency = .milliseconds(1) ... .seconds(2)
        let running = try Running(conditions)
        for number in 1...50 { running.phone.send(number, wantsReply: number % 2 == 0) }
        running.pair.runUntilIdle()
        #expect(running.watch.events == (1...50).map { $0 % 2 == 0 ? .request($0) : .message($0) })
        #expect(running.phone.events == (1...25).map { .replied(100 + 2 * $0) })
    }

    @Test("Bytes arrive unchanged")
    func bytes() throws {
        let running = try Running()
        let reply = Locked<Data?>(nil)
        running.watch.session.sendMessageData(Data([1, 2, 3]), replyHandler: { data in reply.withLock { $0 = data } })
        running.watch.session.sendMessageData(Data([4]), replyHandler: nil)
        running.pair.runUntilIdle()
        #expect(running.phone.events == [.dataRequest([1, 2, 3]), .data([4])])
        #expect(reply.withLock { $0 } == Data([3, 2, 1]))
    }

    @Test(
        "A phone's message reaches a watch app in the foreground only",
        arguments: [SimulatedAppState.background, .suspended, .notRunning])
    func watchInForeground(state: SimulatedAppState) throws {
        let running = try Running()
        switch state {
        case .background: running.pair.watch.enterBackground()
        case .suspended: running.pair.watch.suspend()
        default: running.pair.watch.kill()
        }
        running.phone.send(1)  // The phone doesn't know yet.
        running.pair.runUntilIdle()
        running.phone.send(2)
        running.pair.runUntilIdle()
        #expect(!running.watch.events.contains(.message(1)) && !running.watch.events.contains(.message(2)))
        #expect(running.phone.events.contains(.reachable(false)))
        #expect(
            running.phone.events.filter { $0 != .reachable(false) } == [
                .failed(.deliveryFailed), .failed(.notReachable),
            ])
        #expect(running.pair.watch.state == state)
    }

    @Test(
        "A watch's message wakes the phone's app in the background",
        arguments: [SimulatedAppState.suspended, .notRunning])
    func wakingThePhone(state: SimulatedAppState) throws {
        let running = try Running()
        let apps = Locked<[TestApp]>([])
        running.pair.phone.onLaunch { session in apps.withLock { $0.append(TestApp(session)) } }
        if state == .suspended { running.pair.phone.suspend() } else { running.pair.phone.kill() }
        running.pair.runUntilIdle()
        #expect(running.watch.session.isReachable)
        running.watch.send(1, wantsReply: true)
        running.pair.runUntilIdle()
        let app = apps.withLock { $0.first } ?? running.phone
        #expect(app.events.contains(.request(1)))
        #expect(running.pair.phone.state == .background)
        #expect(running.watch.events == [.replied(101)])
        #expect(running.pair.statistics.wakes == 1)
    }

    @Test("A phone's app that is woken runs for a while")
    func backgroundTime() throws {
        var conditions = SimulatedWatchConditions.ideal
        conditions.backgroundTime = .seconds(10)
        let running = try Running(conditions)
        running.pair.phone.suspend()
        running.watch.send(1)
        running.pair.advance(by: .seconds(6))
        #expect(running.pair.phone.state == .background)
        running.watch.send(2)
        running.pair.advance(by: .seconds(6))
        #expect(running.pair.phone.state == .background)
        running.pair.advance(by: .seconds(6))
        #expect(running.pair.phone.state == .suspended)
        #expect(running.phone.events == [.message(1), .message(2)])
    }

    @Test("A watch's app woken for its complication runs for a while")
    func backgroundTimeOfWatch() throws {
        var conditions = SimulatedWatchConditions.ideal
        conditions.backgroundTime = .seconds(10)
        let running = try Running(conditions)
        running.pair.watch.isComplicationEnabled = true
        running.pair.watch.suspend()
        running.phone.session.transferCurrentComplicationUserInfo(["n": 1])
        running.pair.advance(by: .seconds(6))
        #expect(running.pair.watch.state == .background)
        running.pair.advance(by: .seconds(6))
        #expect(running.pair.watch.state == .suspended)
    }

    @Test("An app launched for a message that doesn't activate its session never gets it")
    func wokenInVain() throws {
        let running = try Running()
        running.pair.phone.kill()
        running.watch.send(1)
        running.watch.send(2, wantsReply: true)
        running.pair.runUntilIdle()
        #expect(running.watch.events == [.failed(.deliveryFailed), .failed(.deliveryFailed)])
        #expect(running.pair.phone.state == .background)
    }

    @Test("A reply that doesn't come in time is reported as an error, and a late one is dropped")
    func replyTimeout() throws {
        let running = try Running()
        running.phone.answers.withLock { $0 = false }
        running.watch.send(1, wantsReply: true)
        running.pair.advance(by: .seconds(9))
        #expect(running.watch.events.isEmpty)
        running.pair.advance(by: .seconds(2))
        #expect(running.watch.events == [.failed(.messageReplyTimedOut)])
        for reply in running.phone.heldReplies.withLock({ $0 }) { reply(["n": 1]) }
        running.pair.runUntilIdle()
        #expect(running.watch.events.count == 1)
    }

    @Test("The first of several replies counts")
    func oneReply() throws {
        let running = try Running()
        running.phone.answers.withLock { $0 = false }
        running.watch.send(1, wantsReply: true)
        running.pair.advance(by: .seconds(1))
        for reply in running.phone.heldReplies.withLock({ $0 }) {
            reply(["n": 7])
            reply(["n": 8])
        }
        running.pair.runUntilIdle()
        #expect(running.watch.events == [.replied(7)])
    }

    @Test("A reply that isn't a property list fails at the sender")
    func badReply() throws {
        let running = try Running()
        running.phone.answers.withLock { $0 = false }
        running.watch.send(1, wantsReply: true)
        running.pair.advance(by: .seconds(1))
        for reply in running.phone.heldReplies.withLock({ $0 }) { reply(["n": NotLaunched()]) }
        running.pair.runUntilIdle()
        #expect(running.watch.events == [.failed(.messageReplyFailed)])
    }

    @Test("A message fails if the delegate lacks the method for it")
    func missingMethod() throws {
        final class Bare: NSObject, WCSessionDelegate {
            func session(
                _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState,
                error: (any Error)?
            ) {}
        }
        let running = try Running()
        let bare = Bare()
        running.phone.session.delegate = bare
        running.watch.send(1)
        running.watch.send(2, wantsReply: true)
        running.pair.runUntilIdle()
        #expect(running.watch.events == [.failed(.deliveryFailed), .failed(.deliveryFailed)])
        withExtendedLifetime(bare) {}
    }

    @Test("Lost messages end in an error or in silence; with a reply handler exactly one of the two is called")
    func loss() throws {
        var conditions = SimulatedWatchConditions.ideal
        conditions.messageLossRate = 0.5
        conditions.replyLossRate = 0.3
        let running = try Running(seed: 3, conditions)
        for number in 0..<200 { running.watch.send(number, wantsReply: true) }
        running.pair.runUntilIdle()
        #expect(running.watch.events.count == 200)
        let errors = Set(running.watch.events.filter { if case .failed = $0 { true } else { false } })
        #expect(errors == [.failed(.deliveryFailed), .failed(.messageReplyTimedOut)])
        running.watch.clear()
        for number in 0..<200 { running.watch.send(number) }
        running.pair.runUntilIdle()
        let failureCount = running.watch.events.count
        let lost = 400 - running.phone.events.count
        #expect(failureCount > 0 && failureCount < lost)
        #expect(running.watch.events.allSatisfy { $0 == .failed(.deliveryFailed) })
    }

    @Test("A suspended app's handler waits, and a dead app's is never called")
    func handlersOfTheAbsent() throws {
        let running = try Running()
        running.watch.send(1, wantsReply: true)
        running.pair.watch.suspend()
        running.pair.runUntilIdle()
        #expect(running.watch.events.isEmpty)
        running.pair.watch.enterForeground()
        running.pair.runUntilIdle()
        #expect(running.watch.events.contains(.replied(101)))
        running.watch.clear()
        running.watch.send(2, wantsReply: true)
        running.pair.watch.kill()
        running.pair.runUntilIdle()
        #expect(running.phone.events.contains(.request(2)))
        #expect(running.watch.events.isEmpty)
    }

    @Test("A message that can't be sent is refused with its code")
    func refusals() throws {
        let running = try Running()
        let phone = running.phone
        phone.session.sendMessage(["n": NotLaunched()], replyHandler: nil) {
            #expect(($0 as? WCError)?.code == .payloadUnsupportedTypes)
        }
        phone.session.sendMessageData(Data(count: 65_537), replyHandler: nil) { #expect(($0 as NSError).code == 7009) }
        running.pair.watch.uninstall()
        phone.send(1)
        running.pair.watch.isPaired = false
        phone.send(2)
        running.pair.runUntilIdle()
        #expect(
            phone.events.filter { $0 != .watchState && $0 != .reachable(false) } == [
                .failed(.watchAppNotInstalled), .failed(.deviceNotPaired),
            ])
        running.pair.watch.isPaired = true
        running.pair.watch.install()
        let watch = TestApp(try running.pair.watch.launched())
        running.pair.runUntilIdle()
        watch.clear()
        running.pair.phone.uninstall()
        watch.send(3)
        running.pair.watch.isWatchOnly = true
        watch.send(4)
        running.pair.runUntilIdle()
        #expect(watch.events.contains(.companionState))
        #expect(
            watch.events.contains(.failed(.companionAppNotInstalled)) && watch.events.contains(.failed(.watchOnlyApp)))
        let fresh = TestApp(try #require(running.pair.watch.relaunch()), activates: false)
        fresh.send(5)
        running.pair.runUntilIdle()
        #expect(fresh.events == [.failed(.sessionNotActivated)])
    }

    @Test("A message of 65,536 bytes fits, one of 65,537 does not")
    func limit() throws {
        let running = try Running()
        running.phone.session.sendMessageData(Data(count: 65_536), replyHandler: nil)
        running.pair.runUntilIdle()
        #expect(running.watch.events.count == 1)
        func size(_ byteCount: Int) throws -> Int {
            try PropertyListSerialization.data(
                fromPropertyList: ["d": Data(count: byteCount)], format: .binary, options: 0
            ).count
        }
        let overhead = try size(65_000) - 65_000
        for extra in -20...20 {
            let message = ["d": Data(count: 65_536 - overhead + extra)]
            let isTooLarge = extra > 0
            let total = try size(65_536 - overhead + extra)
            #expect(total == 65_536 + extra)
            running.phone.clear()
            running.phone.session.sendMessage(message, replyHandler: nil) { error in
                #expect(isTooLarge, "\(extra)")
                #expect((error as? WCError)?.code == .payloadTooLarge)
            }
            let delivered = running.pair.statistics.messagesDelivered
            running.pair.runUntilIdle()
            #expect((running.pair.statistics.messagesDelivered > delivered) != isTooLarge, "\(extra)")
        }
    }
}
