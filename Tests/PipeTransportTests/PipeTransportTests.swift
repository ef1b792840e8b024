import Foundation
import MeshBus
import MeshIdentity
import MeshTransport
import MeshWire
import Testing

@testable import MeshPipeTransport

@Suite struct PipeTransportTests {
    static func ends(overSocket: Bool) throws -> (PipeSessionSyncTransport, PipeSessionSyncTransport) {
        let (first, second): ((Int32, Int32), (Int32, Int32))
        if overSocket {
            let pair = try Plumbing.socketPair()
            (first, second) = ((pair.0, pair.0), (pair.1, pair.1))
        } else {
            let (there, back) = (try Plumbing.pipe(), try Plumbing.pipe())
            (first, second) = ((back.read, there.write), (there.read, back.write))
        }
        func end(_ id: String, _ descriptors: (Int32, Int32)) throws -> PipeSessionSyncTransport {
            try PipeSessionSyncTransport(
                localPeer: Sample.peer(id), input: descriptors.0, output: descriptors.1, codec: JSONTestCodec(),
                closesDescriptors: true)
        }
        return (try end("phone", first), try end("watch", second))
    }

    @Test("10,000 messages arrive in order each way", arguments: [false, true])
    func volume(overSocket: Bool) async throws {
        let (phone, watch) = try Self.ends(overSocket: overSocket)
        let received = (phone.receiveEnvelopes(), watch.receiveEnvelopes())
        let met = phone.reachabilityChanges()
        try phone.start()
        try watch.start()
        _ = await met.first { $0.isReachable }
        async let there: Void = Self.exchange(from: phone, to: received.1, count: 10_000)
        async let back: Void = Self.exchange(from: watch, to: received.0, count: 10_000)
        try await there
        try await back

        #expect(phone.statistics.framesReceived == 10_001)
        #expect(phone.statistics.bytesRawReceived == watch.statistics.bytesRawSent)
        let left = watch.reachabilityChanges()
        await phone.close()
        // Closing at once could leave the phone's goodbye unread.
        _ = await left.first { !$0.isReachable }
        await watch.close()
        #expect(phone.statistics.framesSent == 10_002)
        #expect(watch.statistics.bytesOnWireReceived == phone.statistics.bytesOnWireSent)
        #expect(watch.statistics.framesReceived == phone.statistics.framesSent)
    }

    /// Sends in windows that the subscriber's buffer holds, and expects each in its order.
    static func exchange(
        from sender: PipeSessionSyncTransport, to stream: AsyncStream<AnySessionSyncEnvelope>, count: UInt64
    ) async throws {
        var received = stream.makeAsyncIterator()
        for window in stride(from: 1, through: count, by: 2000) {
            let sequences = window..<min(window + 2000, count + 1)
            for sequence in sequences {
                try await sender.send(
                    Sample.envelope(sequence, from: sender.localPeer.id), mode: .reliableEventually)
            }
            for sequence in sequences {
                let envelope = try #require(await received.next())
                #expect(envelope.metadata == Sample.metadata(sequence, from: sender.localPeer.id))
            }
        }
    }

    @Test("Closing in the midst of sends from many tasks loses nothing that was accepted", arguments: 0..<10)
    func closingRace(round: Int) async throws {
        let tapped = try Tapped()
        try tapped.transport.start()
        async let written = tapped.finish(closesFeed: false)
        if round % 2 == 0 { await Plumbing.write(try Sample.frames([Sample.hello()]).flatMap { $0 }, to: tapped.feed) }
        let accepted = await withTaskGroup(of: [UInt64].self) { group in
            for task in 0..<4 as Range<UInt64> {
                group.addTask {
                    var accepted: [UInt64] = []
                    for sequence in (task * 1000)..<(task * 1000 + 200) {
                        do {
                            try await tapped.transport.send(Sample.envelope(sequence), mode: .reliableEventually)
                            accepted.append(sequence)
                        } catch { break }
                    }
                    return accepted
                }
            }
            for _ in 0..<round { await Task.yield() }
            await tapped.transport.close()
            return await group.reduce(into: []) { $0 += $1 }
        }
        let messages = try Sample.messages(in: await written).map(\.summary)
        #expect(Set(messages) == Set(accepted.map { "envelope \($0)" } + ["hello", "goodbye"]))
        #expect(messages.count == accepted.count + 2)
        #expect(messages.last == "goodbye")
        close(tapped.feed)
    }

    @Test func `What gathers is written at once`() async throws {
        let (phone, watch) = try Self.ends(overSocket: true)
        let received = watch.receiveEnvelopes()
        for sequence in 1...2000 as ClosedRange<UInt64> {
            try await phone.send(Sample.envelope(sequence), mode: .reliableEventually)
        }
        try phone.start()
        try watch.start()
        var iterator = received.makeAsyncIterator()
        for sequence in 1...2000 as ClosedRange<UInt64> {
            #expect(await iterator.next()?.metadata.sequence == sequence)
        }
        await phone.close()
        #expect(phone.statistics.framesSent == 2002)
        #expect(phone.statistics.writeCount < 50)
        // Metadata is interned, so that a frame costs little more than its payload.
        #expect(phone.statistics.bytesOnWireSent < phone.statistics.bytesRawSent + 2002 * 60)
        await watch.close()
    }

    @Test func `Before the greeting the queue is bounded and keeps the newest snapshot`() async throws {
        let tapped = try Tapped(queueLimit: 3)
        let transport = tapped.transport
        try transport.start()
        for sequence in 1...3 as ClosedRange<UInt64> {
            try await transport.send(Sample.envelope(sequence), mode: .reliableEventually)
        }
        await #expect(throws: SessionSyncError.queueFull(limit: 3)) {
            try await transport.send(Sample.envelope(4), mode: .reliableEventually)
        }
        for mode in [SessionDeliveryMode.realtimeBestEffort, .acknowledgement, .snapshotRequest] {
            await #expect(throws: SessionSyncError.notReachable) {
                try await transport.send(Sample.envelope(4), mode: mode)
            }
        }
        for revision in [1, 3, 2] as [UInt64] {
            try await transport.sendSnapshot(Sample.snapshot(revision), mode: .latestSnapshot)
        }
        let met = transport.reachabilityChanges()
        await Plumbing.write(try Sample.frames([Sample.hello()]).flatMap { $0 }, to: tapped.feed)
        #expect(await met.first { _ in true } == SessionPeerReachability(true, peer: Sample.peer("phone")))
        await transport.close()
        let written = try Sample.messages(in: await tapped.finish())
        #expect(written.map(\.summary) == ["hello", "envelope 1", "envelope 2", "envelope 3", "snapshot 3", "goodbye"])
    }

    @Test func `What was accepted is written on closing even before the peer has greeted`() async throws {
        let tapped = try Tapped()
        try tapped.transport.start()
        try await tapped.transport.send(Sample.envelope(1), mode: .reliableEventually)
        await tapped.transport.close()
        let written = try Sample.messages(in: await tapped.finish())
        #expect(written.map(\.summary) == ["hello", "envelope 1", "goodbye"])
    }

    @Test func `A peer that takes nothing fills the queue and does not hold up closing for ever`() async throws {
        let tapped = try Tapped(queueLimit: 10)
        let met = tapped.transport.reachabilityChanges()
        try tapped.transport.start()
        await Plumbing.write(try Sample.frames([Sample.hello()]).flatMap { $0 }, to: tapped.feed)
        _ = await met.first { $0.isReachable }
        let large = String(repeating: "x", count: 100_000)
        await #expect(throws: SessionSyncError.queueFull(limit: 10)) {
            for sequence in 1...40 as ClosedRange<UInt64> {
                try await tapped.transport.send(Sample.envelope(sequence, text: large), mode: .reliableEventually)
            }
        }
        await tapped.transport.connection.close(grace: .milliseconds(20))
        _ = await tapped.finish()
    }

    @Test func `A reader that has gone ends the link, and what it had sent still arrives`() async throws {
        let tapped = try Tapped()
        close(tapped.tap)
        let envelopes = tapped.transport.receiveEnvelopes()
        try tapped.transport.start()
        // The greeting meets a closed pipe: EPIPE, and SIGPIPE for the writing thread alone.
        let stream = try Sample.frames([Sample.hello(), .envelope(Sample.envelope(1))]).flatMap { $0 }
        await Plumbing.write(stream, to: tapped.feed)
        #expect(await envelopes.first { _ in true }?.metadata.sequence == 1)
        #expect(tapped.transport.knownPeers == [Sample.peer("phone")])
        close(tapped.feed)
        await tapped.transport.close()
    }

    @Test func `Letting go of a transport closes what it owns`() async throws {
        let input = try Plumbing.pipe()
        let output = try Plumbing.pipe()
        func startAndForget() throws -> AsyncStream<AnySessionSyncEnvelope> {
            let transport = try PipeSessionSyncTransport(
                localPeer: Sample.peer("watch"), input: input.read, output: output.write, codec: JSONTestCodec(),
                closesDescriptors: true)
            try transport.start()
            return transport.receiveEnvelopes()
        }
        let envelopes = try startAndForget()
        _ = await Plumbing.readAll(output.read)
        #expect(await drain(envelopes).isEmpty)
        close(input.write)
        close(output.read)
    }

    @Test func `A transport starts once, and not after it was closed`() async throws {
        let tapped = try Tapped()
        try tapped.transport.start()
        let error = #expect(throws: PipeError.self) { try tapped.transport.start() }
        #expect(error?.code == .alreadyStarted)
        await tapped.transport.close()
        _ = await tapped.finish()
        let unused = try Tapped()
        await unused.transport.close()
        #expect(throws: SessionSyncError.closed) { try unused.transport.start() }
        _ = await unused.finish()
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
