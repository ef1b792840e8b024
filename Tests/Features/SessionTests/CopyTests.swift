import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import MeshWire
import Testing

@testable import MeshSession

/// A state of any size.
private struct Tape: Codable, Sendable, Equatable {
    var bytes: [UInt8] = []
}

/// Appends bytes that don't compress.
private struct Cut: Codable, Sendable {
    var bytes: [UInt8]

    init(seed: Int) {
        var random = SplitMix64(seed: UInt64(seed))
        bytes = (0..<1024).flatMap { _ in withUnsafeBytes(of: random.next()) { Array($0) } }
    }
}

private struct TapeReducer: SessionSyncReducer {
    func reduce(state: inout Tape, event: Cut, context: SessionEventContext) { state.bytes += event.bytes }
}

private typealias TapeSession = SyncedSession<Tape, Cut, TapeReducer, AcceptingConflictPolicy<Tape, Cut>>
private typealias Core = TapeSession.Core

/// Counts the bytes that are sent for copies.
private struct CountingTransport: WrappingTransport {
    let wrapped: any SessionSyncTransport
    let pieceBytes = Locked(0)

    func send(_ envelope: AnySessionSyncEnvelope, mode: SessionDeliveryMode, to peer: SessionPeer?) async throws {
        if envelope.metadata.payloadType == CopyPiece.payloadType {
            let piece = try envelope.decodePayload(as: CopyPiece.self)
            pieceBytes.withLock { $0 += piece.bytes.count }
        }
        try await wrapped.send(envelope, mode: mode, to: peer)
    }
}

@MainActor @Suite struct CopyTests {
    let world = VirtualWorld(seed: 11)

    private func session(
        _ transport: any SessionSyncTransport, incarnation: UInt32,
        configure: (inout SyncedSessionConfiguration<Tape, Cut>) -> Void = { _ in }
    ) -> TapeSession {
        var configuration = SyncedSessionConfiguration<Tape, Cut>()
        let counter = world.configuration(incarnation: incarnation)
        configuration.incarnation = incarnation
        (configuration.now, configuration.uptime) = (counter.now, counter.uptime)
        configuration.wait = counter.wait
        configuration.randomSeed = counter.randomSeed
        configuration.engine.samplesReducer = false
        configuration.engine.ownUnconfirmedBytesMax = 64 << 20
        configure(&configuration)
        return TapeSession(
            sessionID: sessionID, featureID: "tape", transport: transport, initialState: Tape(),
            reducer: TapeReducer(), conflictPolicy: AcceptingConflictPolicy(), configuration: configuration)
    }

    private func transport(_ peer: SessionPeer) -> CountingTransport {
        let limit = PayloadLimit(
            id: "test.small", bytes: 256 << 10, summary: "A small message", source: "this test")
        return CountingTransport(
            wrapped: world.network.makeTransport(
                localPeer: peer, budget: PayloadBudget(limit: limit, codec: CompactCodec())))
    }

    @Test
    func `A copy of 20 MB arrives in pieces during live events, and continues after each of five disconnections`()
        async throws
    {
        let giving = transport(phone)
        let here = session(giving, incarnation: 1)
        let there = session(transport(watch), incarnation: 2)
        here.start()
        for seed in 0..<2560 { try here.submit(Cut(seed: seed)) }
        there.start()
        var breaks = 0
        while breaks < 5 {
            let fraction = Double(breaks + 1) / 7
            await world.settle(until: { there.copyProgress.map { $0.fraction > fraction } ?? false })
            let before = try #require(there.copyProgress).receivedBytes
            world.network.partition([phone], [watch])
            try here.submit(Cut(seed: breaks))
            await world.run(.seconds(breaks == 2 ? 60 : 3))
            world.network.heal()
            await world.run(.milliseconds(20))
            #expect(try #require(there.copyProgress).receivedBytes >= before)
            breaks += 1
        }
        await world.settle(until: { there.isMember && here.isMember && there.state == here.state })
        #expect(there.state.bytes.count == 20 << 20 + 5 << 13)
        #expect(there.copyProgress == nil && here.core.offeredCopy == nil)
        #expect(here.statistics.copiesSent == 1 && there.statistics.copiesAdopted == 1)
        let repeated = giving.pieceBytes.withLock { $0 } - 20 << 20
        #expect(repeated <= 6 * ArrivingCopy.windowBytes, "a break costs a window")
        try there.submit(Cut(seed: 9))
        await world.settle(until: { here.state == there.state && here.confirmedCount == there.confirmedCount })
    }

    @Test func `A newcomer gets another copy when the sender dies`() async throws {
        var here = session(transport(phone), incarnation: 1)
        let there = session(transport(watch), incarnation: 2)
        here.start()
        for seed in 0..<512 { try here.submit(Cut(seed: seed)) }
        there.start()
        await world.settle(until: { there.copyProgress.map { $0.fraction > 0.3 } ?? false })
        here.stop()
        here = session(transport(phone), incarnation: 3)
        here.start()
        for seed in 0..<640 { try here.submit(Cut(seed: seed)) }
        await world.settle(until: { there.isMember && here.isMember && there.state == here.state })
        #expect(there.state.bytes.count == 5 << 20, "events that only the dead member had are gone")
        #expect(there.copyProgress == nil)
    }

    @Test func `A newcomer killed during its copy gets one at its next launch`() async throws {
        let here = session(transport(phone), incarnation: 1)
        var there = session(transport(watch), incarnation: 2)
        here.start()
        for seed in 0..<512 { try here.submit(Cut(seed: seed)) }
        there.start()
        await world.settle(until: { there.copyProgress.map { $0.fraction > 0.3 } ?? false })
        there.stop()
        there = session(transport(watch), incarnation: 3)
        there.start()
        await world.settle(until: { there.isMember && here.isMember && there.state == here.state })
        #expect(there.state.bytes.count == 4 << 20)
    }

    @Test func `A copy beyond the bound isn't sent, and the error names its size`() async throws {
        let here = session(transport(phone), incarnation: 1) { $0.copyBytesMax = 1 << 20 }
        let there = session(transport(watch), incarnation: 2)
        here.start()
        for seed in 0..<256 { try here.submit(Cut(seed: seed)) }
        there.start()
        func claimedBytes() -> Int? {
            guard
                case .payloadTooLarge(let bytes, 1_048_576, "session.copyBytesMax")? =
                    here.lastSendError as? SessionSyncError
            else { return nil }
            return bytes
        }
        await world.settle(until: { claimedBytes() != nil })
        #expect(claimedBytes() ?? 0 > 2 << 20)
        #expect(there.copyProgress == nil && !there.isMember)
    }

    // MARK: - Several newcomers

    private var terms: OfferedCopy.Terms {
        OfferedCopy.Terms(
            SessionCheckpoint<Tape, Cut>(
                control: SessionControl(), membership: SessionMembership(),
                base: SessionBase(reduced: ReducedState(state: Tape()), vector: SequenceVector(), count: 0), log: [],
                settledCount: 0, cut: .zero, chain: ConfirmationChain()))
    }

    @Test func `Newcomers of one view share a copy, and each gets all of it`() throws {
        var core = core()
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: "tape", sourcePeerID: "watch", sequence: 1, causalTimestamp: world.now,
            payloadType: "tape.state")
        try core.offer([UInt8](repeating: 7, count: 300 << 10), on: terms, metadata, to: "phone")
        let id = try #require(core.offeredCopy).id
        let size = try #require(core.offeredCopy).bytes.count
        let newcomers = ["phone", "tablet"]
        var received = [String: Int]()
        for turn in 0..<40 {
            // Each newcomer asks for a copy with every exchange.
            for newcomer in newcomers {
                if core.announceOffer(on: terms, to: newcomer) { continue }
                if turn == 0 { Issue.record("the copy isn't shared with \(newcomer)") }
            }
            for newcomer in newcomers {
                let first = UInt64(received[newcomer, default: 0])
                guard first < UInt64(size) else { continue }
                let request = CopyRequest(
                    receiver: "watch", copy: id, first: first, end: min(first + 20_000, UInt64(size)))
                core.receive([try message(request, CopyRequest.payloadType, from: newcomer)])
            }
            for case .piece(let piece) in core.outgoing.takeAll().copyMessages {
                received[piece.receiver, default: 0] += piece.bytes.count
            }
        }
        #expect(received == ["phone": size, "tablet": size] && core.offeredCopy?.id == id)
        for newcomer in newcomers {
            let end = CopyRequest(receiver: "watch", copy: id, first: UInt64(size), end: UInt64(size))
            core.receive([try message(end, CopyRequest.payloadType, from: newcomer)])
        }
        #expect(core.offeredCopy == nil, "kept until the last newcomer has everything")
    }

    // MARK: - Pieces of a peer that lies

    private func core(configure: (inout SyncedSessionConfiguration<Tape, Cut>) -> Void = { _ in }) -> Core {
        var core = session(transport(watch), incarnation: 2, configure: configure).core
        core.start(retained: nil)
        _ = core.takeRound()
        return core
    }

    private func message(_ piece: CopyPiece, from peerID: String = "phone") throws -> AnySessionSyncEnvelope {
        try message(piece, CopyPiece.payloadType, from: peerID)
    }

    private func message<Payload: Codable & Sendable>(
        _ payload: Payload, _ payloadType: String, from peerID: String
    ) throws -> AnySessionSyncEnvelope {
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: "tape", sourcePeerID: peerID, sequence: 0, causalTimestamp: world.now,
            payloadType: payloadType)
        return try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: payload))
    }

    @Test(
        arguments: [
            (size: 0, offset: 0, count: 0), (.max, 0, 0), ((64 << 20) + 1, 0, 0), (10, .max, 1), (10, 10, 1), (1, 0, 2),
            (1 << 20, 0, 32_769),
        ] as [(UInt64, UInt64, Int)])
    func `A piece of impossible size is refused`(size: UInt64, offset: UInt64, count: Int) throws {
        var core = core()
        let bytes = [UInt8](repeating: 0, count: count)
        let piece = CopyPiece(receiver: "watch", copy: 1, size: size, offset: offset, bytes: bytes)
        core.receive([try message(piece)])
        #expect(core.statistics.rejected == 1 && core.arrivingCopy == nil)
    }

    @Test func `No memory is reserved before pieces arrive, whatever size is claimed`() throws {
        var core = core()
        core.receive([try message(CopyPiece(receiver: "watch", copy: 1, size: 64 << 20, offset: 0, bytes: []))])
        #expect(try #require(core.arrivingCopy).bytes.capacity == 0)
        #expect(core.outgoing.copyMessages.count == 1)
    }

    @Test func `Bytes that aren't a copy are rejected, and the newcomer keeps asking`() throws {
        var core = core()
        let piece = CopyPiece(receiver: "watch", copy: 1, size: 3, offset: 0, bytes: [1, 2, 3])
        core.receive([try message(piece)])
        let arrived = try #require(core.takeDirectives().arrivedCopy)
        core.adopt(arrived)
        #expect(core.statistics.rejected == 1 && core.arrivingCopy == nil && !core.engine.isSealed)
    }

    @Test func `A peer can't replace another peer's copy unless that one has stopped`() throws {
        var core = core()
        core.receive([try message(CopyPiece(receiver: "watch", copy: 1, size: 9, offset: 0, bytes: [1]))])
        let other = CopyPiece(receiver: "watch", copy: 2, size: 5, offset: 0, bytes: [])
        core.receive([try message(other, from: "stranger")])
        #expect(core.arrivingCopy?.id == 1)
        core.moment.now += 11
        core.receive([try message(other, from: "stranger")])
        #expect(core.arrivingCopy?.id == 2)
    }

    @Test func `Missing pieces are requested again after 2, 4, 8 seconds and so on, despite new announcements`() throws
    {
        var core = core()
        let announcement = CopyPiece(receiver: "watch", copy: 1, size: 1 << 20, offset: 0, bytes: [])
        var asked: [Int] = []
        for second in 0..<40 {
            core.receive([try message(announcement)])
            core.exchangeNow()
            if !core.outgoing.takeAll().copyMessages.isEmpty { asked.append(second) }
            core.moment.now += 1
        }
        #expect(asked == [0, 2, 6, 14, 30])
        core.receive([try message(CopyPiece(receiver: "watch", copy: 2, size: 5, offset: 0, bytes: []), from: "other")])
        #expect(core.arrivingCopy?.id == 2, "a stopped sender blocks no other, however often it is asked")
    }

    @Test func `Every permitted request is answered within the copy and a window`() {
        let bytes = (0..<100).map { UInt8($0) }
        let offered = OfferedCopy(id: 5, receivers: ["watch"], terms: terms, bytes: bytes)
        for first in 0...101 as ClosedRange<UInt64> {
            for end in 0...101 as ClosedRange<UInt64> {
                let request = CopyRequest(receiver: "phone", copy: 5, first: first, end: end)
                let got = offered.pieces(request, to: "watch", pieceBytes: 7).flatMap(\.bytes)
                let expected = first < end && end <= 100 ? Array(bytes[Int(first)..<Int(end)]) : []
                if got != expected { Issue.record("\(first) to \(end): \(got)") }
            }
        }
        let far = CopyRequest(receiver: "phone", copy: 5, first: 0, end: .max)
        #expect(offered.pieces(far, to: "watch", pieceBytes: 7).isEmpty)
    }

    /// Pieces arrive in order, twice, or not at all, with any seed. In the end all bytes are present, and never more than a
    /// window is in flight.
    @Test func `Whatever is lost or repeated, the copy's bytes are complete`() {
        for seed in 0..<300 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let size = 1 + Int(random.next() % (5 * UInt64(ArrivingCopy.windowBytes)))
            let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
            let announcement = CopyPiece(receiver: "watch", copy: 5, size: UInt64(size), offset: 0, bytes: [])
            var arriving = ArrivingCopy(announcement, from: "phone", size: size, retryAfter: .seconds(2), at: world.now)
            var (underWay, turns, moment) = ([CopyPiece](), 0, world.now)
            func answer(_ request: CopyRequest) {
                for offset in stride(from: Int(request.first), to: Int(request.end), by: 20_000) {
                    var piece = announcement
                    piece.offset = UInt64(offset)
                    piece.bytes = Array(bytes[offset..<min(offset + 20_000, Int(request.end))])
                    underWay.append(piece)
                }
            }
            while !arriving.isComplete, turns < 10_000 {
                turns += 1
                if let request = arriving.nextRequest() { answer(request) }
                guard !underWay.isEmpty else {
                    moment += 1
                    if let request = arriving.requestAgain(at: moment) { answer(request) }
                    continue
                }
                let piece = underWay.removeFirst()
                switch random.next() % 20 {
                case 0: break
                case 1: underWay.insert(piece, at: 0)
                default: arriving.append(piece, at: moment)
                }
                if underWay.count > 60 { Issue.record("seed \(seed): \(underWay.count) pieces under way") }
            }
            if arriving.bytes != bytes { Issue.record("seed \(seed): \(arriving.bytes.count) of \(size)") }
        }
    }
}
