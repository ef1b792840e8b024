import Foundation
import MeshBus
import MeshIdentity
import MeshTransport
import MeshWire
import Testing

@testable import MeshPipeTransport

/// What a peer may send: whole streams, cut ones, garbage.
@Suite struct PipeStreamTests {
    static func connection() throws -> [[UInt8]] {
        try Sample.frames([
            Sample.hello(), .envelope(Sample.envelope(1)), .snapshot(Sample.snapshot(1)),
            .snapshotRequest(WireSnapshotRequest(sessionID: Sample.session)), .envelope(Sample.envelope(2)),
            .goodbye(WireGoodbye(.closing)),
        ])
    }

    @Test func `A stream that ends at any byte is taken as far as it is whole`() async throws {
        let frames = try Self.connection()
        let stream = frames.flatMap { $0 }
        let ends = frames.reduce(into: [0]) { $0.append($0.last! + $1.count) }
        for cut in 0...stream.count {
            let tapped = try Tapped()
            let diagnostics = tapped.diagnostics.subscribe()
            let envelopes = tapped.transport.receiveEnvelopes()
            let reachability = tapped.transport.reachabilityChanges()
            try tapped.transport.start()
            await Plumbing.write(Array(stream[..<cut]), to: tapped.feed)
            let written = try Sample.messages(in: await tapped.finish())
            await tapped.transport.close()
            tapped.diagnostics.finish()

            let whole = ends.last { $0 <= cut }.map { ends.firstIndex(of: $0)! } ?? 0
            let expected: [UInt64] = whole >= 5 ? [1, 2] : whole >= 2 ? [1] : []
            #expect(await drain(envelopes).map(\.metadata.sequence) == expected, "cut at \(cut)")
            #expect(await drain(reachability).map(\.isReachable) == (whole >= 1 ? [true, false] : []), "cut at \(cut)")
            #expect(await drain(diagnostics).rejections.isEmpty == ends.contains(cut), "cut at \(cut)")
            #expect(tapped.transport.knownPeers.map(\.id) == (whole >= 1 ? ["phone"] : []), "cut at \(cut)")
            guard case .hello(let hello)? = written.first else {
                Issue.record("no greeting was written, cut at \(cut)")
                return
            }
            #expect(hello.peer.id == "watch")
        }
    }

    @Test("A stream arrives whole in pieces of any size", arguments: [1, 2, 3, 7, 64])
    func pieces(size: Int) async throws {
        let tapped = try Tapped()
        let diagnostics = tapped.diagnostics.subscribe()
        let envelopes = tapped.transport.receiveEnvelopes()
        let requests = tapped.transport.receiveSnapshotRequests()
        try tapped.transport.start()
        await Plumbing.write(try Self.connection().flatMap { $0 }, to: tapped.feed, pieces: size)
        _ = await tapped.finish()
        await tapped.transport.close()
        tapped.diagnostics.finish()
        let received = await drain(envelopes)
        #expect(received.map(\.metadata) == [Sample.metadata(1), Sample.metadata(2)])
        #expect(try received.map { try $0.decodePayload(as: [String].self) } == [["lap"], ["lap"]])
        #expect(await drain(requests).map(\.requester) == [Sample.peer("phone")])
        #expect(tapped.transport.latestPeerSnapshot(featureID: "workout")?.revision == 1)
        #expect(await drain(diagnostics).rejections == [])
    }

    @Test(
        "Garbage ends the link with a diagnostic and a farewell, never the process", arguments: 0..<60 as Range<UInt64>)
    func garbage(seed: UInt64) async throws {
        var random = Random(seed: seed)
        var frames = try Self.connection().dropLast().map { $0 }
        // Anywhere: in place of the greeting, between frames, or as a changed byte within one.
        let place = Int(random.next() % UInt64(frames.count))
        if seed % 2 == 0 {
            frames.insert((0..<200).map { _ in UInt8(truncatingIfNeeded: random.next()) }, at: place)
        } else {
            let offset = Int(random.next() % UInt64(frames[place].count))
            frames[place][offset] ^= UInt8(1 + random.next() % 255)
        }
        let tapped = try Tapped()
        let diagnostics = tapped.diagnostics.subscribe()
        try tapped.transport.start()
        await Plumbing.write(frames.flatMap { $0 }, to: tapped.feed)
        let written = await tapped.finish()
        #expect(await endsWithRejection(tapped, diagnostics, of: written), "seed \(seed)")
        await #expect(throws: SessionSyncError.notReachable, "seed \(seed)") {
            try await tapped.transport.send(Sample.envelope(9), mode: .reliableEventually)
        }
        await tapped.transport.close()
    }

    /// Messages that are well formed and must not come.
    static let offences: [(name: String, messages: @Sendable () throws -> [WireMessage], reason: String)] = [
        ("no greeting", { [.envelope(try Sample.envelope(1))] }, "did not greet first"),
        ("a second greeting", { [Sample.hello(), Sample.hello()] }, "greeted twice"),
        ("its own greeting", { [Sample.hello("watch")] }, "talking to itself"),
        ("another codec", { [Sample.hello(codecs: [1, 2])] }, "does not read codec"),
        (
            "frames of the future",
            { [.hello(WireHello(peer: Sample.peer("phone"), frameVersions: 200...210, codecs: [200]))] },
            "frame versions"
        ),
    ]

    @Test("A peer that breaks the order of things is turned away", arguments: offences.map(\.name))
    func offence(name: String) async throws {
        let offence = try #require(Self.offences.first { $0.name == name })
        let tapped = try Tapped()
        let diagnostics = tapped.diagnostics.subscribe()
        try tapped.transport.start()
        await Plumbing.write(try Sample.frames(try offence.messages()).flatMap { $0 }, to: tapped.feed)
        let written = await tapped.finish(closesFeed: false)
        close(tapped.feed)
        #expect(await endsWithRejection(tapped, diagnostics, of: written, reason: offence.reason))
        await tapped.transport.close()
    }

    @Test func `A farewell with a reason is reported, one in good order is not`() async throws {
        for (reason, expected) in [(WireGoodbye.Reason.closing, 0), (.busy, 1)] {
            let tapped = try Tapped()
            let diagnostics = tapped.diagnostics.subscribe()
            let stream = try Sample.frames([Sample.hello(), .goodbye(WireGoodbye(reason, detail: "no room"))])
            try tapped.transport.start()
            await Plumbing.write(stream.flatMap { $0 }, to: tapped.feed)
            _ = await tapped.finish(closesFeed: false)
            close(tapped.feed)
            tapped.diagnostics.finish()
            #expect(await drain(diagnostics).rejections.count == expected)
            await tapped.transport.close()
        }
    }

    private func endsWithRejection(
        _ tapped: Tapped, _ diagnostics: AsyncStream<SessionDiagnosticEvent>, of written: [UInt8], reason: String = ""
    ) async -> Bool {
        tapped.diagnostics.finish()
        let rejections = await drain(diagnostics).rejections
        guard rejections.count == 1, reason.isEmpty || rejections[0].contains(reason) else { return false }
        // The input may also end within a frame that garbage has announced; then there is nobody to say farewell to.
        guard !rejections[0].contains("ended within a frame") else { return true }
        guard case .goodbye(let goodbye)? = try? Sample.messages(in: written).last else { return false }
        return goodbye.reason != .closing && !goodbye.detail.isEmpty
    }
}

/// xorshift64*, seeded.
struct Random {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }
}
