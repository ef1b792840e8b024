import Foundation
import MeshBrokenRules
import MeshIdentity
import Testing

@testable import MeshEngine

/// Paired peers that send extreme numbers, send without being members, or relaunch without end.
@Suite struct HostilePeerTests {
    static let extremes: [UInt64] = [
        0, 1, 1 << 31, 1 << 32 - 1, 1 << 48, 1 << 48 + 1, 1 << 53 - 1, 1 << 53, 1 << 63 - 1, 1 << 63, .max - 1, .max,
    ]

    // MARK: - Numbers

    /// Every number of a control, at every end of its range, from a member, a founder's guest and an unknown peer.
    @Test(arguments: extremes)
    func `A control with extreme numbers doesn't trap`(number: UInt64) throws {
        let phone = SessionSource(peerID: "phone", incarnation: 1)
        let watch = SessionSource(peerID: "watch", incarnation: 2)
        let changes: [(inout SessionControl) -> Void] = [
            { $0.held = SequenceVector([SourceSequence(source: watch, sequence: number)]) },
            { $0.held = SequenceVector([SourceSequence(source: phone, sequence: number)]) },
            { $0.firstSequence = number },
            { $0.position = number },
            { $0.wants = [SessionRange(source: phone, first: 0, last: number)] },
            { $0.wants = [SessionRange(source: phone, first: number, last: number)] },
            { $0.forked = [SourceSequence(source: phone, sequence: number)] },
            {
                $0.replacements = [
                    SessionRecord(
                        source: watch, sequence: number, stamp: HybridTimestamp(rawValue: number),
                        causalTimestamp: noon,
                        content: .replacement(SessionReplacement(old: phone, new: watch, final: number)))
                ]
            },
            { $0.clockEchoes = [ClockEcho(source: phone, sentAt: .distantFuture, receivedAt: .distantPast)] },
        ]
        for (index, change) in changes.enumerated() {
            for promise in [nil, SequencePromise(sequence: number, stamp: HybridTimestamp(rawValue: number))] {
                for (name, pair) in try situations() {
                    var pair = pair
                    var (metadata, control) = honestControl(of: &pair.watch, at: pair.now)
                    change(&control)
                    metadata.promise = promise ?? metadata.promise
                    for sequence in [0, number] {
                        metadata.sequence = sequence
                        _ = try? pair.phone.receiveControl(
                            SessionSyncEnvelope(metadata: metadata, payload: control), at: pair.now)
                    }
                    try expectAlive(&pair.phone, "\(name), change \(index), \(number)")
                }
            }
        }
    }

    @Test(arguments: extremes)
    func `A snapshot with extreme numbers doesn't trap`(number: UInt64) throws {
        for victim in ["phone", "watch", "else"] {
            for (name, pair) in try situations() {
                var pair = pair
                var snapshot = pair.watch.makeSnapshot(at: pair.now)
                snapshot = SessionSyncSnapshot(
                    metadata: snapshot.metadata, revision: number, state: ["theirs"],
                    peerSequenceVector: [victim: number])
                snapshot.metadata.sequence = number
                _ = try? pair.phone.applySnapshot(snapshot)
                try expectAlive(&pair.phone, "\(name), \(victim), \(number)")
                // The peer's next event arrives while the phone may show that snapshot.
                for sequence in [1, number] {
                    var envelope = try pair.watch.submitLocal("next", at: pair.now)
                    envelope.metadata.sequence = sequence
                    envelope.metadata.promise = SequencePromise(
                        sequence: number, stamp: HybridTimestamp(rawValue: number))
                    _ = try? pair.phone.receive(envelope)
                }
                try expectAlive(&pair.phone, "\(name), an event after \(victim), \(number)")
            }
        }
    }

    @Test(arguments: extremes)
    func `A copy with extreme numbers doesn't trap`(number: UInt64) throws {
        var founder = makeEngine("a", incarnation: 3)
        var joiner = makeEngine("b", incarnation: 4)
        _ = try joiner.submitLocal("mine", at: noon)
        let (checkpoint, metadata) = try copy(by: &founder, for: &joiner)
        let stamp = HybridTimestamp(rawValue: number)
        let changes: [(inout SessionCheckpoint<[String], String>) -> Void] = [
            { $0.base.count = number },
            { $0.base.vector = SequenceVector([SourceSequence(source: joiner.source, sequence: number)]) },
            { $0.base.vector = SequenceVector([SourceSequence(source: founder.source, sequence: number)]) },
            { $0.chain = ConfirmationChain(position: number) },
            { $0.membership.first = [SourceSequence(source: joiner.source, sequence: number)] },
            { $0.membership.first = [SourceSequence(source: founder.source, sequence: number)] },
            { $0.membership.closed = [SourceSequence(source: SessionSource(peerID: "c"), sequence: number)] },
            { $0.settledCount = Int(truncatingIfNeeded: number) },
            { $0.cut = stamp },
            { for index in $0.membership.open.indices { $0.membership.open[index].floor = stamp } },
            { for index in $0.log.indices { $0.log[index].sequence = number } },
            { for index in $0.log.indices { $0.log[index].stamp = stamp } },
        ]
        for (index, change) in changes.enumerated() {
            var joiner = joiner
            var checkpoint = checkpoint
            change(&checkpoint)
            _ = try? joiner.adopt(checkpoint, from: metadata, at: noon)
            try expectAlive(&joiner, "change \(index), \(number)")
        }
    }

    /// Regression: a store couldn't read a session again after its device had adopted a copy that lacked events.
    @Test func `A copy whose log lacks events is rejected`() throws {
        var founder = makeEngine("a", incarnation: 3)
        var joiner = makeEngine("b", incarnation: 4)
        for number in 1...4 { _ = try founder.submitLocal("\(number)", at: noon) }
        let (checkpoint, metadata) = try copy(by: &founder, for: &joiner)
        #expect(checkpoint.log.map(\.sequence) == [1, 2, 3, 4])
        let source = founder.source
        let far = SessionMembership.skipMax + 2
        let changes: [(name: String, isHonest: Bool, change: (inout SessionCheckpoint<[String], String>) -> Void)] = [
            ("as it was", true, { _ in }),
            (
                "the first are void", true,
                {
                    $0.log.removeFirst(2)
                    $0.membership.first = [SourceSequence(source: source, sequence: 3)]
                }
            ),
            (
                "events below the first", true,
                {
                    $0.membership.first = [SourceSequence(source: source, sequence: 5)]
                }
            ),
            ("the first is missing", false, { $0.log.removeFirst() }),
            ("one is missing", false, { $0.log.remove(at: 2) }),
            ("one is there twice", false, { $0.log[2].sequence = 2 }),
            (
                "stamps fall, as those of a source that wasn't a member", true,
                {
                    ($0.log[1].sequence, $0.log[2].sequence) = ($0.log[2].sequence, $0.log[1].sequence)
                }
            ),
            (
                "the base includes one", false,
                {
                    $0.base.vector = SequenceVector([SourceSequence(source: source, sequence: 2)])
                }
            ),
            (
                "too many are void", false,
                {
                    $0.membership.first = [SourceSequence(source: source, sequence: far + 4)]
                }
            ),
            (
                "too many are void after the base", false,
                {
                    $0.log = []
                    $0.base.vector = SequenceVector([SourceSequence(source: source, sequence: 1)])
                    $0.membership.first = [SourceSequence(source: source, sequence: far)]
                }
            ),
        ]
        for (name, isHonest, change) in changes {
            var joiner = joiner
            var checkpoint = checkpoint
            checkpoint.settledCount = 0
            change(&checkpoint)
            #expect(try joiner.adopt(checkpoint, from: metadata, at: noon) == isHonest, "\(name)")
            #expect(joiner.isSealed == isHonest, "\(name)")
        }
    }

    /// A store keeps a source's events by sequence, so a fold of the second one would lose the first at a relaunch.
    @Test func `A fold keeps the events of a source together, whatever their stamps`() throws {
        var phone = makeEngine("phone", incarnation: 1)
        for number in 0..<40 { _ = try phone.submitLocal("\(number)", at: noon + Double(number)) }
        var tablet = makeEngine("tablet", incarnation: 3)
        let first = try tablet.submitLocal("first", at: noon + 500)
        var second = try tablet.submitLocal("second", at: noon + 500)
        second.metadata.stamp = HybridTimestamp(milliseconds: (noon - 1).millisecondsSince1970)
        for event in [first, second] { _ = try phone.receive(event) }
        #expect(phone.state.first == "second" && phone.state.last == "first")

        var pair = EnginePair(phone: phone, watch: makeEngine("watch", incarnation: 2))
        pair.now = noon + 600
        for _ in 0..<8 { try pair.exchange() }
        #expect(pair.phone.confirmedCount >= 42 && pair.watch.state == pair.phone.state)
        for engine in [pair.phone, pair.watch] {
            let image = engine.image
            #expect(image.log.allSatisfy { $0.sequence > image.base.vector[$0.source] })
        }
    }

    /// Regression: a store couldn't write any more after a member had skipped 2^40 of its own sequences.
    @Test func `A member can't skip more sequences than a store fills`() throws {
        let most = 1 + SessionMembership.skipMax
        for (first, expected) in [(most, most), (most + 1, 1), (1 << 40, 1)] {
            var pair = try EnginePair.joined()
            _ = try pair.phone.receive(pair.watch.submitLocal("second", at: pair.now))
            #expect(pair.phone.held[pair.watch.source] == 1)
            var (metadata, control) = honestControl(of: &pair.watch, at: pair.now)
            control.firstSequence = first
            metadata.sequence = 0
            try pair.phone.receiveControl(SessionSyncEnvelope(metadata: metadata, payload: control), at: pair.now)
            #expect(pair.phone.membership.first.first?.sequence ?? 1 == expected)
            #expect(pair.phone.held[pair.watch.source] == max(1, expected - 1))
        }
    }

    /// Regression: a device that a view listed twice lost every event that it sent from then on.
    @Test func `A view that names a source or a peer twice is rejected`() throws {
        let changes: [(inout SessionMembership, SessionSource) -> Void] = [
            { $0.closed.append(SourceSequence(source: $1, sequence: 0)) },
            { $0.open.append(.init(source: $1)) },
            { $0.open.append(.init(source: SessionSource(peerID: $1.peerID, incarnation: $1.incarnation &+ 1))) },
            { membership, source in
                membership.open.removeAll { $0.source == source }
                membership.closed += (0...1).map { SourceSequence(source: source, sequence: $0) }
            },
        ]
        for (index, change) in changes.enumerated() {
            var pair = EnginePair(
                phone: makeEngine("phone", incarnation: 1), watch: makeEngine("watch", incarnation: 2))
            for _ in 0..<3 { try pair.exchange() }
            #expect(pair.phone.membership.open.count == 2)
            var (metadata, control) = honestControl(of: &pair.watch, at: pair.now)
            var membership = pair.phone.membership
            change(&membership, pair.phone.source)
            control.view = ViewStatement(number: 1)
            control.record = SessionViewRecord(number: 1, membership: membership)
            metadata.sequence = 0
            let envelope = SessionSyncEnvelope(metadata: metadata, payload: control)
            #expect(throws: SessionSyncError.outOfRange(field: "membership"), "change \(index)") {
                try pair.phone.receiveControl(envelope, at: pair.now)
            }
            _ = try pair.phone.submitLocal("after", at: pair.now)
            for _ in 0..<3 { try pair.exchange() }
            #expect(pair.watch.state == ["after"] && pair.phone.state == ["after"], "change \(index)")
        }
    }

    @Test func `Invalid dates are rejected`() throws {
        for seconds in [Double.nan, .infinity, -.infinity] {
            var phone = makeEngine("phone")
            var watch = makeEngine("watch")
            var envelope = try watch.submitLocal("when?", at: noon)
            envelope.metadata.causalTimestamp = Date(timeIntervalSince1970: seconds)
            #expect(throws: SessionSyncError.outOfRange(field: "metadata")) { try phone.receive(envelope) }
        }
    }

    // MARK: - Clocks

    /// A victim of extreme stamps must still write events that others accept.
    @Test(arguments: [1 << 62, 1 << 62 + 1, 1 << 63 - 2, 1 << 63 - 1, 1 << 63, .max] as [UInt64])
    func `All members survive a clock at its maximum`(raw: UInt64) throws {
        var (phone, tablet, watch) = try sealedThree()
        for number in 0..<50 {
            var poison = try watch.submitLocal("poison \(number)", at: noon)
            poison.metadata.stamp = HybridTimestamp(rawValue: raw &- UInt64(50 - number))
            poison.metadata.promise = SequencePromise(
                sequence: poison.metadata.sequence, stamp: HybridTimestamp(rawValue: .max))
            // The phone receives all of it, the tablet nothing.
            _ = try? phone.receive(poison)
            phone.tick(at: noon)
            _ = phone.takeDirectives()
        }
        for number in 0..<10 {
            let tap = try phone.submitLocal("tap \(number)", at: noon + Double(number))
            #expect(try tablet.receive(tap) == .applied(tablet.state))
            #expect(tap.metadata.stamp.isUsable)
            let answer = try tablet.submitLocal("answer \(number)", at: noon + Double(number))
            _ = try phone.receive(answer)
            #expect(phone.state.contains("answer \(number)"))
        }
    }

    @Test(.breaksRules, .breaks(.anyStamp))
    func `A clock that followed every stamp would run out of stamps`() throws {
        var (phone, tablet, watch) = try sealedThree()
        var poison = try watch.submitLocal("far ahead", at: noon)
        poison.metadata.stamp = HybridTimestamp(rawValue: 1 << 63 - 1)
        _ = try phone.receive(poison)
        let tap = try phone.submitLocal("tap", at: noon)
        #expect(try tablet.receive(tap) == .ignored([]), "the repair is undone without detection")
    }

    @Test func `A stamp far ahead of the wall clock raises one alarm per source`() throws {
        var (phone, _, watch) = try sealedThree()
        for day in 0..<5 { _ = try phone.receive(watch.submitLocal("ahead", at: noon + 200_000 + Double(day))) }
        let alarms = phone.takeDirectives().alarms
        #expect(alarms == [.clockFarAhead(watch.source, milliseconds: 200_000_000)])
        let before = try phone.submitLocal("mine", at: noon)
        #expect(
            before.metadata.stamp.milliseconds >= (noon + 200_000).wallMilliseconds,
            "its stamp exceeds all that it has seen")
    }

    /// Events are persisted without the head. A relaunch takes its clock from its own events, and observes the stamps of others
    /// under the same limits as on arrival.
    @Test func `A relaunch's clock continues after its last own event, not after a peer's stamp far ahead`() throws {
        var (phone, _, watch) = try sealedThree()
        let head = phone.image.head
        let tap = try phone.submitLocal("tap", at: noon + 5)
        var far = try watch.submitLocal("far ahead", at: noon)
        far.metadata.stamp = HybridTimestamp(rawValue: 1 << 63 - 1)
        far.metadata.promise = nil
        _ = try phone.receive(far)
        var image = phone.image
        (image.head.clock, image.head.clockLease) = (head.clock, head.clockLease)
        var again = try ListEngine(
            restoring: image, reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(), seed: 1)
        let next = try again.submitLocal("next", at: noon)
        #expect(next.metadata.stamp > tap.metadata.stamp && next.metadata.stamp.isPlausible)
    }

    @Test func `A store poisoned by a peer recovers, and its waiting events arrive`() throws {
        var (phone, tablet, _) = try sealedThree()
        let stuck = try ["one", "two"].map { try phone.submitLocal($0, at: noon) }
        var image = phone.image
        image.head.clock = HybridTimestamp(rawValue: 1 << 63 + 7)
        image.head.clockLease = HybridTimestamp(rawValue: .max)
        image.head.cut = HybridTimestamp(rawValue: 1 << 63)
        for index in image.log.indices { image.log[index].stamp = HybridTimestamp(rawValue: 1 << 63 + UInt64(index)) }
        var healed = try ListEngine(
            restoring: image, reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(), seed: 1)
        #expect(healed.state == ["one", "two"])
        #expect(healed.takeDirectives().persist?.replacesEverything == true)
        let next = try healed.submitLocal("three", at: noon)
        #expect(try tablet.receive(next) == .snapshotRequired(expectedSequence: 1, receivedSequence: 3))
        tablet.tick(at: noon)
        for message in tablet.takeDirectives().outgoing { try EnginePair.deliver(message, to: &healed, at: noon) }
        for message in healed.takeDirectives().outgoing { try EnginePair.deliver(message, to: &tablet, at: noon) }
        #expect(tablet.state == ["one", "two", "three"])
        #expect(tablet.records.map { $0.eventID ?? next.metadata.eventID }.count == stuck.count + 1)
    }

    // MARK: - Nonmembers

    /// A peer that is trusted on the network but isn't a member sends each kind of message to a member.
    @Test func `A nonmember changes nothing, learns nothing and takes up no space`() throws {
        var pair = try EnginePair.joined()
        _ = try pair.watch.receive(pair.phone.submitLocal("secret", at: pair.now))
        try pair.exchange()
        let before = (pair.phone.outline, pair.phone.state, pair.phone.membership)
        for incarnation in 1...100 as ClosedRange<UInt32> {
            var stranger = makeEngine("stranger", incarnation: incarnation)
            _ = try stranger.submitLocal("mine", at: pair.now)
            var (metadata, control) = honestControl(of: &stranger, at: pair.now)
            control.group = pair.phone.group
            control.members = [pair.phone.source, pair.watch.source, stranger.source]
            control.forked = [SourceSequence(source: pair.phone.source, sequence: 1)]
            control.held = SequenceVector([SourceSequence(source: pair.phone.source, sequence: 40)])
            control.isDigest = true
            metadata.epoch = pair.phone.epoch
            try pair.phone.receiveControl(SessionSyncEnvelope(metadata: metadata, payload: control), at: pair.now)
            var event = try stranger.submitLocal("theirs", at: pair.now)
            event.metadata.epoch = pair.phone.epoch
            #expect(try pair.phone.receive(event) == .ignored(["secret"]))
            var snapshot = stranger.makeSnapshot(at: pair.now)
            snapshot.metadata.epoch = pair.phone.epoch
            _ = try pair.phone.applySnapshot(snapshot)
            let directives = pair.phone.takeDirectives()
            #expect(directives.outgoing.isEmpty)
            #expect(directives.alarms == [.notAdmitted(stranger.source)])
        }
        #expect(pair.phone.outline.sourceCount == before.0.sourceCount)
        #expect(pair.phone.outline.heldDigest == before.0.heldDigest)
        #expect(pair.phone.state == before.1)
        #expect(pair.phone.membership == before.2)
        #expect(!pair.phone.hears("stranger"))
    }

    @Test func `A peer outside the group doesn't rename its founder`() throws {
        var phone = makeEngine("phone", incarnation: 1)
        var watch = makeEngine("watch", incarnation: 2)
        _ = try copy(by: &phone, for: &watch)
        var stranger = makeEngine("stranger", incarnation: 3)
        var (metadata, control) = honestControl(of: &stranger, at: noon)
        control.forked = [SourceSequence(source: phone.source, sequence: 1)]
        metadata.promise = nil
        try phone.receiveControl(SessionSyncEnvelope(metadata: metadata, payload: control), at: noon)
        #expect(phone.takeDirectives().alarms.filter { if case .forked = $0 { true } else { false } }.isEmpty)
    }

    // MARK: - Many incarnations

    /// Launches a watch without a store 1,100 times. The phone admits each incarnation.
    @Test func `A peer without a store can return any number of times`() throws {
        var pair = EnginePair()
        var controlBytes = 0
        for incarnation in 2...1101 as ClosedRange<UInt32> {
            pair.watch = makeEngine("watch", incarnation: incarnation)
            for _ in 0..<3 { try pair.exchange() }
            #expect(pair.watch.isSealed, "life \(incarnation)")
            _ = try pair.phone.receive(pair.watch.submitLocal("life \(incarnation)", at: pair.now))
            guard pair.phone.state.last == "life \(incarnation)" else {
                Issue.record("incarnation \(incarnation) wasn't accepted")
                return
            }
            let (_, control) = honestControl(of: &pair.phone, at: pair.now)
            controlBytes = max(controlBytes, try JSONEncoder().encode(control).count)
        }
        for _ in 0..<3 { try pair.exchange() }
        #expect(pair.phone.state.count == 1100)
        #expect(pair.phone.state == pair.watch.state)
        #expect(pair.phone.outline.sourceCount <= SourceTable.incarnationsMax + 2)
        #expect(controlBytes < 16_384, "\(controlBytes) bytes")
        #expect(pair.alarms.isEmpty)
    }

    @Test func `A peer with a new name for each message uses up only its own share`() throws {
        var phone = makeEngine("phone", incarnation: 1)
        for incarnation in 1...3000 as ClosedRange<UInt32> {
            var liar = makeEngine("liar", incarnation: incarnation)
            let (metadata, control) = honestControl(of: &liar, at: noon)
            _ = try? phone.receiveControl(SessionSyncEnvelope(metadata: metadata, payload: control), at: noon)
            _ = phone.takeDirectives()
            _ = try? phone.receive(liar.submitLocal("mine", at: noon))
        }
        #expect(phone.outline.sourceCount <= SourceTable.incarnationsMax + 1)
        let watch = makeEngine("watch", incarnation: 2)
        var envelope = watch
        #expect(try phone.receive(envelope.submitLocal("honest", at: noon)) != .ignored([]))
        #expect(phone.outline.sourceCount <= SourceTable.incarnationsMax + 2)
    }

    /// A caller that uses only the reference's calls, with a peer that relaunches again and again.
    @Test func `Forgetting incarnations doesn't change the state or the order`() throws {
        var phone = makeEngine("phone")
        var expected: [String] = []
        for incarnation in 1...300 as ClosedRange<UInt32> {
            var watch = makeEngine("watch", incarnation: incarnation)
            _ = try phone.receive(watch.submitLocal("\(incarnation)", at: noon + Double(incarnation)))
            expected.append("\(incarnation)")
            if incarnation.isMultiple(of: 7) {
                _ = try phone.submitLocal("p\(incarnation)", at: noon + Double(incarnation) + 0.5)
                expected.append("p\(incarnation)")
            }
        }
        #expect(phone.state == expected)
        #expect(phone.outline.sourceCount <= SourceTable.incarnationsMax + 1)
        #expect(phone.store.lastSequenceByPeerID["phone"] == 42)
    }

    @Test func `A gap of a nonmember is not requested`() throws {
        var pair = EnginePair()
        var dead = makeEngine("watch", incarnation: 9)
        _ = try dead.submitLocal("lost", at: noon)
        _ = try pair.phone.receive(dead.submitLocal("waits", at: noon))
        #expect(pair.phone.missing.count == 1)
        for _ in 0..<4 { try pair.exchange() }
        #expect(pair.phone.isSealed)
        #expect(pair.phone.missing.isEmpty)
    }

    @Test func `A group rejects events at its bound and never folds unconfirmed ones`() throws {
        var engine = try fullGroup(of: 64)
        #expect(throws: SessionSyncError.logFull(limit: 64)) { try engine.submitLocal("more", at: noon) }
        #expect(engine.logCount == 64)
    }

    @Test(.breaksRules, .breaks(.foldsReference))
    func `A group that folded at its bound would be detected`() throws {
        var folding = try fullGroup(of: 64)
        _ = try folding.submitLocal("more", at: noon)
        #expect(folding.logCount < 64, "the repair is undone without detection")
    }

    /// An engine in a group that has confirmed nothing, with as many own events as its bound allows.
    private func fullGroup(of count: Int) throws -> ListEngine {
        var options = SessionEngineOptions<[String], String>()
        options.ownUnconfirmedMax = count
        var engine = ListEngine(
            sessionID: session, featureID: "list", localPeerID: "phone", payloadType: "list.event",
            snapshotPayloadType: "list.state", initialState: [], reducer: ListReducer(),
            conflictPolicy: NoRepeatPolicy(),
            members: ["phone", "watch"].map { SessionSource(peerID: $0, incarnation: 1) }, options: options)
        for number in 0..<count { _ = try engine.submitLocal("\(number)", at: noon) }
        return engine
    }
}

extension HostilePeerTests {
    /// A phone and a watch before they meet, after the phone has offered its copy, and as members.
    private func situations() throws -> [(name: String, pair: EnginePair)] {
        var strangers = EnginePair()
        _ = try strangers.phone.submitLocal("first", at: noon)
        var founded = strangers
        _ = try copy(by: &founded.phone, for: &founded.watch)
        var members = try EnginePair.joined()
        _ = try members.watch.receive(members.phone.submitLocal("first", at: members.now))
        _ = try members.phone.receive(members.watch.submitLocal("second", at: members.now))
        return [("strangers", strangers), ("founded", founded), ("members", members)]
    }

    /// The metadata and the control that an honest engine would send now.
    private func honestControl(
        of engine: inout ListEngine, at moment: Date
    ) -> (SessionSyncMetadata, SessionControl) {
        var copy = engine
        copy.tick(at: moment)
        for case .control(let envelope, _) in copy.takeDirectives().outgoing {
            return (envelope.metadata, envelope.payload)
        }
        preconditionFailure("a tick makes a control")
    }

    /// The founder's copy for the joiner, in flight.
    private func copy(
        by founder: inout ListEngine, for joiner: inout ListEngine
    ) throws -> (SessionCheckpoint<[String], String>, SessionSyncMetadata) {
        joiner.tick(at: noon)
        for message in joiner.takeDirectives().outgoing { try EnginePair.deliver(message, to: &founder, at: noon) }
        for case .checkpoint(let checkpoint, let metadata, _) in founder.takeDirectives().outgoing {
            return (checkpoint, metadata)
        }
        throw SessionSyncError.notReachable
    }

    /// Three initial members of one group.
    private func sealedThree() throws -> (phone: ListEngine, tablet: ListEngine, watch: ListEngine) {
        let members = ["phone", "tablet", "watch"].map { SessionSource(peerID: $0, incarnation: 1) }
        var options = SessionEngineOptions<[String], String>()
        let engines = members.map { member in
            var engine = ListEngine(
                sessionID: session, featureID: "list", localPeerID: member.peerID, payloadType: "list.event",
                snapshotPayloadType: "list.state", initialState: [], reducer: ListReducer(),
                conflictPolicy: NoRepeatPolicy(), incarnation: 1, members: members, options: options)
            engine.tick(at: noon)
            _ = engine.takeDirectives()
            return engine
        }
        return (engines[0], engines[1], engines[2])
    }

    /// Submits, ticks, shows and persists: all of these compute with the numbers that the engine has received.
    private func expectAlive(_ engine: inout ListEngine, _ place: String) throws {
        let before = engine.held[engine.source]
        for number in 0..<3 { _ = try engine.submitLocal("alive \(number)", at: noon + 100 + Double(number)) }
        #expect(engine.held[engine.source] == before + 3, "\(place)")
        #expect(engine.state.suffix(3).contains("alive 2"), "\(place)")
        engine.tick(at: noon + 200)
        _ = engine.takeDirectives()
        _ = engine.makeSnapshot(at: noon + 200)
        _ = (engine.confirmedCount, engine.missing, engine.outline, engine.store.nextLocalSequence)
        _ = engine.records(in: SessionRange(source: engine.source, first: 0, last: .max))
        let restored = try ListEngine(
            restoring: engine.image, reducer: ListReducer(), conflictPolicy: NoRepeatPolicy(), seed: 1)
        #expect(restored.state == (engine.isProvisional ? restored.state : engine.state), "\(place)")
    }
}
