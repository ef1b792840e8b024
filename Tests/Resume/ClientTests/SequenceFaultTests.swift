import MeshBrokenRules
import Testing

@testable import MeshResume

/// Faults of the reference in cursors and replays.
@Suite struct SequenceFaultTests {
    @Test func `K1 a number that was skipped is missed, told and asked for again`() {
        prove(.skipsGaps, configuration: contiguous) { world in
            world.begin(at: 5)
            let receptions = world.push(9, 10)
            world.close()
            world.open()
            return differs(receptions, [.gap, .gap], "received")
                ?? differs(world.told.first, .reconnectNeeded(.gap(first: 6, last: 8)), "told")
                ?? differs(world.handshakes.last, .resume(sessionId: "s", lastSeq: 5), "asked")
        }
    }

    @Test func `K1 growing numbers may be skipped, as the reference has it`() {
        var world = ResumeWorld()
        world.begin(at: 0)
        #expect(world.push(17) == [.live])
        #expect(world.stored == SessionSnapshot(sessionId: "s", lastSeq: 17))
    }

    @Test func `K2 what the app has not acknowledged comes again after a crash`() {
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

    @Test func `K2 in one process what was received and not acknowledged is a duplicate`() {
        var world = ResumeWorld(.init(sequencing: .contiguous, acknowledgement: .byApp))
        world.begin(at: 5)
        world.push(6, 7)
        world.acknowledge(100)
        #expect(world.cursor == 7)
        world.push(8)
        world.close()
        world.open()
        world.receive(.resumed(replayedCount: 1, currentSeq: 8))
        #expect(world.push(8, 9) == [.duplicate, .live])
        #expect(world.cursor == 7)
    }

    @Test(arguments: [SessionCoordinator.Sequencing.monotonic, .contiguous])
    func `K2 what the app could not process comes again in the same process`(
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
            return differs(world.told.last, .stateChanged(.live(sessionId: "s")), "told")
                ?? differs(world.push(8), [.live], "received")
        }
    }

    @Test func `K3 a replay that stops ends in time, and what is missing is asked for`() {
        prove(.endsByCountOnly, configuration: contiguous) { world in
            world.begin(at: 5)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 3, currentSeq: 8))
            world.push(6)
            world.forgetTold()
            world.advance(by: .seconds(10), acknowledging: true)
            return differs(
                world.told,
                [
                    .replayInterrupted(.timedOut), .replayFinished(replayedCount: 1),
                    .stateChanged(.live(sessionId: "s")), .reconnectNeeded(.gap(first: 7, last: 8)),
                ], "told")
        }
    }

    @Test func `K4 an event that comes twice counts once toward the replay`() {
        prove(.countsDuplicates) { world in
            world.begin(at: 5)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 3, currentSeq: 8))
            world.push(6, 6, 6)
            return differs(world.core.state, .replaying(expected: 3, received: 1), "state")
        }
    }

    @Test func `K5 a Resumed that comes after its events does not mute the live ones`() {
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

    @Test func `Where numbers follow one another the app is given nothing out of order`() {
        var world = ResumeWorld(contiguous)
        world.begin(at: 5)
        world.close()
        world.open()
        world.receive(.resumed(replayedCount: 2, currentSeq: 7))
        #expect(world.push(6, 8, 7, 8) == [.replayed, .gap, .replayed, .live])
    }

    @Test func `K6 a drop in the midst of a replay closes its bracket`() {
        prove(.leavesBracketOpen) { world in
            world.begin(at: 5)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 2, currentSeq: 7))
            world.push(6)
            world.forgetTold()
            world.close()
            return differs(
                world.told,
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
            let finished = world.told.filter { if case .replayFinished = $0 { true } else { false } }
            #expect(finished.count == 1, "end \(index): \(world.told)")
        }
    }

    @Test func `K7 the first replayed event is known for one before the app shows it`() {
        prove(.callsReplayedLive) { world in
            world.begin(at: 5)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 1, currentSeq: 6))
            return differs(world.push(6, 6, 7), [.replayed, .duplicate, .live], "received")
        }
    }

    @Test func `K15 what overtakes Ready is taken once`() {
        prove(.dropsEarlyPushes, configuration: contiguous) { world in
            world.open()
            let early = world.push(11, 12, 12)
            world.receive(.ready(sessionId: "s", initialSeq: 10))
            return differs(early, [.live, .live, .duplicate], "received early")
                ?? differs(world.push(12, 13), [.duplicate, .live], "received")
        }
    }

    @Test func `K15 what is missing between Ready and what overtook it is a gap`() {
        var world = ResumeWorld(contiguous)
        world.open()
        #expect(world.push(13) == [.live])
        world.receive(.ready(sessionId: "s", initialSeq: 10))
        #expect(world.told.last == .reconnectNeeded(.gap(first: 11, last: 12)))
        #expect(world.stored?.lastSeq == 10)
    }

    @Test func `K20 a server that begins anew under an old name is not believed`() {
        prove(.acceptsRegression, configuration: contiguous) { world in
            world.begin(at: 50)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 0, currentSeq: 3))
            let told = world.told.last
            world.open()
            guard case .sessionInvalidated(_, resumable: false) = told else { return "told: \(told as Any)" }
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
