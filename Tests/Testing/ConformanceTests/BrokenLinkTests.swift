import MeshBase
import MeshBus
import MeshDelivery
import MeshTesting
import MeshTransport
import Testing

/// Each link rule is tested with a link that breaks it on purpose.
@Suite struct BrokenLinkTests {
    /// The rule that must detect each fault. Every fault and every rule occurs.
    static let noticed: [(fault: LinkFault, rule: String)] = [
        (.offersNothing, "link.lanes.offered"),
        (.changesItsLanes, "link.lanes.constant"),
        (.connectsTwice, "link.connected.once"),
        (.sendsUnopened, "link.send.unopened"),
        (.takesStrangers, "link.send.unreachable"),
        (.sendsAfterClosing, "link.send.closed"),
        (.takesAnySize, "link.send.oversized"),
        (.refusesTheLargest, "link.send.largest"),
        (.losesAnswers, "link.send.within-received"),
        (.losesStreamBytes, "link.stream.intact"),
        (.swapsPackets, "link.stream.intact"),
        (.swapsPackets, "link.stream.both-ways"),
        (.cutsDatagrams, "link.datagram.whole"),
        (.mixesLanes, "link.lanes.apart"),
        (.neverWritable, "link.full.writable"),
        (.hidesTheEnd, "link.disconnect.told"),
        (.keepsTheDisplaced, "link.namesakes"),
        (.deliversWhileApart, "link.disconnect.silent"),
        (.carriesOver, "link.reconnect.fresh"),
        (.keepsTheLastBack, "link.close.flushed"),
        (.hidesTheEnd, "link.close.told"),
        (.callsAfterClosing, "link.close.silent"),
        (.holdsItsObserver, "link.close.released"),
        (.losesWhatWaits, "link.queue.kept"),
        (.swapsWhatWaits, "link.queue.kept"),
        (.swapsWhatWaits, "link.file.kept"),
        (.repeatsTheUrgent, "link.urgent.once"),
        (.keepsTheOldest, "link.latest.newest"),
        (.provesNothing, "link.peer.proven"),
        (.provesNothing, "link.peer.greeting"),
    ]

    @Test func `Every rule has a fault that it must notice, and every fault a rule`() {
        let rules = TransportConformance.rules.map(\.id).filter { $0.hasPrefix("link.") }
        #expect(Set(Self.noticed.map(\.rule)) == Set(rules))
        #expect(Set(Self.noticed.map(\.fault)) == Set(LinkFault.allCases))
    }

    @Test("A broken link fails the rule that it breaks", arguments: noticed.indices)
    func noticesFault(index: Int) async throws {
        let (fault, rule) = Self.noticed[index]
        let report = await Patience.$grace.withValue(.milliseconds(500)) {
            await TransportConformance.examine(
                fixture(fault, provesPeers: rule != "link.namesakes"), as: "link.broken",
                rules: TransportConformance.rules.filter { $0.id == rule })
        }
        let row = try #require(report[rule: rule])
        #expect(row.outcome == .failed, "\(rule) doesn't detect \(fault)")
        #expect(!row.detail.isEmpty)
    }

    @Test func `The decorator without a fault keeps every rule`() async {
        for provesPeers in [true, false] {
            let report = await TransportConformance.examine(fixture(nil, provesPeers: provesPeers), as: "link.sound")
            #expect(report.failures == [])
        }
    }

    @Test("A rule that fails closes its links all the same", arguments: [true, false])
    func closesLinks(provesPeers: Bool) async {
        let openCount = Locked(0)
        let sound = fixture(nil, provesPeers: provesPeers)
        let broken = LinkFixture(countMax: sound.countMax, patience: sound.patience) { count in
            let group = try await sound.makeLinks(count)
            return LinkGroup(
                group.links.map { CountedLink($0, openCount) }, peerIDs: group.peerIDs,
                connect: { throw ConformanceFailure("the links can't be connected") }, disconnect: group.disconnect,
                clock: group.clock, settle: group.settle)
        }
        let report = await TransportConformance.examine(
            broken, as: "link.broken", rules: TransportConformance.rules.filter { $0.id.hasPrefix("link.") })
        #expect(report.failures.count > 20)
        #expect(openCount.withLock { $0 } == 0)
    }

    /// Decorated links with every lane. Two links that prove their peers can't share a name.
    private func fixture(_ fault: LinkFault?, provesPeers: Bool) -> LinkFixture {
        let sound = LinkFixture.inMemory(
            lanes: [
                .stream: .memoryStream, .datagram: .memoryDatagram, .queue: .memoryKept, .latest: .memoryKept,
                .file: .memoryKept,
            ], provesPeers: provesPeers)
        return LinkFixture(countMax: sound.countMax, patience: sound.patience) { count in
            let group = try await sound.makeLinks(count)
            return LinkGroup(
                group.links.map { FaultyLink($0, fault) }, peerIDs: group.peerIDs, connect: group.connect,
                disconnect: group.disconnect,
                clock: group.clock, settle: group.settle)
        }
    }
}

/// A correct link that counts itself while it is open.
private final class CountedLink: LinkWrapper {
    let base: any TransportLink
    private let openCount: Locked<Int>
    private let isOpen = Locked(false)

    init(_ base: any TransportLink, _ openCount: Locked<Int>) { (self.base, self.openCount) = (base, openCount) }

    func open(_ observer: any LinkObserver) throws {
        try base.open(observer)
        isOpen.withLock { $0 = true }
        openCount.withLock { $0 += 1 }
    }

    func close() async {
        await base.close()
        let wasOpen = isOpen.withLock { isOpen in
            defer { isOpen = false }
            return isOpen
        }
        if wasOpen { openCount.withLock { $0 -= 1 } }
    }
}
