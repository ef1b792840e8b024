import Foundation
import MeshBase
import MeshDelivery
import MeshIdentity
import MeshStorage
import MeshTestSupport
import MeshTransport
import MeshWire
import Testing

@testable import MeshPipeTransport

/// A complete transport over pipes and sockets. The delivery over any link has its own tests.
@Suite struct PipeTransportTests {
    static func transport(
        _ id: String, _ endpoint: PipeEndpoint, store: (any SessionStore)? = nil
    ) throws -> PipeSessionSyncTransport {
        try PipeSessionSyncTransport(
            localPeer: Sample.peer(id), over: endpoint, configuration: Sample.configuration, store: store)
    }

    static func ends(over kind: String, _ place: Place) throws -> (PipeSessionSyncTransport, PipeSessionSyncTransport) {
        switch kind {
        case "pipes":
            let (there, back) = (try Plumbing.pipe(), try Plumbing.pipe())
            return (
                try transport("phone", .descriptors(input: back.read, output: there.write, closes: true)),
                try transport("watch", .descriptors(input: there.read, output: back.write, closes: true))
            )
        case "a socket pair":
            let pair = try Plumbing.socketPair()
            return (
                try transport("phone", .descriptors(input: pair.0, output: pair.0, closes: true)),
                try transport("watch", .descriptors(input: pair.1, output: pair.1, closes: true))
            )
        default:
            return (
                try transport("phone", .meeting(path: place.path)), try transport("watch", .meeting(path: place.path))
            )
        }
    }

    @Test func `Two programs with one peer ID both get an event, and neither connects to the other`() async throws {
        let place = try Place()
        let ends = try (1...2).map { _ in try Self.transport("phone", .meeting(path: place.path)) }
        let notified = Locked<Set<Int>>([])
        let readers = ends.enumerated().map { index, end in
            let events = end.diagnosticEvents()
            return Task {
                for await case .peerIDInUse("phone") in events { notified.withLock { _ = $0.insert(index) } }
            }
        }
        for end in ends { try end.start() }
        await eventually { notified.withLock { $0.count == 2 } }
        #expect(notified.withLock { $0 } == [0, 1])
        #expect(ends.allSatisfy { $0.knownPeers.isEmpty })
        for end in ends { await end.close() }
        for reader in readers { reader.cancel() }
    }

    @Test("10,000 messages arrive once and in order each way", arguments: ["pipes", "a socket pair", "a path"])
    func volume(kind: String) async throws {
        let place = try Place()
        let (phone, watch) = try Self.ends(over: kind, place)
        let received = (phone.receiveEnvelopes(), watch.receiveEnvelopes())
        let met = phone.reachabilityChanges()
        try phone.start()
        try watch.start()
        _ = await met.first { $0.isReachable }
        async let there: Void = Self.exchange(from: phone, to: received.1, 1...10_000)
        async let back: Void = Self.exchange(from: watch, to: received.0, 1...10_000)
        try await there
        try await back
        await phone.close()
        await watch.close()
        #expect(phone.statistics.bytesReceived <= watch.statistics.bytesSent)
    }

    /// Sends as fast as the transport takes messages, and expects each in its order.
    /// - Parameter breaks: true if the connection breaks. While it is broken a full queue throws, and the sender keeps the
    ///   messages that weren't accepted.
    static func exchange(
        from sender: PipeSessionSyncTransport, to stream: AsyncStream<AnySessionSyncEnvelope>,
        _ sequences: ClosedRange<UInt64>, breaks: Bool = false
    ) async throws {
        async let sending: Void = {
            for sequence in sequences {
                let envelope = try Sample.envelope(sequence, from: sender.localPeer.id)
                while true {
                    do {
                        try await sender.send(envelope, mode: .reliableEventually, to: nil)
                        break
                    } catch SessionSyncError.queueFull where breaks {
                        _ = await sender.reachabilityChanges().first { $0.isReachable }
                    }
                }
            }
        }()
        var received = stream.makeAsyncIterator()
        for sequence in sequences {
            let envelope = try #require(await received.next())
            try #require(envelope.metadata == Sample.metadata(sequence, from: sender.localPeer.id))
        }
        try await sending
    }

    // MARK: - Hostile input

    static func connection() throws -> [[UInt8]] {
        try Sample.frames([
            Sample.hello(), .envelope(Sample.envelope(1)), .snapshot(Sample.snapshot(1)),
            .snapshotRequest(WireSnapshotRequest(sessionID: Sample.session)), .envelope(Sample.envelope(2)),
        ])
    }

    @Test func `A stream cut at any byte is read up to its last complete message`() async throws {
        let frames = try Self.connection()
        let stream = frames.flatMap { $0 }
        let ends = frames.reduce(into: [0]) { $0.append($0.last! + $1.count) }
        for cut in 0...stream.count {
            let tapped = try Tapped()
            let diagnostics = tapped.diagnostics.subscribe()
            let envelopes = tapped.transport.receiveEnvelopes()
            try tapped.transport.start()
            await Plumbing.write(Array(stream[..<cut]), to: tapped.feed)
            let written = try Sample.messages(in: await tapped.finish())
            await tapped.transport.close()
            tapped.diagnostics.finish()

            let whole = ends.last { $0 <= cut }.map { ends.firstIndex(of: $0)! } ?? 0
            let expected: [UInt64] = whole >= 5 ? [1, 2] : whole >= 2 ? [1] : []
            #expect(await drain(envelopes).map(\.metadata.sequence) == expected, "cut at \(cut)")
            // A frame that was cut and a peer that sent no hello are reported.
            let isInOrder = ends.contains(cut) && whole >= 1
            #expect(await drain(diagnostics).rejections.isEmpty == isInOrder, "cut at \(cut)")
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
        "Invalid bytes end the connection with a diagnostic and a goodbye, never the process",
        arguments: 0..<60 as Range<UInt64>)
    func garbage(seed: UInt64) async throws {
        var random = SplitMix64(seed: seed)
        var frames = try Self.connection()
        // Anywhere: in place of the hello, between frames, or as a changed byte within one.
        let place = Int(random.upTo(UInt64(frames.count - 1)))
        if seed % 2 == 0 {
            frames.insert((0..<200).map { _ in UInt8(truncatingIfNeeded: random.next()) }, at: place)
        } else {
            let offset = Int(random.upTo(UInt64(frames[place].count - 1)))
            frames[place][offset] ^= UInt8(1 + random.upTo(254))
        }
        let tapped = try Tapped()
        let diagnostics = tapped.diagnostics.subscribe()
        try tapped.transport.start()
        await Plumbing.write(frames.flatMap { $0 }, to: tapped.feed)
        let written = await tapped.finish()
        await tapped.transport.close()
        tapped.diagnostics.finish()
        let rejections = await drain(diagnostics).rejections
        #expect(!rejections.isEmpty, "seed \(seed)")
        // Garbage may announce a frame, and the input may end within it. Then no peer is left for a goodbye.
        guard !rejections.contains(where: { $0.contains("ended within a frame") }) else { return }
        guard case .goodbye(let goodbye)? = try Sample.messages(in: written).last else {
            Issue.record("no farewell, seed \(seed)")
            return
        }
        #expect(goodbye.reason != .closing && !goodbye.detail.isEmpty, "seed \(seed)")
    }

    // MARK: - Descriptors and processes

    @Test("An input that isn't a pipe is read to its end", arguments: ["/dev/null", "an empty file", "a recording"])
    func otherInputs(kind: String) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let recording = try Self.connection().flatMap { $0 }
        try Data(kind == "a recording" ? recording : []).write(to: file)
        let input = open(kind == "/dev/null" ? kind : file.path, O_RDONLY)
        let output = try Plumbing.pipe()
        let diagnostics = Topic<SessionDiagnosticEvent>()
        let events = diagnostics.subscribe()
        let transport = try PipeSessionSyncTransport(
            localPeer: Sample.peer("watch"), input: input, output: output.write, closesDescriptors: true,
            configuration: Sample.configuration, diagnostics: diagnostics)
        let envelopes = transport.receiveEnvelopes()
        try transport.start()
        let written = try Sample.messages(in: await Plumbing.readAll(output.read))
        #expect(written.first?.summary == "hello")
        await transport.close()
        diagnostics.finish()
        #expect(await drain(envelopes).count == (kind == "a recording" ? 2 : 0))
        #expect(await drain(events).rejections.isEmpty == (kind == "a recording"))
        close(output.read)
    }

    @Test func `A process that echoes is detected as a loop to itself`() async throws {
        let (child, toChild, fromChild) = try Plumbing.startEcho()
        let diagnostics = Topic<SessionDiagnosticEvent>()
        let events = diagnostics.subscribe()
        let transport = try PipeSessionSyncTransport(
            localPeer: Sample.peer("watch"), input: fromChild, output: toChild, closesDescriptors: true,
            configuration: Sample.configuration, diagnostics: diagnostics)
        try transport.start()
        var rejection: String?
        for await case .rejected(_, let reason) in events {
            rejection = reason
            break
        }
        #expect(rejection?.contains("watch") == true)
        #expect(transport.knownPeers.isEmpty)
        await #expect(throws: SessionSyncError.notReachable) {
            try await transport.send(Sample.envelope(1), mode: .realtimeBestEffort, to: nil)
        }
        await transport.close()
        await child.ended()
    }

    @Test func `Releasing a transport closes its descriptors`() async throws {
        let (input, output) = (try Plumbing.pipe(), try Plumbing.pipe())
        func startAndForget() throws -> AsyncStream<AnySessionSyncEnvelope> {
            let transport = try PipeSessionSyncTransport(
                localPeer: Sample.peer("watch"), input: input.read, output: output.write, closesDescriptors: true,
                configuration: Sample.configuration)
            try transport.start()
            return transport.receiveEnvelopes()
        }
        let envelopes = try startAndForget()
        _ = await Plumbing.readAll(output.read)
        #expect(await drain(envelopes).isEmpty)
        close(input.write)
        close(output.read)
    }

    // MARK: - Coming back

    @Test func `A connection that breaks repeatedly loses and repeats no accepted message`() async throws {
        let place = try Place()
        let (phone, watch) = try Self.ends(over: "a path", place)
        let received = (phone.receiveEnvelopes(), watch.receiveEnvelopes())
        let met = phone.reachabilityChanges()
        try phone.start()
        try watch.start()
        _ = await met.first { $0.isReachable }
        let breaking = Task {
            // The next connection takes longer each time.
            var breaks = 0
            for await change in phone.reachabilityChanges() where change.isReachable && breaks < 6 {
                breaks += 1
                // Breaks while messages are in flight, the sides taking turns.
                let link = (breaks.isMultiple(of: 2) ? watch : phone).link
                await Task.yield()
                for stream in link.connections { stream.interrupt() }
            }
        }
        async let there: Void = Self.exchange(from: phone, to: received.1, 1...5000, breaks: true)
        async let back: Void = Self.exchange(from: watch, to: received.0, 1...5000, breaks: true)
        try await there
        try await back
        breaking.cancel()
        await phone.close()
        await watch.close()
    }

    @Test func `A returning peer gets the messages accepted meanwhile`() async throws {
        let place = try Place()
        let phone = try Self.transport("phone", .meeting(path: place.path))
        try phone.start()
        var next: UInt64 = 1
        // Without a store the next watch wouldn't know which messages the last one had. The phone would send them again if it
        // didn't get the acknowledgement in time.
        let store = MemoryStore()
        for round in 0..<3 {
            let watch = try Self.transport("watch", .meeting(path: place.path), store: store)
            let envelopes = watch.receiveEnvelopes()
            for _ in 0..<10 {
                try await phone.send(Sample.envelope(next), mode: .reliableEventually, to: nil)
                next += 1
            }
            try watch.start()
            var received = envelopes.makeAsyncIterator()
            for sequence in (next - 10)..<next {
                var envelope = await received.next()
                // The phone repeats messages whose receiver may not have handled them. The test skips those.
                while let earlier = envelope?.metadata.sequence, earlier < next - 10 {
                    envelope = await received.next()
                }
                #expect(envelope?.metadata.sequence == sequence, "round \(round)")
            }
            await watch.close()
        }
        await phone.close()
    }
}

extension WireMessage {
    var summary: String {
        switch self {
        case .hello: "hello"
        case .envelope(let envelope): "envelope \(envelope.metadata.sequence)"
        case .snapshot(let snapshot): "snapshot \(snapshot.revision)"
        case .snapshotRequest: "request"
        case .report: "report"
        case .goodbye: "goodbye"
        }
    }
}
