import Foundation
import MeshEngine
import MeshIdentity
import MeshStorage
import MeshTransport
import Testing

@testable import MeshSession

private typealias Core = CounterSession.Core

/// The session's rules without a task, a transport or a clock, for every short sequence of happenings.
struct CoreTests {
    private static let origin = Date(timeIntervalSince1970: 1_767_225_600)
    private static let interval = Duration.seconds(1)

    /// Anything that may happen to a session, with the driver's reaction.
    private enum Happening: String, CaseIterable, CustomStringConvertible {
        case tap, peersControl, peersEvent, peersGap, peerComes, peerGoes, round, wait

        var description: String { rawValue }
    }

    /// A core with the two timers and the rounds of its driver.
    private struct Driven {
        var core: Core
        var now = origin
        var exchangeAt: Date?
        var requestAt: Date?
        /// The times at which the core decided to request a snapshot.
        var askedAt: [Date] = []
        var peer: CounterEngine

        init() {
            core = Core(engine: engine("phone", 1), configuration: CounterConfiguration(), at: .init(now: now))
            peer = engine("watch", 2)
            turn { $0.start(retained: nil) }
        }

        mutating func turn<Result>(_ body: (inout Core) throws -> Result) rethrows -> Result {
            core.moment = .init(now: now)
            defer {
                if let askedAt = core.lastRequestAt, askedAt != self.askedAt.last { self.askedAt.append(askedAt) }
                let directives = core.takeDirectives()
                if let delay = directives.exchangeIn { exchangeAt = now.addingTimeInterval(delay / .seconds(1)) }
                if let delay = directives.requestIn { requestAt = now.addingTimeInterval(delay / .seconds(1)) }
            }
            return try body(&core)
        }

        mutating func perform(_ happening: Happening) throws {
            switch happening {
            case .tap: _ = try turn { [now] in try $0.submit(.add(1), at: now) }
            case .peersControl:
                peer.tick(at: now)
                for case .control(let control, _) in peer.takeDirectives().outgoing {
                    try turn { $0.receive([try AnySessionSyncEnvelope(control)]) }
                }
            case .peersEvent, .peersGap:
                if happening == .peersGap { _ = try peer.submitLocal(.add(10), at: now) }
                let event = try AnySessionSyncEnvelope(peer.submitLocal(.add(100), at: now))
                turn { $0.receive([event]) }
            case .peerComes, .peerGoes:
                turn { $0.receive(SessionPeerReachability(happening == .peerComes, peer: watch)) }
            case .round: performRounds()
            case .wait: advance(by: 0.3)
            }
        }

        mutating func performRounds() {
            while let round = turn({ $0.takeRound() }) {
                turn { $0.finish(round) }
            }
        }

        mutating func advance(by seconds: TimeInterval) {
            let end = now.addingTimeInterval(seconds)
            while let next = [exchangeAt, requestAt].compactMap({ $0 }).min(), next <= end {
                now = next
                if exchangeAt == next {
                    exchangeAt = nil
                    turn { $0.exchangeNow() }
                } else {
                    requestAt = nil
                    turn { $0.sendPendingRequest() }
                }
                performRounds()
            }
            now = end
        }
    }

    fileprivate static func engine(
        _ peerID: String, _ incarnation: UInt32, _ options: SessionEngineOptions<Counter, Tap> = .init()
    ) -> CounterEngine {
        CounterEngine(
            sessionID: sessionID, featureID: "counter", localPeerID: peerID, payloadType: "counter.event",
            snapshotPayloadType: "counter.state", initialState: Counter(), reducer: CounterReducer(),
            conflictPolicy: AcceptingConflictPolicy(), incarnation: incarnation, seed: UInt64(incarnation),
            options: options)
    }

    /// Calls the body with every sequence of `count` happenings.
    private static func forEachSequence(of count: Int, _ body: ([Happening]) throws -> Void) rethrows {
        let kinds = Happening.allCases
        var total = 1
        for _ in 0..<count { total *= kinds.count }
        for number in 0..<total {
            var (rest, sequence) = (number, [Happening]())
            for _ in 0..<count {
                sequence.append(kinds[rest % kinds.count])
                rest /= kinds.count
            }
            try body(sequence)
        }
    }

    @Test func `Whatever happened, the next exchange is scheduled, no later than a control may announce`() throws {
        try Self.forEachSequence(of: 4) { sequence in
            var driven = Driven()
            for happening in sequence { try driven.perform(happening) }
            let next = try #require(driven.exchangeAt, "\(sequence)")
            if next > driven.now.addingTimeInterval(300) || next < driven.now.addingTimeInterval(-1) {
                Issue.record("the next exchange is at \(next) after \(sequence)")
            }
        }
    }

    @Test func `A snapshot is requested once per interval, and a suppressed request is made after it`() throws {
        try Self.forEachSequence(of: 4) { sequence in
            var driven = Driven()
            for happening in sequence { try driven.perform(happening) }
            let (isOwed, count) = (driven.core.isRequestPending, driven.askedAt.count)
            driven.advance(by: 1)
            let gaps = zip(driven.askedAt, driven.askedAt.dropFirst()).map { $1.timeIntervalSince($0) }
            let isSpaced = gaps.allSatisfy { $0 > 0.999 }
            #expect(isSpaced, "\(gaps) after \(sequence)")
            #expect(!isOwed || driven.askedAt.count > count, "\(sequence)")
        }
    }

    @Test func `A stopped session receives and sends nothing, and waiting messages are sent after the next start`()
        throws
    {
        try Self.forEachSequence(of: 3) { sequence in
            var driven = Driven()
            _ = try driven.turn { try $0.submit(.add(1), at: Self.origin) }
            driven.turn { $0.stop() }
            driven.exchangeAt = nil
            for happening in sequence where happening != .tap {
                try driven.perform(happening)
                let hasRound = driven.turn { $0.takeRound() } != nil
                #expect(!hasRound, "\(sequence)")
            }
            #expect(driven.core.engine.state.total == 1, "\(sequence)")
            #expect(driven.exchangeAt == nil, "\(sequence)")
            driven.turn { $0.start(retained: nil) }
            let round = try #require(driven.turn { $0.takeRound() })
            #expect(try round.events.map { try $0.decodePayload(as: Tap.self) } == [.add(1)], "\(sequence)")
        }
    }

    /// After any number of refusals nothing is confirmed, and the batch that the store accepts contains everything.
    @Test(arguments: 1...4)
    func `A round that the store rejected is written completely with the next one`(refusals: Int) throws {
        var driven = Driven()
        let store = MemoryStore()
        driven.core.archive = try CounterArchive(store: store, sessionID: sessionID, featureID: "counter")
        for number in 1...refusals {
            _ = try driven.turn { [now = driven.now] in try $0.submit(.add(number), at: now) }
            let round = try #require(driven.turn { $0.takeRound() })
            driven.turn { $0.putBack(round, leavesStore: false) }
            let isReported = driven.core.delivery(of: round.events[0].metadata.eventID).step != .submitted
            #expect(!isReported)
            driven.turn { $0.exchangeNow() }
        }
        let round = try #require(driven.turn { $0.takeRound() })
        try store.commit(#require(round.batch).get())
        driven.turn { $0.finish(round) }
        #expect(try round.events.map { try $0.decodePayload(as: Tap.self) } == (1...refusals).map { .add($0) })
        var archive = try CounterArchive(store: store, sessionID: sessionID, featureID: "counter")
        let image = try #require(try archive.load())
        #expect(image.log.count == refusals)
        let accepted = driven.core.delivery(of: round.events[0].metadata.eventID)
        #expect(accepted.step == .accepted)
    }

    /// A new incarnation counts its events from 1 again.
    @Test func `After a change of incarnation an event isn't accepted before it is written`() throws {
        var driven = Driven()
        for amount in 1...3 { _ = try driven.turn { [now = driven.now] in try $0.submit(.add(amount), at: now) } }
        driven.performRounds()
        let relaunched = try CounterEngine(
            restoring: driven.core.engine.image, reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy(),
            seed: 3)
        driven.core = Core(engine: relaunched, configuration: CounterConfiguration(), at: .init(now: driven.now))
        driven.turn { $0.start(retained: nil) }
        driven.performRounds()
        driven.turn { $0.leaveStore() }
        let envelope = try driven.turn { [now = driven.now] in try $0.submit(.add(4), at: now) }
        #expect(envelope.metadata.sequence == 1)
        let before = driven.core.delivery(of: envelope.metadata.eventID).step
        #expect(before == .submitted)
        driven.performRounds()
        let after = driven.core.delivery(of: envelope.metadata.eventID).step
        #expect(after == .accepted)
    }
}

/// The delays of requests that get no answer.
@Suite struct RequestBackoffTests {
    private func facts(held: UInt64, missing first: UInt64?) -> ExchangeSchedule.Facts {
        let source = SessionSource(peerID: "phone", incarnation: 1)
        return ExchangeSchedule.Facts(
            group: source, isSealed: true, view: 0,
            held: SequenceVector([SourceSequence(source: source, sequence: held)]), position: 0,
            missing: first.map { [SessionRange(source: source, first: $0, last: held + 1)] } ?? [], heard: [:])
    }

    /// A watch in the background gets events by user infos, and misses one that the phone can't send again now.
    @Test func `Requests for the same events become rare, although later events arrive`() {
        var schedule = ExchangeSchedule()
        var delays: [Duration] = []
        func send(_ facts: ExchangeSchedule.Facts) {
            schedule.begin(facts, at: Date(timeIntervalSince1970: 0))
            delays.append(schedule.interval(.requesting, .seconds(1), samples: .zero, backsOff: true))
        }
        for turn in 0..<40 as Range<UInt64> { send(facts(held: 10 + turn, missing: 5)) }
        #expect(delays[..<21].allSatisfy { $0 == .milliseconds(250) })
        #expect(delays.last == .seconds(10))
        send(facts(held: 60, missing: 6))
        #expect(delays.last == .milliseconds(250), "an answer has arrived")
    }
}

/// The samples and taps that a log accepts while it isn't emptied.
@Suite struct SampleThinningTests {
    @Test func `A day alone with a sample per second and a tap per minute rejects nothing`() throws {
        var configuration = CounterConfiguration()
        configuration.isHighRate = { $0 == .add(1) }
        configuration.engine.samplesReducer = false
        var core = Core(
            engine: CoreTests.engine("watch", 1, configuration.engineOptions), configuration: configuration,
            at: .init(now: noon))
        for second in 0..<86_400 {
            let moment = noon.addingTimeInterval(Double(second))
            _ = try core.submit(.add(1), at: moment)
            if second.isMultiple(of: 60) { _ = try core.submit(.add(2), at: moment) }
            _ = core.outgoing.takeAll()
        }
        #expect(core.engine.ownUnconfirmedCount == 86_400 + 1_440 && core.statistics.thinnedOut == 0)
        #expect(core.hasCapacity)
    }

    @Test func `A log of 4,096 rejects no tap of a day alone and keeps samples of the whole day`() throws {
        var configuration = CounterConfiguration()
        configuration.isHighRate = { $0 == .add(1) }
        var core = Core(engine: CoreTests.engine("watch", 1), configuration: configuration, at: .init(now: noon))
        var taken: [Int] = []
        for second in 0..<86_400 {
            let moment = noon.addingTimeInterval(Double(second))
            if (try? core.submit(.add(1), at: moment)) != nil { taken.append(second) }
            // About 500 of them in a day.
            if second.isMultiple(of: 173) { _ = try core.submit(.add(2), at: moment) }
            _ = core.outgoing.takeAll()
        }
        #expect(core.engine.ownUnconfirmedCount <= core.engine.options.ownUnconfirmedMax)
        #expect(taken.prefix(1_500) == ArraySlice(0..<1_500), "no sample is left out while there is space")
        let widest = zip(taken, taken.dropFirst()).map { $1 - $0 }.max() ?? .max
        #expect(widest < 3_600, "two kept samples are \(widest) s apart")
        try core.end(with: .end, at: noon.addingTimeInterval(86_400))
        #expect(core.engine.state.isOver)
    }

    @Test func `Samples thin out only while no peer is reachable`() {
        var thinning = SampleThinning()
        thinning.count = 3_072
        let together = (0..<100).count { _ in thinning.accepts(capacity: 4_096, byteFill: 0, isAlone: false) }
        let alone = (0..<100).count { _ in thinning.accepts(capacity: 4_096, byteFill: 0, isAlone: true) }
        #expect(together == 100 && alone == 7, "a seventh is left: one of 12.25")
        let full = (0..<100).count { _ in
            thinning.accepts(capacity: 4_096, byteFill: SampleThinning.share, isAlone: false)
        }
        #expect(full == 0)
    }

    private let noon = Date(timeIntervalSince1970: 1_767_225_600)
}
