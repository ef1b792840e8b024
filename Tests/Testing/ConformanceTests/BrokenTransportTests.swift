import Foundation
import MeshBase
import MeshBus
import MeshDelivery
import MeshIdentity
import MeshTesting
import MeshTransport
import MeshWire
import Testing

@Suite struct BrokenTransportTests {
    /// The rule that must detect each fault. Every fault and every rule occurs.
    static let noticed: [(fault: Fault, rule: String)] = [
        (.losesTheStamp, "transport.envelope.intact"),
        (.changesThePayload, "transport.envelope.intact"),
        (.deliversTwice, "transport.order.reliable"),
        (.swapsNeighbours, "transport.order.reliable"),
        (.losesOneInTen, "transport.order.reliable"),
        (.neverReturns, "transport.order.reliable"),
        (.dropsWhatWaits, "transport.queue.waits"),
        (.storesBestEffort, "transport.realtime.not-stored"),
        (.losesBestEffort, "transport.realtime.arrives"),
        (.losesBestEffort, "transport.realtime.kept"),
        (.mixesFeatures, "transport.features.separate"),
        (.sharesOneStream, "transport.subscribers.independent"),
        (.readsAhead, "transport.subscribers.first"),
        (.readsAhead, "transport.subscribers.slow"),
        (.acceptsAnySize, "transport.limit.refused"),
        (.refusesUnderAnotherName, "transport.limit.refused"),
        (.understatesItsLimit, "transport.limit.refused"),
        (.losesTheCheckpoint, "transport.snapshot.intact"),
        (.losesTheVector, "transport.snapshot.intact"),
        (.forgetsSnapshots, "transport.snapshot.late-subscriber"),
        (.looksUpNothing, "transport.snapshot.lookup"),
        (.looksUpAnyFeature, "transport.snapshot.lookup"),
        (.olderReplacesNewer, "transport.snapshot.newest-wins"),
        (.replaysEverySnapshot, "transport.snapshot.late-peer"),
        (.forgetsTheRequester, "transport.request.requester"),
        (.losesRequests, "transport.request.requester"),
        (.sendsToEveryPeer, "transport.target.reaches"),
        (.sendsOnlyToTheFirst, "transport.target.all"),
        (.acceptsStrangers, "transport.target.unknown"),
        (.echoes, "transport.echo.none"),
        (.knowsItself, "transport.peers.local-is-not-known"),
        (.staysSilentAboutPeers, "transport.reachability.announced"),
        (.neverReportsLoss, "transport.reachability.announced"),
        (.leavesStreamsOpen, "transport.close.streams-end"),
        (.endsStreamsEarly, "transport.close.streams-end"),
        (.sendsAfterClosing, "transport.close.sends-throw"),
        (.holdsTheLastBack, "transport.close.flushes"),
        (.takesAnyMode, "transport.mode.unsupported"),
        (.ignoresCancellation, "transport.cancellation.honoured"),
        (.dropsWhatWaits, "transport.order.after-reconnect"),
        (.dropsWhatWaits, "transport.reconnect.mid-transfer"),
        (.dropsWhatWaits, "transport.reconnect.large"),
        (.storesBestEffort, "transport.realtime.refused"),
        (.knowsTwice, "transport.peers.remembered"),
        (.announcesTwice, "transport.reachability.alternates"),
        (.believesTheCable, "transport.reachability.proven"),
        (.replaysEverySnapshot, "transport.snapshot.returning-peer"),
        (.acceptsWithoutEnd, "transport.backpressure.reliable"),
        (.acceptsWithoutEnd, "transport.backpressure.realtime"),
        (.ignoresCancellation, "transport.backpressure.cancelled"),
        (.sendsAfterClosing, "transport.close.full-link"),
        (.sendsAfterClosing, "transport.close.while-sending"),
        (.sendsAfterClosing, "transport.close.twice"),
        (.leavesStreamsOpen, "transport.close.unconnected"),
        (.losesOneInTen, "transport.order.both-ways"),
        (.losesOneInTen, "transport.order.concurrent"),
        (.sharesOneQueue, "transport.large.lets-pass"),
        (.changesThePayload, "transport.payload.shapes"),
        (.mixesFeatures, "transport.features.names"),
        (.overhearsGarbage, "transport.garbage.ends-connection"),
        (.passesGarbageOn, "transport.garbage.packets"),
        (.believesAnyGreeting, "transport.garbage.forged-greeting"),
        (.dropsWhatWaits, "transport.loss.reliable"),
        (.dropsWhatWaits, "transport.loss.large"),
        (.publishesOnce, "transport.loss.snapshot"),
        (.dropsWhatWaits, "transport.loss.greeting"),
        (.trustsTheWall, "transport.clock.jumps"),
        (.deliversTwice, "transport.once.event"),
        (.sendsOneByOne, "transport.several.at-once"),
        (.forgetsForTheNext, "transport.next.together"),
        (.readsForOthers, "transport.unread.waits"),
        (.readsForOthers, "transport.unread.together"),
        (.keepsWhatIsCancelled, "transport.withdrawal"),
        (.repeatsTheUrgent, "transport.urgent.once"),
        (.sendsOnlyToTheFirst, "transport.crowd.all"),
        (.sendsToEveryPeer, "transport.crowd.one"),
        (.swapsNeighbours, "transport.crowd.sources"),
        (.mixesFeatures, "transport.features.many"),
        (.returnsToOldSnapshots, "transport.snapshot.collapse"),
        (.sendsToEveryPeer, "transport.snapshot.target"),
        (.announcesToTheFirst, "transport.reachability.late-subscriber"),
        (.neverReportsLoss, "transport.close.announced"),
        (.dropsWhatWaits, "transport.relaunch.outbox"),
        (.dropsWhatWaits, "transport.relaunch.pending"),
        (.dropsWhatWaits, "transport.relaunch.inbox"),
        (.deliversTwice, "transport.relaunch.once"),
        (.publishesOnce, "transport.relaunch.snapshot"),
        (.looksUpNothing, "transport.relaunch.lookup"),
        (.forgetsAtRelaunch, "transport.relaunch.peers"),
    ]

    @Test func `Every rule has a fault that it must notice, and every fault a rule`() {
        let rules = TransportConformance.rules.map(\.id).filter { $0.hasPrefix("transport.") }
        #expect(Set(Self.noticed.map(\.rule)) == Set(rules))
        #expect(Set(Self.noticed.map(\.fault)) == Set(Fault.allCases))
    }

    @Test("A broken transport fails the rule that it breaks", arguments: noticed.indices)
    func noticesFault(index: Int) async throws {
        let (fault, rule) = Self.noticed[index]
        let report = await Patience.$grace.withValue(.milliseconds(500)) {
            await TransportConformance.examine(
                fixture(fault, hasQueue: rule == "transport.realtime.kept"), as: "transport.broken",
                rules: TransportConformance.rules.filter { $0.id == rule },
                limit: fault == .neverReturns ? .milliseconds(50) : .seconds(600))
        }
        let row = try #require(report[rule: rule])
        #expect(row.outcome == .failed, "\(fault) was not noticed")
        #expect(!row.detail.isEmpty)
        #expect(report.failures == [row])
        #expect(!report.isConformant)
    }

    @Test func `The decorator without a fault keeps every rule`() async throws {
        let report = await TransportConformance.examine(
            fixture(nil), as: "transport.sound")
        #expect(report.failures == [])
        #expect(report.isConformant)
    }

    @Test func `A fixture that throws fails every rule`() async {
        struct NoNetwork: Error {}
        let report = await TransportConformance.examine(
            TransportFixture { _ in throw NoNetwork() }, as: "transport.none")
        #expect(report.failures.count == TransportConformance.rules.count)
        #expect(report.rows.allSatisfy { $0.detail.contains("NoNetwork") })
    }

    /// Decorated transports over a correct link.
    private func fixture(_ fault: Fault?, hasQueue: Bool = false) -> TransportFixture {
        let lanes: [LinkLane: PayloadLimit] = [.stream: .memoryStream, .datagram: .memoryDatagram]
        let queue: [LinkLane: PayloadLimit] = hasQueue ? [.queue: .memoryKept] : [:]
        let sound = LinkFixture.inMemory(lanes: lanes.merging(queue) { lane, _ in lane }).transports()
        return TransportFixture(patience: sound.patience) { codec in
            try await decorated(sound.makePair(codec), fault)
        }
    }
}

private func decorated(_ pair: TransportPair, _ fault: Fault?, isRelaunched: Bool = false) -> TransportPair {
    @Sendable func wrap(_ transport: any SessionSyncTransport) -> FaultyTransport {
        FaultyTransport(transport, fault, isRelaunched: isRelaunched)
    }
    let (first, second) = (wrap(pair.first), wrap(pair.second))
    var result = TransportPair(
        first: first, second: second, bystander: pair.bystander, limit: pair.limit, connect: pair.connect,
        disconnect: pair.disconnect, settle: pair.settle)
    result.reconnects = pair.reconnects
    result.faults = pair.faults.map { faults in
        TransportFaults(
            lanes: faults.lanes, cut: faults.cut, mend: faults.mend, swallow: faults.swallow, setRoom: faults.setRoom,
            inject: { bytes, lane in
                switch fault {
                case .overhearsGarbage: break
                case .passesGarbageOn: second.memory.echo(nonsense)
                case .believesAnyGreeting: second.memory.meet(unknownPeer)
                default: faults.inject(bytes, lane)
                }
            },
            disturb: faults.disturb,
            jumpClock: { duration in
                faults.jumpClock(duration)
                first.memory.jump()
            }, holdTime: faults.holdTime)
    }
    if let makeDurable = pair.makeDurable { result.makeDurable = { decorated(try await makeDurable(), fault) } }
    if let makeNarrow = pair.makeNarrow { result.makeNarrow = { decorated(try await makeNarrow(), fault) } }
    if let relaunch = pair.relaunch {
        result.relaunch = { decorated(try await relaunch(), fault, isRelaunched: true) }
    }
    if let makeCrowd = pair.makeCrowd {
        result.makeCrowd = { count in
            let crowd = try await makeCrowd(count)
            return TransportCrowd(ends: crowd.ends.map(wrap), connect: crowd.connect, settle: crowd.settle)
        }
    }
    return result
}

private let unknownPeer = SessionPeer(id: "nobody", deviceClass: .unknown, appInstanceID: "0", topology: .unknown)

private let nonsense = AnySessionSyncEnvelope(
    metadata: SessionSyncMetadata(
        sessionID: UUID(), featureID: "workout", sourcePeerID: "nobody", sequence: 1, causalTimestamp: Date(),
        payloadType: "nonsense"),
    payload: EncodedPayload(bytes: [], codec: CompactCodec()))
