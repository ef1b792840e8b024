import MeshBus
import MeshTesting
import MeshTransport
import Testing

@Suite struct BrokenTransportTests {
    /// Which rule must notice which fault. Every fault and every rule occurs.
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
        (.mixesFeatures, "transport.features.separate"),
        (.sharesOneStream, "transport.subscribers.independent"),
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
        (.tellsEveryone, "transport.target.reaches"),
        (.tellsOnlyTheFirst, "transport.target.all"),
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
    ]

    @Test func `Every rule has a fault that it must notice, and every fault a rule`() {
        #expect(Set(Self.noticed.map(\.rule)) == Set(TransportConformance.rules.map(\.id)))
        #expect(Set(Self.noticed.map(\.fault)) == Set(Fault.allCases))
    }

    @Test("A broken transport fails the rule that it breaks", arguments: noticed.map(\.fault))
    func noticesFault(fault: Fault) async throws {
        let rule = try #require(Self.noticed.first { $0.fault == fault }?.rule)
        let report = await TransportConformance.examine(
            try fixture(fault), as: "transport.broken",
            rules: TransportConformance.rules.filter { $0.id == rule },
            limit: fault == .neverReturns ? .milliseconds(50) : .seconds(60))
        let row = try #require(report[rule: rule])
        #expect(row.outcome == .failed, "\(fault) was not noticed")
        #expect(!row.detail.isEmpty)
        #expect(report.failures == [row])
        #expect(!report.isConformant)
    }

    @Test func `The decorator without a fault keeps every rule`() async throws {
        let report = await TransportConformance.examine(
            try fixture(nil), as: "transport.sound")
        #expect(report.failures == [])
        #expect(report.isConformant)
    }

    @Test func `A fixture that cannot be made fails every rule`() async {
        struct NoNetwork: Error {}
        let report = await TransportConformance.examine(
            TransportFixture { _ in throw NoNetwork() }, as: "transport.none")
        #expect(report.failures.count == TransportConformance.rules.count)
        #expect(report.rows.allSatisfy { $0.detail.contains("NoNetwork") })
    }

    /// The scenario's fixture with both ends decorated.
    private func fixture(_ fault: Fault?) throws -> TransportFixture {
        let sound = try #require(
            TransportConformanceTests.fixtures.first { $0.plugin == "transport.scenario" }?.value)
        return TransportFixture(patience: sound.patience) { codec in
            let pair = try await sound.makePair(codec)
            func wrap(_ transport: any SessionSyncTransport) -> any SessionSyncTransport {
                FaultyTransport(transport, fault)
            }
            return TransportPair(
                first: wrap(pair.first), second: wrap(pair.second), bystander: pair.bystander, limit: pair.limit,
                connect: pair.connect, disconnect: pair.disconnect, settle: pair.settle)
        }
    }
}
