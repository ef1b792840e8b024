import Foundation
import MeshBus
import MeshIdentity
import MeshTransport
import MeshWire
import Testing

@testable import MeshPipeTransport

/// Descriptors of every kind, and other processes.
@Suite struct PipeDescriptorTests {
    @Test func `A descriptor that is not open is an error`() throws {
        let open = try Plumbing.pipe()
        defer {
            close(open.read)
            close(open.write)
        }
        for (input, output) in [(-1, open.write), (open.read, -1), (1_000_000, open.write)] as [(Int32, Int32)] {
            let error = #expect(throws: PipeError.self) {
                try PipeSessionSyncTransport(
                    localPeer: Sample.peer("watch"), input: input, output: output, codec: JSONTestCodec())
            }
            #expect(error?.code == .badDescriptor)
        }
    }

    @Test("An input that is no pipe is read to its end", arguments: ["/dev/null", "an empty file", "a recording"])
    func otherInputs(kind: String) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let recording = try Sample.frames([Sample.hello(), .envelope(Sample.envelope(1))]).flatMap { $0 }
        try Data(kind == "a recording" ? recording : []).write(to: file)
        let input = open(kind == "/dev/null" ? kind : file.path, O_RDONLY)
        let output = try Plumbing.pipe()
        let diagnostics = Topic<SessionDiagnosticEvent>()
        let events = diagnostics.subscribe()
        let transport = try PipeSessionSyncTransport(
            localPeer: Sample.peer("watch"), input: input, output: output.write, codec: JSONTestCodec(),
            closesDescriptors: true, diagnostics: diagnostics)
        let envelopes = transport.receiveEnvelopes()
        try transport.start()
        let written = try Sample.messages(in: await Plumbing.readAll(output.read))
        #expect(written.first?.summary == "hello")
        await transport.close()
        diagnostics.finish()
        #expect(await drain(envelopes).count == (kind == "a recording" ? 1 : 0))
        #expect(await drain(events).rejections == [])
        close(output.read)
    }

    @Test func `An input that cannot be read is reported`() async throws {
        let input = open("/", O_RDONLY)
        let output = try Plumbing.pipe()
        let diagnostics = Topic<SessionDiagnosticEvent>()
        let events = diagnostics.subscribe()
        let transport = try PipeSessionSyncTransport(
            localPeer: Sample.peer("watch"), input: input, output: output.write, codec: JSONTestCodec(),
            closesDescriptors: true, diagnostics: diagnostics)
        try transport.start()
        _ = await Plumbing.readAll(output.read)
        await transport.close()
        diagnostics.finish()
        let rejections = await drain(events).rejections
        #expect(rejections.count == 1 && rejections[0].hasPrefix("reading failed"))
        close(output.read)
    }

    @Test func `A process that echoes is recognised as talking to oneself`() async throws {
        let (toChild, fromChild) = (Pipe(), Pipe())
        let child = Process()
        child.executableURL = URL(fileURLWithPath: "/bin/cat")
        child.standardInput = toChild
        child.standardOutput = fromChild
        try child.run()
        let diagnostics = Topic<SessionDiagnosticEvent>()
        let events = diagnostics.subscribe()
        let transport = try PipeSessionSyncTransport(
            localPeer: Sample.peer("watch"), input: fromChild.fileHandleForReading.fileDescriptor,
            output: toChild.fileHandleForWriting.fileDescriptor, codec: JSONTestCodec(), diagnostics: diagnostics)
        try transport.start()
        var rejections = events.makeAsyncIterator()
        guard case .rejected(_, let reason)? = await rejections.next() else {
            Issue.record("the echo was not noticed")
            return
        }
        #expect(reason.contains("talking to itself"))
        #expect(transport.knownPeers.isEmpty)
        await #expect(throws: SessionSyncError.notReachable) {
            try await transport.send(Sample.envelope(1), mode: .reliableEventually)
        }
        await transport.close()
        try toChild.fileHandleForWriting.close()
        child.waitUntilExit()
    }

    @Test func `Another process brings messages and its end is noticed`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let stream = try Sample.frames(
            [Sample.hello()] + (1...500 as ClosedRange<UInt64>).map { .envelope(try Sample.envelope($0)) })
        try Data(stream.flatMap { $0 }).write(to: file)
        let (toChild, fromChild) = (Pipe(), Pipe())
        let child = Process()
        child.executableURL = URL(fileURLWithPath: "/bin/cat")
        child.arguments = [file.path]
        child.standardInput = toChild
        child.standardOutput = fromChild
        let transport = try PipeSessionSyncTransport(
            localPeer: Sample.peer("watch"), input: fromChild.fileHandleForReading.fileDescriptor,
            output: toChild.fileHandleForWriting.fileDescriptor, codec: JSONTestCodec())
        let envelopes = transport.receiveEnvelopes()
        let reachability = transport.reachabilityChanges()
        try transport.start()
        try child.run()
        try fromChild.fileHandleForWriting.close()
        _ = await reachability.first { !$0.isReachable }
        await transport.close()
        #expect(await drain(envelopes).map(\.metadata.sequence) == Array(1...500))
        child.waitUntilExit()
    }
}
