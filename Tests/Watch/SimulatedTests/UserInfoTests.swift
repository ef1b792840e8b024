import Foundation
import MeshBase
import MeshSimulatedWatch
import Testing

@Suite struct UserInfoTests {
    @Test("User infos arrive in order, and their sender gets a call for each")
    func order() throws {
        let running = try Running(.calm)
        let transfers = (1...20).map { running.phone.session.transferUserInfo(["n": $0]) }
        #expect(running.phone.session.outstandingUserInfoTransfers == transfers)
        #expect(transfers.allSatisfy { $0.isTransferring })
        running.pair.runUntilIdle()
        #expect(running.watch.events == (1...20).map { .userInfo($0) })
        #expect(running.phone.events == (1...20).map { .finishedUserInfo($0, nil) })
        #expect(!transfers.contains { $0.isTransferring })
        #expect(running.phone.session.outstandingUserInfoTransfers.isEmpty)
    }

    @Test("User infos survive both apps")
    func outlivingTheApps() throws {
        let running = try Running()
        running.pair.watch.isInRange = false
        for number in 1...3 { running.phone.session.transferUserInfo(["n": number]) }
        running.pair.phone.kill()
        running.pair.watch.kill()
        running.pair.runUntilIdle()
        let phone = TestApp(try running.pair.phone.launched())
        running.pair.runUntilIdle()
        let outstanding = phone.session.outstandingUserInfoTransfers
        #expect(outstanding.map { $0.userInfo["n"] as? Int } == [1, 2, 3])
        #expect(phone.session.outstandingUserInfoTransfers == outstanding)
        running.pair.phone.kill()
        running.pair.watch.isInRange = true
        running.pair.runUntilIdle()
        let watch = TestApp(try running.pair.watch.launched())
        let sender = TestApp(try running.pair.phone.launched())
        running.pair.runUntilIdle()
        #expect(watch.events.filter { if case .userInfo = $0 { true } else { false } } == (1...3).map { .userInfo($0) })
        #expect(sender.events == [.activated(.activated, nil)] + (1...3).map { .finishedUserInfo($0, nil) })
    }

    @Test("User infos that an app was receiving when it died are delivered again, in order")
    func crash() throws {
        var conditions = SimulatedWatchConditions.ideal
        conditions.crashRate = 0.3
        let running = try Running(seed: 5, conditions)
        let received = Locked<[TestApp.Event]>([])
        let apps = Locked<[TestApp]>([])
        let deaths = Locked(0)
        running.pair.watch.onLaunch { session in
            let app = TestApp(session)
            app.onEvent.withLock { $0 = { event in received.withLock { $0.append(event) } } }
            apps.withLock { $0 = [app] }
        }
        running.pair.watch.onTerminate {
            deaths.withLock { $0 += 1 }
            apps.withLock { $0 = [] }
        }
        running.pair.watch.relaunch()
        for number in 1...30 { running.phone.session.transferUserInfo(["n": number]) }
        for _ in 0..<60 {
            running.pair.runUntilIdle()
            if running.pair.watch.state == .notRunning { running.pair.watch.launch() }
        }
        let numbers = received.withLock { $0 }.compactMap { if case .userInfo(let number) = $0 { number } else { nil } }
        let crashes = running.pair.statistics.crashesWhileDelivering
        #expect(crashes > 3 && deaths.withLock { $0 } == crashes + 1)
        #expect(numbers.count == 30 + crashes)
        #expect(numbers == numbers.sorted() && Set(numbers) == Set(1...30))
    }

    @Test("An app that dies during the call for a finished transfer gets no second call")
    func crashAtTheEnd() throws {
        let running = try Running()
        running.pair.conditions.crashRate = 1
        running.phone.session.transferUserInfo(["n": 1])
        running.pair.runUntilIdle()
        #expect(running.phone.events == [.finishedUserInfo(1, nil)])
        #expect(running.pair.phone.state == .notRunning)
        running.pair.conditions.crashRate = 0
        let again = TestApp(try running.pair.phone.launched())
        running.pair.runUntilIdle()
        #expect(again.events.contains(.activated(.activated, nil)))
        #expect(!again.events.contains(.finishedUserInfo(1, nil)))
        #expect(again.session.outstandingUserInfoTransfers.isEmpty)
    }

    @Test("A cancelled user info isn't delivered, and the sender gets no call")
    func cancelling() throws {
        let running = try Running(.calm)
        let transfers = (1...4).map { running.phone.session.transferUserInfo(["n": $0]) }
        transfers[0].cancel()
        transfers[2].cancel()
        transfers[2].cancel()
        #expect(!transfers[2].isTransferring && transfers[3].isTransferring)
        running.pair.runUntilIdle()
        transfers[3].cancel()
        running.pair.runUntilIdle()
        #expect(running.watch.events == [.userInfo(2), .userInfo(4)])
        #expect(running.phone.events == [.finishedUserInfo(2, nil), .finishedUserInfo(4, nil)])
    }

    @Test("A user info that can't be sent finishes with its code")
    func refusals() throws {
        let running = try Running()
        let session = running.phone.session
        session.transferUserInfo(["n": 1, "x": Data(count: 65_536)])
        session.transferUserInfo(["n": 2, "x": Optional<Int>.none as Any])
        running.pair.runUntilIdle()
        running.pair.watch.isDiskFull = true
        session.transferUserInfo(["n": 3])
        running.pair.runUntilIdle()
        #expect(
            running.phone.events == [
                .finishedUserInfo(1, .payloadTooLarge), .finishedUserInfo(-1, .payloadUnsupportedTypes),
                .finishedUserInfo(3, .insufficientSpace),
            ])
        #expect(running.watch.events.isEmpty)
    }

    @Test("Failures end a transfer, and the others continue")
    func failures() throws {
        var conditions = SimulatedWatchConditions.ideal
        conditions.userInfoFailureRate = 0.5
        let running = try Running(seed: 2, conditions)
        for number in 0..<100 { running.phone.session.transferUserInfo(["n": number]) }
        running.pair.runUntilIdle()
        var codes: Set<WCError.Code> = []
        var expected: [TestApp.Event] = []
        for event in running.phone.events {
            guard case .finishedUserInfo(let number, let code) = event else { continue }
            if let code { codes.insert(code) } else { expected.append(.userInfo(number)) }
        }
        #expect(running.phone.events.count == 100 && running.watch.events == expected)
        #expect(codes == [.transferTimedOut, .deliveryFailed, .insufficientSpace])
    }

    @Test("Complication data goes ahead, wakes the watch app, and has a budget of 50 a day")
    func complications() throws {
        let running = try Running()
        let session = running.phone.session
        #expect(session.remainingComplicationUserInfoTransfers == 0)
        running.pair.watch.isComplicationEnabled = true
        #expect(session.isComplicationEnabled && session.remainingComplicationUserInfoTransfers == 50)
        let apps = Locked<[TestApp]>([])
        running.pair.watch.onLaunch { session in apps.withLock { $0.append(TestApp(session)) } }
        running.pair.watch.kill()
        running.pair.watch.isInRange = false
        session.transferUserInfo(["n": 1])
        let first = session.transferCurrentComplicationUserInfo(["n": 2])
        #expect(first.isCurrentComplicationInfo)
        let second = session.transferCurrentComplicationUserInfo(["n": 3])
        #expect(!first.isCurrentComplicationInfo && second.isCurrentComplicationInfo)
        running.pair.watch.isInRange = true
        running.pair.runUntilIdle()
        #expect(running.pair.watch.state == .background)
        let received = apps.withLock { $0 }.flatMap(\.events)
        #expect(received.dropFirst() == [.userInfo(2), .userInfo(3), .userInfo(1)])
        for number in 4..<60 { session.transferCurrentComplicationUserInfo(["n": number]) }
        #expect(session.remainingComplicationUserInfoTransfers == 0)
        running.pair.advance(by: .seconds(86_400))
        #expect(session.remainingComplicationUserInfoTransfers == 50)
        #expect(running.pair.statistics.complicationTransfers == 50)
    }

    @Test func `Complication data fails if the watch face doesn't show the complication`() throws {
        let running = try Running()
        running.phone.session.transferCurrentComplicationUserInfo(["n": 1])
        running.pair.runUntilIdle()
        #expect(running.phone.events == [.finishedUserInfo(1, .genericError)])
        #expect(running.watch.events.isEmpty)
    }

    @Test("An archived transfer is restored with its content")
    func archiving() throws {
        let running = try Running()
        let transfer = running.phone.session.transferUserInfo(["n": 1, "s": "x"])
        let bytes = try NSKeyedArchiver.archivedData(withRootObject: transfer, requiringSecureCoding: true)
        let copy = try #require(
            try NSKeyedUnarchiver.unarchivedObject(ofClass: WCSessionUserInfoTransfer.self, from: bytes))
        #expect(copy.userInfo["n"] as? Int == 1 && copy.userInfo["s"] as? String == "x" && !copy.isTransferring)
    }
}
