import MeshBase
import MeshBrokenRules
import Testing

@testable import MeshResume

/// Faults of the reference in connections, heartbeats and the store.
@Suite struct ConnectionFaultTests {
    @Test func `K8 a resumable invalidation keeps the cursor`() {
        prove(.ignoresResumable) { world in
            world.begin(at: 5)
            world.receive(.invalidSession(reason: "moved", resumable: true))
            let reported = world.reported
            world.relaunch()
            world.open()
            return differs(
                reported, [.stateChanged(.disconnected), .sessionInvalidated(reason: "moved", resumable: true)], "told")
                ?? differs(world.handshakes.last, .resume(sessionId: "s", lastSeq: 5), "asked")
        }
    }

    @Test func `K8 a cursor that was refused is never used again, even if it cannot be removed`() {
        var world = ResumeWorld()
        world.begin(at: 5)
        world.storeFails = true
        world.receive(.invalidSession(reason: nil, resumable: false))
        world.open()
        #expect(world.handshakes.last == .identify(properties))
        world.storeFails = false
        world.advance(by: .seconds(2), acknowledging: true)
        #expect(world.stored == nil)
    }

    @Test func `K9 a Ready after a logout saves no session`() {
        prove(.trustsLateFrames) { world in
            world.open()
            world.clear()
            let late = world.receive(.ready(sessionId: "first user", initialSeq: 3))
            world.relaunch()
            world.open()
            return differs(late, .stale, "received") ?? differs(world.handshakes.last, .identify(properties), "asked")
        }
    }

    @Test func `K10 a logout is a reported change of state`() {
        prove(.leavesStateAtLogout) { world in
            world.begin(at: 5)
            world.clear()
            return differs(world.reported, [.stateChanged(.disconnected), .sessionCleared], "told")
                ?? differs(world.push(6), [.stale], "received")
        }
    }

    @Test func `K11 only one of two opens that wait for tokens sends a handshake`() {
        prove(.trustsLateReturns) { world in
            world.tokensWait = true
            world.open()
            world.open()
            world.returnToken("first")
            world.returnToken("second")
            return differs(world.handshakes.count, 1, "handshakes")
        }
    }

    @Test func `K11 a token for a connection that has closed sends nothing`() {
        var world = ResumeWorld()
        world.tokensWait = true
        world.open()
        world.close()
        world.returnToken("late")
        #expect(world.handshakes.isEmpty)
        #expect(world.reported.isEmpty)
    }

    @Test func `K12 heartbeats continue during a slow replay`() {
        prove(.beatsOnlyWhenLive, configuration: .init(replayTimeout: 1000)) { world in
            world.begin(at: 5)
            world.close()
            world.open()
            world.receive(.resumed(replayedCount: 3, currentSeq: 8))
            world.advance(by: .seconds(100), acknowledging: true)
            return world.heartbeats.count >= 3 ? nil : "\(world.heartbeats.count) heartbeats"
        }
    }

    @Test func `K13 a socket that answers no heartbeat is reported as dead`() {
        prove(.ignoresMissingAcks) { world in
            world.begin(at: 5)
            world.advance(by: .seconds(100))
            return differs(
                world.reported, [.stateChanged(.disconnected), .reconnectNeeded(.zombie(missedAcks: 2))], "told")
        }
    }

    @Test func `K13 clients that connect together send heartbeats at different times`() {
        func firstBeats() -> Set<Duration> {
            Set(
                (0..<20 as Range<UInt64>).map { seed in
                    var world = ResumeWorld(seed: seed)
                    world.open()
                    world.advance(by: .seconds(30), acknowledging: true)
                    return world.heartbeats.first?.at ?? .zero
                })
        }
        #expect(firstBeats().count == 20)
        if BrokenRules.areThere { breaking(ResumeMutation.beatsInStep) { #expect(firstBeats().count == 1) } }
    }

    @Test func `K14 a hello after Ready sets the heartbeat interval`() {
        prove(.ignoresLateHello) { world in
            world.begin(at: 5)
            world.receive(.hello(heartbeatInterval: 1))
            world.advance(by: .seconds(20), acknowledging: true)
            return world.heartbeats.count >= 19 ? nil : "\(world.heartbeats.count) heartbeats"
        }
    }

    @Test(arguments: [0, -1, .nan, .infinity, 1e-300, 1e300])
    func `K14 no server's interval stops or floods heartbeats`(interval: Double) {
        var world = ResumeWorld()
        world.receive(.hello(heartbeatInterval: interval))
        world.begin(at: 5)
        world.receive(.hello(heartbeatInterval: interval))
        world.advance(by: .seconds(1), acknowledging: true)
        #expect(world.heartbeats.count <= 200)
    }

    @Test func `K17 a thousand events are few writes`() {
        prove(.writesEveryEvent, writeDelay: .milliseconds(250)) { world in
            world.begin(at: 0)
            for sequence in 1...1000 as ClosedRange<UInt64> {
                world.push(sequence)
                world.advance(by: .milliseconds(1), acknowledging: true)
            }
            world.close()
            return differs(world.stored?.lastSeq, 1000, "stored")
                ?? (world.writeCount <= 10 ? nil : "\(world.writeCount) writes")
        }
    }

    @Test func `K17 a failed write is reported and repeated`() {
        var world = ResumeWorld()
        world.begin(at: 5)
        world.storeFails = true
        world.push(6)
        #expect(world.reported == [.storageFailed("unavailable: no store")])
        world.storeFails = false
        world.advance(by: .seconds(1), acknowledging: true)
        #expect(world.stored?.lastSeq == 6)
    }

    @Test func `K17 a store that doesn't return gets no second write of the cursor`() {
        var core = ResumeCore(
            .init(configuration: .init(autoHeartbeat: false), properties: properties, writeDelay: .milliseconds(250)),
            seed: 1)
        core.open()
        core.loaded(.success(nil), connection: 1)
        core.tokenReturned("token", connection: 1, .zero)
        _ = core.receive(.ready(sessionId: "s", initialSeq: 0), .zero)
        var writes = 0
        for second in 1...100 {
            _ = core.receive(.pushEvent(seq: UInt64(second)), .seconds(second))
            core.tick(.seconds(second) + .milliseconds(500))
            for case .write in core.takeDirectives() { writes += 1 }
        }
        #expect(writes == 1)
        core.writeFinished(nil, .seconds(200))
        core.tick(.seconds(201))
        #expect(core.takeDirectives() == [.write(SessionSnapshot(sessionId: "s", lastSeq: 100))])
    }

    @Test func `K18 a missing token, a failed handshake and a fresh start are reported`() {
        prove(.failsSilently) { world in
            world.token = nil
            world.open()
            let first = world.reported
            world.forgetReported()
            world.token = "token"
            world.handshakeFails = true
            world.open()
            return differs(first, [.tokenUnavailable], "told without a token")
                ?? differs(
                    world.reported,
                    [
                        .startedFresh(.noSession), .stateChanged(.handshaking), .stateChanged(.disconnected),
                        .reconnectNeeded(.handshakeFailed("no socket")),
                    ], "told")
        }
    }

    @Test func `K18 the gap left by a refused cursor is reported`() {
        var world = ResumeWorld()
        world.begin(at: 5)
        world.receive(.invalidSession(reason: nil, resumable: false))
        world.open()
        #expect(world.reported.contains(.startedFresh(.rejected)))
    }

    @Test func `A handshake without an answer is reported`() {
        var world = ResumeWorld(.init(autoHeartbeat: false))
        world.open()
        world.advance(by: .seconds(31))
        #expect(world.reported.suffix(2) == [.stateChanged(.disconnected), .reconnectNeeded(.handshakeTimedOut)])
    }

    @Test func `No sequence of server messages traps or moves the cursor back`() {
        let extremes: [UInt64] = [0, 1, 2, .max - 1, .max]
        var events: [IncomingEvent] = [
            .hello(heartbeatInterval: 1), .heartbeatAck, .reconnect, .invalidSession(reason: nil, resumable: true),
            .resumed(replayedCount: .min, currentSeq: 3), .resumed(replayedCount: .max, currentSeq: .max),
        ]
        events += extremes.map { .pushEvent(seq: $0) }
        events += extremes.map { .ready(sessionId: "s", initialSeq: $0) }
        for seed in 0..<500 as Range<UInt64> {
            for configuration in [SessionCoordinator.Configuration(), contiguous] {
                var random = SplitMix64(seed: seed)
                var world = ResumeWorld(configuration)
                world.begin(at: 1)
                var last: UInt64 = 0
                for _ in 0..<40 {
                    if random.upTo(5) == 0 {
                        world.close()
                        world.open()
                    }
                    let event = events[Int(random.upTo(UInt64(events.count - 1)))]
                    world.receive(event)
                    world.advance(by: .seconds(Int(random.upTo(4))), acknowledging: true)
                    // After a Ready the sequence may start over.
                    if case .ready = event { last = 0 }
                    if case .resumed = event { last = min(last, world.cursor ?? 0) }
                    #expect(world.cursor ?? .max >= last, "seed \(seed), \(event)")
                    last = world.cursor ?? 0
                }
            }
        }
    }
}
