import MeshBrokenRules
import Testing

@testable import MeshResume

/// Faults of the reference in cursors and replays.
@Suite struct SequenceFaultTests {
    @Test func `K1 a skipped number is reported as a gap and requested again`() {
        prove(.skipsGaps, configuration: contiguous) { world in
            world.begin(at: 5)
            let receptions = world.push(9, 10)
            world.close()
            world.open()
            return differs(receptions, [.gap, .gap], "received")
                ?? differs(world.reported.first, .reconnectNeeded(.gap(first: 6, last: 8)), "told")
                ?? differs(world.handshakes.last, .resume(sessionId: "s", lastSeq: 5), "asked")
        }
    }

    @Test func `K1 numbers may be skipped with the reference's growing sequencing`() {
        var world = ResumeWorld()
        world.begin(at: 0)
        #expect(world.push(17) == [.live])
        #expect(world.stored == SessionSnapshot(sessionId: "s", lastSeq: 17))
    }

    @Test func `K2 unacknowledged events are repeated after a crash`() {
        let byApp = SessionCoordinator.Configuration(sequencing: .contiguous, acknowledgement: .byApp)
        prove(.acknowledgesOnReceipt, configuration: byApp) { world in
            world.begin(at: 5)
            world.push(6, 7)
            world.acknowledge(6)
            world.relaunch()
            world.open()
            let asked = world.handshakes.last
            world.receive(.resumed(replayedCount: 1, currentSeq: 7))
            return differs(asked, .resume(sessionId: "s", lastSeq: 6), "asked")
                ?? differs(world.push(7), [.replayed], "received")
        }
    }

    @Test func `K2 within a process, a received but unacknowledged event is a duplicate`() {
        var world = ResumeWorld(.init(sequencing: .contiguous, acknowledgement: .byApp))
        world.begin(at: 5)
        world.push(6, 7)
        world.acknowledge(7)
        #expect(world.cursor == 7)
        world.push(8)
        world.close()
        world.open()
        world.receive(.resumed(replayedCount: 1, currentSeq: 8))
        #expect(world.push(8, 9) == [.duplicate, .live])
        #expect(world.cursor == 7)
    }

    /// The app was still processing an event of the session before.
    @Test(arguments: [SessionCoordinator.Sequencing.monotonic, .contiguous])
    func `K2 a late acknowledgement of another session acknowledges nothing`(
        sequencing: SessionCoordinator.Sequencing
    ) {
        var world = ResumeWorld(.init(sequencing: sequencing, acknowledgement: .byApp))
        world.begin("x", at: 499)
        world.push(500)
        world.receive(.invalidSession(reason: "", resumable: false))
        world.close()
        world.begin("y", at: 0)
        world.push(1, 2, 3, 4, 5)
        world.acknowledge(500)
        #expect(world.cursor == 0)
        world.acknowledge(3, in: "x")
        #expect(world.cursor == 0)
        world.acknowledge(3, in: "y")
        #expect(world.cursor == 3)
        world.acknowledge(5)
        #expect(world.cursor == 5)
    }

    @Test(arguments: [SessionCoordinator.Sequencing.monotonic, .contiguous])
    func `K2 an event that the app couldn't process is repeated in the same process`(
        sequencing: SessionCoordinator.Sequencing
    ) {
        prove(.dropsUnprocessed, configuration: .init(sequencing: sequencing, acknowledgement: .byApp)) { world in
            world.begin(at: 5)
            world.push(6, 7)
            world.acknowledge(6)
            world.retryUnacknowledged()
            let late = world.push(8)
            world.open()
            let asked = world.handshakes.last
            world.receive(.resumed(replayedCount: 2, currentSeq: 8))
            let received = world.push(7, 8)
            world.acknowledge(8)
            return differs(late, [.stale], "after the end of the connection")
                ?? differs(asked, .resume(sessionId: "s", lastSeq: 6), "asked")
                ?? differs(received, [.replayed, .replayed], "received") ?? differs(world.cursor, 8, "cursor")
        }
    }

    @Test(arguments: [SessionCoordinator.Sequencing.monotonic, .contiguous])
    func `K3 a replay of fewer events than promised ends at the current one`(
        sequencing: SessionCoordinator.Sequencing
    ) {
        prove(.endsByCountOnly, configuration: .init(sequencing: sequencing)) { world in
            world.begin(at: 5)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 4, currentSeq: 7))
            world.push(6, 7)
            return differs(world.reported.last, .stateChanged(.live(sessionId: "s")), "told")
                ?? differs(world.push(8), [.live], "received")
        }
    }

    @Test func `K3 a stalled replay ends at its timeout, and missing events are requested`() {
        prove(.endsByCountOnly, configuration: contiguous) { world in
            world.begin(at: 5)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 3, currentSeq: 8))
            world.push(6)
            world.forgetReported()
            world.advance(by: .seconds(10), acknowledging: true)
            return differs(
                world.reported,
                [
                    .replayInterrupted(.timedOut), .replayFinished(replayedCount: 1),
                    .stateChanged(.live(sessionId: "s")), .reconnectNeeded(.gap(first: 7, last: 8)),
                ], "told")
        }
    }

    @Test func `K4 a repeated event counts once toward the replay`() {
        prove(.countsDuplicates) { world in
            world.begin(at: 5)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 3, currentSeq: 8))
            world.push(6, 6, 6)
            return differs(world.core.state, .replaying(expected: 3, received: 1), "state")
        }
    }

    @Test func `K5 a Resumed after its events doesn't suppress live ones`() {
        prove(.countsWhatComesAfterResumed) { world in
            world.begin(at: 5)
            world.close()
            world.open()
            let early = world.push(6, 7)
            world.receive(.resumed(replayedCount: 2, currentSeq: 7))
            return differs(early, [.replayed, .replayed], "received early")
                ?? differs(world.push(8), [.live], "received")
                ?? differs(world.core.state, .live(sessionId: "s"), "state")
        }
    }

    @Test func `K5 a live event among replayed ones is live, and loses none of them`() {
        var world = ResumeWorld()
        world.begin(at: 5)
        world.close()
        world.open()
        world.receive(.resumed(replayedCount: 2, currentSeq: 7))
        #expect(world.push(6, 8) == [.replayed, .live])
        #expect(world.stored?.lastSeq == 6)
        #expect(world.push(7) == [.replayed])
        #expect(world.stored?.lastSeq == 8)
        #expect(world.push(8, 9) == [.duplicate, .live])
    }

    @Test func `With contiguous numbers the app gets no event out of order`() {
        var world = ResumeWorld(contiguous)
        world.begin(at: 5)
        world.close()
        world.open()
        world.receive(.resumed(replayedCount: 2, currentSeq: 7))
        #expect(world.push(6, 8, 7, 8) == [.replayed, .gap, .replayed, .live])
    }

    @Test func `K6 a connection lost during a replay ends the replay`() {
        prove(.leavesBracketOpen) { world in
            world.begin(at: 5)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 2, currentSeq: 7))
            world.push(6)
            world.forgetReported()
            world.close()
            return differs(
                world.reported,
                [
                    .replayInterrupted(.connectionClosed), .replayFinished(replayedCount: 1),
                    .stateChanged(.disconnected),
                ], "told")
        }
    }

    @Test func `K6 every replay that starts finishes, whatever ends it`() {
        let ends: [(inout ResumeWorld) -> Void] = [
            { $0.close() }, { $0.open() }, { $0.clear() }, { $0.advance(by: .seconds(100)) },
            { $0.receive(.invalidSession(reason: nil, resumable: true)) },
            { $0.receive(.invalidSession(reason: nil, resumable: false)) },
            { $0.push(6, 7) }, { $0.push(7) },
        ]
        for (index, end) in ends.enumerated() {
            var world = ResumeWorld()
            world.begin(at: 5)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 2, currentSeq: 7))
            end(&world)
            let finished = world.reported.filter { if case .replayFinished = $0 { true } else { false } }
            #expect(finished.count == 1, "end \(index): \(world.reported)")
        }
    }

    @Test func `K7 the first replayed event is marked as replayed before the app shows it`() {
        prove(.callsReplayedLive) { world in
            world.begin(at: 5)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 1, currentSeq: 6))
            return differs(world.push(6, 6, 7), [.replayed, .duplicate, .live], "received")
        }
    }

    @Test func `K15 events that overtake Ready are taken once`() {
        prove(.dropsEarlyPushes, configuration: contiguous) { world in
            world.open()
            let early = world.push(11, 12, 12)
            world.receive(.ready(sessionId: "s", initialSeq: 10))
            return differs(early, [.live, .live, .duplicate], "received early")
                ?? differs(world.push(12, 13), [.duplicate, .live], "received")
        }
    }

    @Test func `K15 events missing between Ready and one that overtook it are a gap`() {
        var world = ResumeWorld(contiguous)
        world.open()
        #expect(world.push(13) == [.live])
        world.receive(.ready(sessionId: "s", initialSeq: 10))
        #expect(world.reported.last == .reconnectNeeded(.gap(first: 11, last: 12)))
        #expect(world.stored?.lastSeq == 10)
    }

    @Test func `K20 a server that restarts its numbers in an old session is detected`() {
        prove(.acceptsRegression, configuration: contiguous) { world in
            world.begin(at: 50)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 0, currentSeq: 3))
            let reported = world.reported.last
            world.open()
            guard case .sessionInvalidated(_, resumable: false) = reported else { return "told: \(reported as Any)" }
            return differs(world.handshakes.last, .identify(properties), "asked")
        }
    }

    @Test func `K22 a resume after a resume replays nothing`() {
        prove(.replayMovesNothing) { world in
            world.begin(at: 5)
            for _ in 0..<2 {
                world.close()
                world.open()
                world.receive(.resumed(replayedCount: 2, currentSeq: 7))
                world.push(6, 7)
            }
            return differs(world.handshakes.last, .resume(sessionId: "s", lastSeq: 7), "asked")
        }
    }
}
