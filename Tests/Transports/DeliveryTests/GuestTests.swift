import Foundation
import MeshBase
import MeshIdentity
import MeshStorage
import MeshTestSupport
import MeshTransport
import MeshWire
import Testing

@testable import MeshDelivery

private let other = UUID(uuid: (0x07, 0, 0, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 9))
private let reliable = SessionDeliveryMode.reliableEventually
private let bestEffort = SessionDeliveryMode.realtimeBestEffort

/// Messages between a side and a peer that it knows only as a guest. Each rule is tested with a guest and without.
@Suite struct GuestTests {
    /// - Parameter end: the end at which the other side is a guest of the workout.
    static func pair(
        guestAt end: LinkAddress?, leftStore: (any SessionStore)? = nil, configuration: DeliveryConfiguration = .init()
    ) throws -> Pair {
        let wire = MemoryWire(provesPeers: true, guestsAt: end.map { [$0] } ?? [])
        let pair = try Pair(wire, configuration: configuration, leftStore: leftStore)
        pair.left.admitGuests(["right"], toSession: sessionID, featureID: "workout")
        pair.right.admitGuests(["left"], toSession: sessionID, featureID: "workout")
        return pair
    }

    /// Sends one message of each kind that doesn't belong to the workout.
    static func foreign(_ mode: SessionDeliveryMode, from sender: LinkTransport, to peer: SessionPeer?) async throws {
        let id = sender.localPeer.id
        try await sender.send(envelope(1, feature: "score", from: id), mode: mode, to: peer)
        try await sender.send(envelope(2, from: id, session: other), mode: mode, to: peer)
        try await sender.sendSnapshot(snapshot(3, feature: "score", from: id), mode: mode, to: peer)
        try await sender.sendSnapshot(snapshot(4, from: id, session: other), mode: mode, to: peer)
    }

    @Test(arguments: [reliable, bestEffort], [true, false])
    func `A guest's messages are accepted only in its session, other peers' in every session`(
        mode: SessionDeliveryMode, isGuest: Bool
    ) async throws {
        let pair = try Self.pair(guestAt: isGuest ? "right" : nil)
        let (envelopes, snapshots) = (Log(pair.right.receiveEnvelopes()), Log(pair.right.receiveSnapshots()))
        let (requests, diagnostics) = (Log(pair.right.receiveSnapshotRequests()), Log(pair.right.diagnosticEvents()))
        pair.wire.connect()
        pair.settle()
        try await Self.foreign(mode, from: pair.left, to: nil)
        try await pair.left.requestSnapshot(sessionID: other, from: nil)
        try await pair.left.sendSnapshot(snapshot(6, feature: "score"), mode: .latestSnapshot, to: nil)
        try await pair.left.send(envelope(7), mode: mode, to: nil)
        try await pair.left.sendSnapshot(snapshot(8), mode: mode, to: nil)
        try await pair.left.requestSnapshot(sessionID: sessionID, from: nil)
        pair.settle(.seconds(10))
        #expect(await envelopes.atLeast(isGuest ? 1 : 3).map(\.metadata.sequence) == (isGuest ? [7] : [1, 2, 7]))
        #expect(await Set(snapshots.atLeast(isGuest ? 1 : 4).map(\.revision)) == (isGuest ? [8] : [3, 4, 6, 8]))
        #expect(
            await requests.atLeast(isGuest ? 1 : 2).map(\.sessionID) == (isGuest ? [sessionID] : [other, sessionID]))
        #expect((pair.right.latestPeerSnapshot(featureID: "score") == nil) == isGuest)
        // Not reported twice, and not sent again and again.
        pair.wire.disconnect()
        pair.wire.connect()
        pair.settle(.seconds(10))
        if isGuest { await eventually { diagnostics.refusalCount > 0 } }
        #expect(diagnostics.refusalCount == (isGuest ? 1 : 0))
        #expect(envelopes.all.count == (isGuest ? 1 : 3))
    }

    @Test(arguments: [true, false])
    func `A guest gets newest snapshots on a live lane, other peers on a kept one`(isGuest: Bool) throws {
        let now = DeliveryTime(elapsed: 1, wall: 1_767_225_600_000)
        var core = DeliveryCore(
            localPeer: peer("left"), settings: .init(lanes: [.datagram, .queue, .latest], codec: 2, codecs: [2]),
            outbox: 1)
        _ = core.admit(guests: ["right"], to: Guests.Scope(sessionID: sessionID, featureID: "workout"))
        core.connected("link", as: "right", isGuest: isGuest, now)
        try core.receive(
            WireFrame(.hello(WireHello(peer: peer("right"), codecs: [2]))), on: .datagram, from: "link", now)
        _ = try core.send(.init(message: .snapshot(snapshot(1)), byteCount: 1), mode: .latestSnapshot, to: nil, now)
        var lanes: [LinkLane] = []
        while let next = core.nextFrame(for: "link", now) {
            if case .snapshot = next.frame.message { lanes.append(next.lane) }
        }
        #expect(lanes == [isGuest ? .datagram : .latest])
    }

    @Test(arguments: [reliable, bestEffort], [true, false])
    func `A guest is sent only its session's messages, and other peers all`(
        mode: SessionDeliveryMode, isGuest: Bool
    ) async throws {
        let pair = try Self.pair(guestAt: isGuest ? "left" : nil)
        let (envelopes, snapshots) = (Log(pair.right.receiveEnvelopes()), Log(pair.right.receiveSnapshots()))
        let requests = Log(pair.right.receiveSnapshotRequests())
        // Published before the peer connects, and after.
        try await pair.left.sendSnapshot(snapshot(6, feature: "score"), mode: .latestSnapshot, to: nil)
        pair.wire.connect()
        pair.settle()
        if isGuest, mode == bestEffort {
            await #expect(throws: SessionSyncError.notReachable) {
                try await pair.left.send(envelope(1, feature: "score"), mode: mode, to: nil)
            }
            await #expect(throws: SessionSyncError.notReachable) {
                try await pair.left.requestSnapshot(sessionID: other, from: nil)
            }
        } else {
            try await Self.foreign(mode, from: pair.left, to: nil)
        }
        try await pair.left.sendSnapshot(snapshot(9, feature: "late"), mode: .latestSnapshot, to: nil)
        try await pair.left.send(envelope(7), mode: mode, to: nil)
        try await pair.left.sendSnapshot(snapshot(8), mode: mode, to: nil)
        try await pair.left.requestSnapshot(sessionID: sessionID, from: nil)
        pair.settle(.seconds(10))
        #expect(await envelopes.atLeast(isGuest ? 1 : 3).map(\.metadata.sequence) == (isGuest ? [7] : [1, 2, 7]))
        #expect(await Set(snapshots.atLeast(isGuest ? 1 : 5).map(\.revision)) == (isGuest ? [8] : [3, 4, 6, 8, 9]))
        #expect(await requests.atLeast(1).map(\.sessionID) == [sessionID])
    }

    @Test func `Sending another session's message to a guest throws, but a newest snapshot waits`()
        async throws
    {
        let pair = try Self.pair(guestAt: "left")
        let snapshots = Log(pair.right.receiveSnapshots())
        pair.wire.connect()
        pair.settle()
        for mode in [reliable, bestEffort, .acknowledgement] {
            await #expect(throws: SessionSyncError.unknownPeer(id: "right")) {
                try await pair.left.send(envelope(1, feature: "score"), mode: mode, to: peer("right"))
            }
        }
        await #expect(throws: SessionSyncError.unknownPeer(id: "right")) {
            try await pair.left.requestSnapshot(sessionID: other, from: peer("right"))
        }
        try await pair.left.sendSnapshot(snapshot(2, feature: "score"), mode: .latestSnapshot, to: peer("right"))
        try await pair.left.sendSnapshot(snapshot(3), mode: .latestSnapshot, to: peer("right"))
        pair.settle(.seconds(10))
        #expect(await snapshots.atLeast(1).map(\.revision) == [3])
        // Now the guest is admitted to the score too.
        pair.left.admitGuests(["right"], toSession: sessionID, featureID: "score")
        pair.settle()
        #expect(await snapshots.atLeast(2).map(\.revision) == [3, 2])
    }

    @Test func `Another session's newest snapshot doesn't keep a guest from its own session's`() async throws {
        let pair = try Self.pair(guestAt: "left")
        let snapshots = Log(pair.right.receiveSnapshots())
        pair.wire.connect()
        pair.settle()
        try await pair.left.sendSnapshot(snapshot(5), mode: .latestSnapshot, to: peer("right"))
        try await pair.left.sendSnapshot(snapshot(6, session: other), mode: .latestSnapshot, to: nil)
        pair.settle(.seconds(10))
        #expect(await snapshots.atLeast(1).map(\.revision) == [5])
    }

    @Test func `Messages for a peer that returns as a guest are withdrawn, except for its sessions`() async throws {
        let pair = try Self.pair(guestAt: nil)
        let envelopes = Log(pair.right.receiveEnvelopes())
        let diagnostics = Log(pair.left.diagnosticEvents())
        pair.wire.connect()
        pair.settle()
        pair.wire.disconnect()
        for sequence in 1...3 as ClosedRange<UInt64> {
            try await pair.left.send(envelope(sequence, feature: "score"), mode: reliable, to: nil)
            try await pair.left.send(envelope(sequence), mode: reliable, to: nil)
            try await pair.left.send(envelope(10 + sequence, session: other), mode: reliable, to: nil)
        }
        pair.wire.setGuests(at: ["left"])
        pair.wire.connect()
        pair.settle(.seconds(10))
        #expect(await envelopes.sequences(3) == [1, 2, 3])
        #expect(envelopes.all.count == 3)
        #expect(await diagnostics.has { if case .dropped(6, _) = $0 { true } else { false } })
        // After pairing again, the peer receives messages that are sent from then on.
        pair.wire.disconnect()
        pair.wire.setGuests(at: [])
        pair.wire.connect()
        pair.settle()
        try await pair.left.send(envelope(4, feature: "score"), mode: reliable, to: nil)
        pair.settle(.seconds(10))
        #expect(await envelopes.atLeast(4).map(\.metadata.featureID).last == "score")
    }

    @Test func `A pending message waits for a peer that may receive it`() async throws {
        let pair = try Self.pair(guestAt: "left")
        let envelopes = Log(pair.right.receiveEnvelopes())
        try await pair.left.send(envelope(1, feature: "score"), mode: reliable, to: nil)
        try await pair.left.send(envelope(1), mode: reliable, to: nil)
        try await pair.left.send(envelope(2, feature: "score"), mode: reliable, to: nil)
        pair.wire.connect()
        pair.settle(.seconds(10))
        try await pair.left.send(envelope(3, feature: "score"), mode: reliable, to: nil)
        pair.settle(.seconds(10))
        #expect(await envelopes.atLeast(1).map(\.metadata.featureID) == ["workout"])
        pair.wire.disconnect()
        pair.wire.setGuests(at: [])
        pair.wire.connect()
        pair.settle(.seconds(10))
        #expect(await envelopes.sequences(4, feature: "score") == [1, 2, 3])
    }

    @Test func `A guest of no session gets nothing and is forgotten once disconnected`() async throws {
        let pair = try Self.pair(guestAt: "left")
        let (there, back) = (Log(pair.right.receiveEnvelopes()), Log(pair.left.receiveEnvelopes()))
        pair.wire.connect()
        pair.settle()
        try await pair.left.send(envelope(1), mode: reliable, to: nil)
        try await pair.right.send(envelope(1, from: "right"), mode: reliable, to: nil)
        pair.settle()
        #expect(await there.sequences(1) == [1])
        #expect(await back.sequences(1) == [1])
        #expect(pair.left.knownPeers.map(\.id) == ["right"])
        pair.left.admitGuests([], toSession: sessionID, featureID: "workout")
        #expect(pair.left.knownPeers.isEmpty)
        #expect(pair.wire.admitted(at: "left") == [["right"], []])
        await #expect(throws: SessionSyncError.unknownPeer(id: "right")) {
            try await pair.left.send(envelope(2), mode: reliable, to: peer("right"))
        }
        try await pair.right.send(envelope(2, from: "right"), mode: reliable, to: nil)
        pair.settle(.seconds(10))
        #expect(back.all.count == 1)
        pair.wire.disconnect()
        #expect(pair.left.health(of: peer("right")) == nil)
    }

    @Test func `Each session names its guests, and the link gets all of them at each change`() throws {
        let pair = try Self.pair(guestAt: nil)
        pair.left.admitGuests(["right", "left"], toSession: sessionID, featureID: "workout")
        pair.left.admitGuests(["right", "watch"], toSession: other, featureID: "workout")
        pair.left.admitGuests(["right", "watch"], toSession: other, featureID: "workout")
        pair.left.admitGuests([], toSession: sessionID, featureID: "score")
        pair.left.admitGuests([], toSession: other, featureID: "workout")
        pair.left.admitGuests([], toSession: sessionID, featureID: "workout")
        #expect(pair.wire.admitted(at: "left") == [["right"], ["right", "watch"], ["right"], []])
    }

    @Test func `Admitting guests does nothing over a link that doesn't prove peers`() throws {
        let link = Unasking()
        let transport = try LinkTransport(localPeer: peer("left"), link: link)
        transport.admitGuests(["right"], toSession: sessionID, featureID: "workout")
        #expect(transport.shell.state.withLock { $0.core.guests.all.isEmpty })
    }

    // MARK: - Over relaunches

    @Test(arguments: [true, false])
    func `A guest stays a guest after a relaunch and delays no other peer`(isGuest: Bool) async throws {
        let store = MemoryStore()
        var configuration = DeliveryConfiguration()
        configuration.queueLimit = 8
        do {
            let pair = try Self.pair(guestAt: isGuest ? "left" : nil, leftStore: store, configuration: configuration)
            pair.wire.connect()
            pair.settle()
            #expect(pair.left.knownPeers.map(\.id) == ["right"])
            pair.left.abandon()
        }
        let wire = MemoryWire(provesPeers: true)
        let again = try LinkTransport(
            localPeer: peer("left"), link: wire.left, configuration: configuration, store: store)
        try again.start()
        func sendMuch() async throws {
            for sequence in 1...9 as ClosedRange<UInt64> {
                try await again.send(envelope(sequence, feature: "score"), mode: reliable, to: nil)
            }
        }
        if isGuest {
            #expect(again.knownPeers.isEmpty)
            try await sendMuch()
        } else {
            // A peer that isn't a guest is owed all messages, and doesn't come.
            await #expect(throws: SessionSyncError.queueFull(limit: 8)) { try await sendMuch() }
        }
        again.admitGuests(["right"], toSession: sessionID, featureID: "workout")
        #expect(again.knownPeers.map(\.id) == ["right"])
        again.admitGuests([], toSession: sessionID, featureID: "workout")
        #expect(again.knownPeers.map(\.id) == (isGuest ? [] : ["right"]))
        await again.close()
        #expect(try store.value(for: "delivery/peer/1") == nil || !isGuest)
        #expect(try store.value(for: "delivery/guest/1") == nil)
    }

    // MARK: - Bounds

    @Test func `Admitted guests stay, and the new guests with the highest IDs are rejected`() {
        var guests = Guests()
        func scope(_ feature: String) -> Guests.Scope { Guests.Scope(sessionID: sessionID, featureID: feature) }
        func ids(_ range: Range<Int>) -> Set<String> { Set(range.map { String(format: "peer %03d", $0) }) }
        #expect(guests.admit(ids(10..<70), to: scope("a")).refused == [])
        // Guests who are also in another session take no further space.
        #expect(guests.admit(ids(20..<72), to: scope("b")).refused == [])
        let (hasChanged, refused) = guests.admit(ids(0..<72), to: scope("a"))
        #expect(hasChanged)
        #expect(Set(refused) == ids(2..<10))
        #expect(guests.all == ids(0..<2).union(ids(10..<72)))
        #expect(guests.all.count == Guests.peersMax)
        // Admitting the same guests again changes nothing.
        #expect(!guests.admit(ids(0..<72), to: scope("a")).hasChanged)
        // New guests get the remaining space.
        #expect(guests.admit([], to: scope("b")).hasChanged)
        #expect(guests.admit(ids(0..<64), to: scope("a")).refused == [])
        for number in 0..<20 {
            let (hasChanged, refused) = guests.admit(ids(0..<1), to: scope("session \(number)"))
            #expect(hasChanged == (number < Guests.sessionsMax - 1))
            #expect(refused.isEmpty == hasChanged)
        }
        #expect(guests.admit([], to: scope("session 0")).hasChanged)
        #expect(guests.admit(ids(0..<1), to: scope("session 19")).hasChanged)
    }

    @Test func `A rejected guest is reported`() async throws {
        let pair = try Self.pair(guestAt: nil)
        let diagnostics = Log(pair.left.diagnosticEvents())
        pair.left.admitGuests(
            Set((0..<100).map { "peer \($0)" }), toSession: sessionID, featureID: "workout")
        #expect(pair.wire.admitted(at: "left").last?.count == 64)
        #expect(
            await diagnostics.has {
                if case .rejected(_, let reason) = $0 { reason.contains("36 guests") } else { false }
            })
    }
}

/// A link that doesn't support guests.
private final class Unasking: TransportLink {
    let lanes: [LinkLane: PayloadLimit] = [.stream: .deliveryMessage]
    func open(_ observer: any LinkObserver) {}
    func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) { throw LinkError(.unreachable) }
    func close() async {}
}

extension Log where Element == SessionDiagnosticEvent {
    fileprivate var refusalCount: Int { all.count { if case .rejected = $0 { true } else { false } } }
}
