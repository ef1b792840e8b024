import Foundation
import MeshBase
import MeshSimulatedWatch

/// One random run of a phone and two watches: the actions of users and apps, and the invariants of the system.
final class Schedule: Sendable {
    /// Everything that all launches of the app on one device have received, by origin.
    struct Record: Sendable {
        var userInfos: [Int] = []
        var contexts: [Int] = []
        var messages: [Int] = []
        var files = 0
        var finished: [Int: WCError.Code?] = [:]
        var finishedFiles: [WCError.Code?] = []
        /// The number of answers or errors that each message's sender got.
        var answers: [Int: Int] = [:]
    }

    let seed: UInt64
    let pair: SimulatedWatchPair
    private let random: Locked<SplitMix64>
    private let apps: Locked<[TestApp?]>
    private let records = Locked([Record](repeating: Record(), count: 3))
    private let problems = Locked<[String]>([])
    private let last = Locked(0)
    private let file: URL?

    // The items that each device's apps have handed to the system, in order.
    private let sentUserInfos = Locked([[Int]](repeating: [], count: 3))
    private let sentContexts = Locked([Int](repeating: 0, count: 3))
    private let sentFiles = Locked([Int](repeating: 0, count: 3))

    init(seed: UInt64, conditions: SimulatedWatchConditions, file: URL? = nil) {
        self.seed = seed
        self.file = file
        random = Locked(SplitMix64(seed: seed))
        pair = SimulatedWatchPair(seed: seed, conditions: conditions, watches: 2)
        apps = Locked([nil, nil, nil])
        for (index, device) in devices.enumerated() {
            device.onLaunch { [weak self] session in self?.launched(index, session) }
            device.onTerminate { [weak self] in self?.apps.withLock { $0[index] = nil } }
        }
    }

    private var devices: [SimulatedDevice] { [pair.phone] + pair.watches }
    private func draw(_ most: UInt64) -> Int { Int(random.withLock { $0.upTo(most) }) }
    private func complain(_ text: String) { problems.withLock { $0.append(text) } }

    // MARK: - The apps

    private func launched(_ index: Int, _ session: WCSession) {
        let app = TestApp(session)
        let isActivated = Locked(false)
        app.onEvent.withLock {
            $0 = { [weak self, weak app] event in
                guard let self else { return }
                if case .activated(_, nil) = event { isActivated.withLock { $0 = true } }
                self.check(event, index, app, isActivated: isActivated.withLock { $0 })
                self.note(event, index)
            }
        }
        apps.withLock { $0[index] = app }
    }

    private func check(_ event: TestApp.Event, _ index: Int, _ app: TestApp?, isActivated: Bool) {
        let state = devices[index].state
        if state == .suspended || state == .notRunning { complain("\(event) for an app that is \(state)") }
        if apps.withLock({ $0[index] }) !== app { complain("\(event) for an earlier launch of the app") }
        if isMainThread { complain("\(event) on the main thread") }
        switch event {
        case .activated, .failed, .replied: break
        default: if !isActivated { complain("\(event) before activation") }
        }
    }

    private func note(_ event: TestApp.Event, _ index: Int) {
        if case .deactivated = event { apps.withLock { $0[index] }?.session.activate() }
        records.withLock { records in
            switch event {
            case .message(let number), .request(let number): records[index].messages.append(number)
            case .context(let number): records[index].contexts.append(number)
            case .userInfo(let number): records[index].userInfos.append(number)
            case .finishedUserInfo(let number, let code): records[index].finished[number] = .some(code)
            case .file: records[index].files += 1
            case .finishedFile(_, let code): records[index].finishedFiles.append(code)
            default: break
            }
        }
    }

    // MARK: - The users

    func run(steps: Int) {
        for device in devices { device.launch() }
        for _ in 0..<steps { step() }
        settle()
    }

    private func step() {
        let index = draw(2)
        let device = devices[index]
        switch draw(19) {
        case 0: device.suspend()
        case 1: device.enterBackground()
        case 2, 3: device.launch()
        case 4: device.kill()
        case 5: device.isInRange.toggle()
        case 6 where draw(3) == 0: pair.switchTo(pair.watches[draw(1)])
        case 7, 8: pair.advance(by: .milliseconds(draw(20_000)))
        case 9: pair.advance(by: .milliseconds(draw(500)))
        case 10: pair.runUntilIdle(within: .seconds(30))
        default: act(index)
        }
    }

    private func act(_ index: Int) {
        guard let app = apps.withLock({ $0[index] }), devices[index].state != .suspended,
            app.session.activationState == .activated
        else { return }
        let number = last.withLock { last in
            last += 1
            return last
        }
        switch draw(7) {
        case 0, 1, 2:
            app.session.transferUserInfo(["n": number])
            sentUserInfos.withLock { $0[index].append(number) }
        case 3, 4:
            guard (try? app.session.updateApplicationContext(["n": number])) != nil, index > 0 else { return }
            sentContexts.withLock { $0[index] = number }
        case 5 where file != nil:
            guard let file else { return }
            app.session.transferFile(file, metadata: ["n": number])
            sentFiles.withLock { $0[index] += 1 }
        default:
            let answered: @Sendable () -> Void = { [weak self] in
                self?.records.withLock { $0[index].answers[number, default: 0] += 1 }
            }
            records.withLock { $0[index].answers[number] = 0 }
            app.session.sendMessage(["n": number]) { _ in
                answered()
            } errorHandler: { _ in
                answered()
            }
        }
    }

    /// Ends all faults, and lets each watch in turn finish its exchange with the phone.
    private func settle() {
        pair.conditions = .ideal
        for watch in pair.watches { watch.isInRange = true }
        for watch in pair.watches + pair.watches {
            pair.switchTo(watch)
            pair.runUntilIdle()
            for (index, device) in devices.enumerated() {
                device.launch()
                let app = apps.withLock { $0[index] }
                if app?.session.activationState != .activated { app?.session.activate() }
            }
            pair.advance(by: .seconds(10))
            pair.runUntilIdle()
        }
    }

    // MARK: - Invariants

    func violations() -> [String] {
        let records = records.withLock { $0 }
        let sent = sentUserInfos.withLock { $0 }
        var crashes = pair.statistics.crashesWhileDelivering
        for (receiver, record) in records.enumerated() {
            for sender in receiver == 0 ? [1, 2] : [0] {
                let numbers = record.userInfos.filter { Set(sent[sender]).contains($0) }
                if numbers != numbers.sorted() { complain("user infos of \(sender) out of order: \(numbers)") }
                crashes -= numbers.count - Set(numbers).count
            }
            if Set(record.messages).count != record.messages.count { complain("a message was delivered twice") }
            if record.contexts.contains(where: { $0 <= 0 }) { complain("a context came without its number") }
        }
        if crashes < 0 { complain("more was delivered twice than apps died") }
        for (sender, numbers) in sent.enumerated() {
            let receivers = sender == 0 ? [1, 2] : [0]
            let delivered = receivers.reduce(into: Set<Int>()) { $0.formUnion(records[$1].userInfos) }
            for number in numbers {
                guard let outcome = records[sender].finished[number] else {
                    complain("user info \(number) never finished")
                    continue
                }
                if delivered.contains(number) != (outcome == nil) {
                    complain("user info \(number): \(String(describing: outcome))")
                }
            }
            let late = records[sender].answers.filter { $0.value > 1 }
            if !late.isEmpty { complain("answered more than once: \(late)") }
            if records[sender].finishedFiles.count != sentFiles.withLock({ $0[sender] }) {
                complain("a file never finished")
            }
        }
        for watch in [1, 2] {
            let newest = sentContexts.withLock { $0[watch] }
            if newest > 0, !records[0].contexts.contains(newest) { complain("context \(newest) never came") }
        }
        return problems.withLock { $0 }
    }
}
