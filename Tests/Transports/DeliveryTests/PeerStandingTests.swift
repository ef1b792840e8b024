import MeshBase
import MeshTransport
import Testing

@testable import MeshDelivery

/// One side's view of a peer that announces its silence, in seconds.
@Suite struct PeerStandingTests {
    /// Drives a standing through time, in seconds.
    private final class Bench {
        var standing: PeerStanding
        private(set) var lastProbe: UInt32 = 0

        init(
            _ rules: SilenceRules = .announced(
                idleInterval: nanoseconds(20), heartbeat: nanoseconds(5), probesSecond: false, probesMax: 5)
        ) {
            standing = PeerStanding(rules)
            standing.begin(rules, now: 0)
            probe(at: 0)
            answer(at: 0.01)
        }

        var due: Double { Double(standing.deadline) / 1e9 }

        @discardableResult
        func probe(at time: Double) -> Bool {
            guard let number = standing.probe(now: nanoseconds(time)) else { return false }
            lastProbe = number
            return true
        }

        func answer(_ number: UInt32? = nil, at time: Double) {
            _ = standing.noteFrame(now: nanoseconds(time))
            _ = standing.noteEcho(number ?? lastProbe, sentWall: 0, answeredWall: 0, now: nanoseconds(time))
        }

        func ask(at time: Double) -> Bool {
            _ = standing.noteFrame(now: nanoseconds(time))
            guard let number = standing.noteProbe(now: nanoseconds(time)) else { return false }
            lastProbe = number
            return true
        }

        func owes(at time: Double) -> Bool { standing.noteOutstanding(now: nanoseconds(time)) }

        func hears(at time: Double) -> Bool { standing.noteFrame(now: nanoseconds(time)) }

        /// Sends each due probe until the peer is gone.
        /// - Returns: the time at which the peer is gone, in seconds.
        func probeUntilGone() -> Double {
            var time = due
            while standing.health != .gone, time < 1000 {
                time = due
                probe(at: time)
            }
            return time
        }
    }

    @Test func `A peer that answers is probed once per idle interval`() {
        let bench = Bench()
        for round in 1...10 {
            let time = Double(round) * 20
            #expect(bench.due == time, "the interval begins with the last probe, by which the peer counts")
            #expect(bench.probe(at: time))
            bench.answer(at: time + 0.01)
            #expect(bench.standing.health == .reachable)
        }
    }

    @Test func `A side that has answered a probe doesn't probe`() {
        let bench = Bench()
        for time in [15.0, 34, 53] {
            let asksInReturn = bench.ask(at: time)
            #expect(!asksInReturn)
            #expect(bench.due == time + 20)
        }
    }

    @Test func `A side probed again at once knows that it isn't heard, and probes`() {
        let bench = Bench()
        #expect(!bench.ask(at: 15))
        #expect(bench.ask(at: 16))
        bench.answer(at: 16.01)
        #expect(bench.due == 36)
    }

    @Test func `A silent peer is degraded after one probe and gone after five`() {
        let bench = Bench()
        bench.probe(at: 20)
        #expect(bench.standing.health == .reachable)
        #expect(bench.due == 21)
        bench.probe(at: 21)
        #expect(bench.standing.health == .degraded)
        #expect(bench.probeUntilGone() == 25)
    }

    @Test func `A peer that has announced a shorter silence is suspected after it`() {
        let bench = Bench()
        bench.standing.noteAnnouncement(silence: 8_000)
        _ = bench.hears(at: 3)
        #expect(bench.due == 12, "8 s and the minimum patience after it was last heard")
    }

    @Test(arguments: [0, 1, 21_000, .max] as [UInt64])
    func `No announcement makes this side probe constantly or wait forever`(milliseconds: UInt64) {
        let bench = Bench()
        bench.standing.noteAnnouncement(silence: milliseconds)
        #expect((5.0...20).contains(bench.due))
        #expect(bench.probeUntilGone() <= 26)
    }

    @Test func `A peer that owes an acknowledgement is probed after five seconds`() {
        let bench = Bench()
        #expect(bench.owes(at: 10))
        #expect(!bench.owes(at: 12))
        #expect(bench.due == 15)
        _ = bench.hears(at: 13)
        bench.standing.noteAcknowledgement(sentAt: nil, now: nanoseconds(13))
        #expect(bench.due == 18, "more is under way")
        bench.standing.noteAllAcknowledged()
        #expect(bench.due == 33)
    }

    @Test func `An answer after the next probe still proves the peer`() {
        let bench = Bench()
        bench.probe(at: 20)
        let first = bench.lastProbe
        for time in [21.0, 22, 23] { bench.probe(at: time) }
        #expect(bench.standing.health == .degraded)
        bench.answer(first, at: 23.5)
        #expect(bench.standing.health == .reachable)
        bench.answer(first, at: 24)
        #expect(bench.standing.roundTrip.smoothed.map { $0 < .seconds(1) } ?? false, "an answer counts once")
    }

    @Test func `A vanished peer is probed every few seconds, and at once when it sends`() {
        let bench = Bench()
        var time = bench.probeUntilGone()
        for _ in 0..<20 {
            #expect(bench.due - time <= 5)
            time = bench.due
            bench.probe(at: time)
        }
        #expect(bench.hears(at: time + 3))
        #expect(bench.due <= time + 3)
        bench.probe(at: time + 3)
        #expect(bench.due == time + 4, "and at most once a second")
    }

    @Test func `A peer of an earlier version is treated as before`() {
        let bench = Bench(.unannounced(heartbeat: nanoseconds(5)))
        #expect(bench.due == 5.01)
        #expect(!bench.ask(at: 2), "less than half a heartbeat after the last answer")
        #expect(bench.ask(at: 3))
        bench.answer(at: 3.01)
        #expect(bench.due == 8.01)
        _ = bench.owes(at: 2.5)
        #expect(bench.due == 8.01)
        bench.probe(at: 8.01)
        bench.probe(at: 9.01)
        #expect(bench.standing.health == .degraded)
        #expect(bench.probeUntilGone() == 11.01)
        #expect(bench.standing.rules.silenceMilliseconds == nil)
    }
}

private func nanoseconds(_ seconds: Double) -> UInt64 { UInt64((seconds * 1e9).rounded()) }
