import Foundation
import MeshBase
import MeshTestSupport
import MeshTransport
import Testing

@testable import MeshPipeTransport

/// A link over descriptors: the bytes that pass, and every way to end.
@Suite struct PipeLinkTests {
    static func ends(overSocket: Bool) throws -> (LinkEnd, LinkEnd) {
        guard overSocket else {
            let (there, back) = (try Plumbing.pipe(), try Plumbing.pipe())
            return (try LinkEnd(back.read, there.write), try LinkEnd(there.read, back.write))
        }
        let pair = try Plumbing.socketPair()
        return (try LinkEnd(pair.0, pair.0), try LinkEnd(pair.1, pair.1))
    }

    /// A link whose descriptors end in the test.
    struct Tapped {
        let end: LinkEnd
        /// The test writes here, and the link reads it.
        let feed: Int32
        /// The link writes here, and the test reads it.
        let tap: Int32

        init() throws {
            let (input, output) = (try Plumbing.pipe(), try Plumbing.pipe())
            end = try LinkEnd(input.read, output.write)
            (feed, tap) = (input.write, output.read)
        }
    }

    // MARK: - Bytes

    @Test("Packets of every size arrive whole and in order each way", arguments: [false, true])
    func sizes(overSocket: Bool) async throws {
        let (first, second) = try Self.ends(overSocket: overSocket)
        try first.open()
        try second.open()
        #expect(await first.recorder.next() == .connected("pipe"))
        #expect(await second.recorder.next() == .connected("pipe"))
        var random = SplitMix64(seed: 7)
        for size in [
            0, 1, 255, 4095, 4096, 4097, 65_535, 65_536, 65_537, 262_143, 262_144, 262_145,
            PayloadLimit.pipePacket.bytes,
        ] {
            let packets = [size, 1].map { size in
                LinkPacket.stream((0..<size).map { _ in UInt8(truncatingIfNeeded: random.next()) })
            }
            let expected = packets.flatMap(\.bytes)
            for (sender, receiver) in [(first, second), (second, first)] {
                async let arrived = receiver.exchange([], expecting: expected.count)
                _ = await sender.exchange(packets, expecting: 0)
                #expect(await arrived == expected, "size \(size)")
            }
        }
        await first.link.close()
        await second.link.close()
        #expect(first.link.statistics.bytesSent == second.link.statistics.bytesReceived)
        #expect(second.link.statistics.bytesSent == first.link.statistics.bytesReceived)
    }

    @Test("Ten megabytes pass through both ways at once", arguments: [false, true])
    func volume(overSocket: Bool) async throws {
        let (first, second) = try Self.ends(overSocket: overSocket)
        try first.open()
        try second.open()
        _ = await first.recorder.connection()
        _ = await second.recorder.connection()
        let packets = (0..<10_000).map { number in
            LinkPacket.stream([UInt8](repeating: UInt8(truncatingIfNeeded: number &* 31), count: 500 + number % 1000))
        }
        let expected = packets.flatMap(\.bytes)
        async let there = first.exchange(packets, expecting: expected.count)
        async let back = second.exchange(packets, expecting: expected.count)
        #expect(await there == expected)
        #expect(await back == expected)
        await first.link.close()
        await second.link.close()
    }

    @Test func `Collected packets are written together`() async throws {
        let tapped = try Tapped()
        try tapped.end.open()
        _ = await tapped.end.recorder.connection()
        // More than a pipe holds, so the writer has to wait for the tap.
        let first = [UInt8](repeating: 1, count: 150_000)
        try tapped.end.link.send(.stream(first), to: "pipe")
        for _ in 0..<1000 { try tapped.end.link.send(.stream([UInt8](repeating: 2, count: 64)), to: "pipe") }
        async let written = Plumbing.readAll(tapped.tap)
        await tapped.end.link.close()
        #expect(await written == first + [UInt8](repeating: 2, count: 64_000))
        #expect(tapped.end.link.statistics.writeCount < 100)
        close(tapped.feed)
        close(tapped.tap)
    }

    @Test func `A full link throws, and reports when it has space again`() async throws {
        let tapped = try Tapped()
        try tapped.end.open()
        _ = await tapped.end.recorder.connection()
        let packet = LinkPacket.stream([UInt8](repeating: 7, count: 30_000))
        var acceptedBytes = 0
        let error = #expect(throws: LinkError.self) {
            while acceptedBytes < 10 << 20 {
                try tapped.end.link.send(packet, to: "pipe")
                acceptedBytes += packet.bytes.count
            }
        }
        #expect(error?.code == .full)
        // The buffer's capacity, and that of the pipe itself.
        #expect(acceptedBytes <= PipeStream.bufferBytes + (1 << 20))
        async let written = Plumbing.readAll(tapped.tap)
        #expect(await tapped.end.recorder.next() == .writable("pipe"))
        try tapped.end.link.send(packet, to: "pipe")
        await tapped.end.link.close()
        #expect(await written.count == acceptedBytes + packet.bytes.count)
        close(tapped.feed)
        close(tapped.tap)
    }

    @Test func `A packet larger than the buffer is accepted if nothing waits, and rejected otherwise`() async throws {
        let tapped = try Tapped()
        try tapped.end.open()
        _ = await tapped.end.recorder.connection()
        let large = LinkPacket.stream([UInt8](repeating: 1, count: PayloadLimit.pipePacket.bytes))
        try tapped.end.link.send(large, to: "pipe")
        let error = #expect(throws: LinkError.self) { try tapped.end.link.send(.text("x"), to: "pipe") }
        #expect(error?.code == .full)
        async let written = Plumbing.readAll(tapped.tap)
        #expect(await tapped.end.recorder.next() == .writable("pipe"))
        await tapped.end.link.close()
        #expect(await written == large.bytes)
        close(tapped.feed)
        close(tapped.tap)
    }

    @Test func `A packet that can't be sent is refused with the reason`() async throws {
        let tapped = try Tapped()
        let link = tapped.end.link
        func code(_ packet: LinkPacket, _ address: LinkAddress = "pipe") -> LinkError.Code? {
            #expect(throws: LinkError.self) { try link.send(packet, to: address) }?.code
        }
        #expect(code(.text("early")) == .closed)
        try tapped.end.open()
        _ = await tapped.end.recorder.connection()
        #expect(code(.text("nobody"), "unix:0") == .unreachable)
        #expect(code(LinkPacket(lane: .datagram, bytes: [1])) == .unreachable)
        #expect(code(.stream([UInt8](repeating: 0, count: PayloadLimit.pipePacket.bytes + 1))) == .oversized)
        close(tapped.feed)
        _ = await tapped.end.recorder.untilEnd()
        #expect(code(.text("late")) == .unreachable)
        await link.close()
        #expect(code(.text("too late")) == .closed)
        close(tapped.tap)
    }

    @Test func `A link opens once, and not after it was closed`() async throws {
        let tapped = try Tapped()
        try tapped.end.open()
        let error = #expect(throws: PipeError.self) { try tapped.end.open() }
        #expect(error?.code == .alreadyStarted)
        await tapped.end.link.close()
        await tapped.end.link.close()
        let unused = try Tapped()
        await unused.end.link.close()
        #expect(throws: LinkError.self) { try unused.end.open() }
        // The links closed both of their descriptors.
        #expect(await Plumbing.readAll(unused.tap) == [])
        for descriptor in [tapped.feed, tapped.tap, unused.feed, unused.tap] { close(descriptor) }
    }

    // MARK: - Ends

    @Test func `Closing during sends loses no accepted packet`() async throws {
        for round in 0..<20 {
            let tapped = try Tapped()
            let link = tapped.end.link
            try tapped.end.open()
            _ = await tapped.end.recorder.connection()
            async let written = Plumbing.readAll(tapped.tap)
            let sending = Task.detached { Self.sendUntilRefused(link) }
            for _ in 0..<round { await Task.yield() }
            await link.close()
            #expect(await written == sending.value, "round \(round)")
            close(tapped.feed)
            close(tapped.tap)
        }
    }

    /// - Returns: the bytes that the link took.
    private static func sendUntilRefused(_ link: PipeLink) -> [UInt8] {
        var taken: [UInt8] = []
        for number in 0..<100_000 as Range<UInt64> {
            switch link.refusal(of: .stream(number.bytes)) {
            case nil: taken += number.bytes
            case .full: continue
            default: return taken
            }
        }
        return taken
    }

    @Test func `A peer that reads nothing doesn't block closing forever`() async throws {
        let tapped = try Tapped()
        try tapped.end.open()
        _ = await tapped.end.recorder.connection()
        try tapped.end.link.send(.stream([UInt8](repeating: 0, count: PayloadLimit.pipePacket.bytes)), to: "pipe")
        await tapped.end.link.close(grace: .milliseconds(20))
        #expect(await tapped.end.recorder.untilEnd() == ([], nil))
        close(tapped.feed)
        close(tapped.tap)
    }

    @Test("The other side's end is reported, with a reason if it never sent anything", arguments: ["", "something"])
    func otherSideEnds(text: String) async throws {
        let tapped = try Tapped()
        try tapped.end.open()
        _ = await tapped.end.recorder.connection()
        await Plumbing.write(Array(text.utf8), to: tapped.feed)
        close(tapped.feed)
        let end = await tapped.end.recorder.untilEnd()
        #expect(end.bytes == Array(text.utf8))
        #expect(end.reason == (text.isEmpty ? "the other side ended the connection before it sent anything" : nil))
        await tapped.end.link.close()
        close(tapped.tap)
    }

    @Test("A reader that exits ends the link, and its sent packets still arrive", arguments: [false, true])
    func brokenPipe(overSocket: Bool) async throws {
        let end: LinkEnd
        let sent = [UInt8](repeating: 9, count: 50_000)
        if overSocket {
            let pair = try Plumbing.socketPair()
            end = try LinkEnd(pair.0, pair.0)
            await Plumbing.write(sent, to: pair.1)
            close(pair.1)
        } else {
            let (input, output) = (try Plumbing.pipe(), try Plumbing.pipe())
            end = try LinkEnd(input.read, output.write)
            await Plumbing.write(sent, to: input.write)
            // The input stays open. Only writing reveals the end: by EPIPE, and by a SIGPIPE that must not kill the process.
            close(output.read)
        }
        try end.open()
        _ = await end.recorder.connection()
        try? end.link.send(.text("hello"), to: "pipe")
        #expect(await end.recorder.untilEnd() == (sent, nil))
        await end.link.close()
    }

    @Test("An input that isn't a pipe is read to its end", arguments: ["/dev/null", "an empty file", "a recording"])
    func otherInputs(kind: String) async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        let recording = kind == "a recording" ? (0..<200_000).map { UInt8(truncatingIfNeeded: $0 * 7) } : []
        try Data(recording).write(to: file)
        let output = try Plumbing.pipe()
        let end = try LinkEnd(open(kind == "/dev/null" ? kind : file.path, O_RDONLY), output.write)
        try end.open()
        let (bytes, reason) = await end.recorder.untilEnd()
        #expect(bytes == recording)
        #expect((reason == nil) == !recording.isEmpty)
        await end.link.close()
        close(output.read)
    }

    @Test("Descriptors that fail are reported", arguments: ["input", "output", "full"])
    func uselessDescriptors(kind: String) async throws {
        let pipe = try Plumbing.pipe()
        let end =
            switch kind {
            case "input": try LinkEnd(open("/", O_RDONLY), pipe.write)
            case "output": try LinkEnd(pipe.read, open("/dev/null", O_RDONLY))
            default: try LinkEnd(pipe.read, open("/dev/full", O_WRONLY))
            }
        try end.open()
        _ = await end.recorder.connection()
        try? end.link.send(.text("hello"), to: "pipe")
        let reason = await end.recorder.untilEnd().reason
        #expect(reason?.hasPrefix(kind == "input" ? "reading failed: " : "writing failed: ") == true)
        await end.link.close()
        close(kind == "input" ? pipe.read : pipe.write)
    }

    @Test func `A closed descriptor is an error`() throws {
        let open = try Plumbing.pipe()
        defer {
            close(open.read)
            close(open.write)
        }
        for (input, output) in [(-1, open.write), (open.read, -1), (1_000_000, open.write)] as [(Int32, Int32)] {
            let error = #expect(throws: PipeError.self) { try LinkEnd(input, output, closes: false) }
            #expect(error?.code == .badDescriptor)
            #expect(error?.description.hasPrefix("badDescriptor: ") == true)
            #expect(error?.description.hasSuffix(": Bad file descriptor") == true)
        }
    }

    @Test func `Descriptors that are not owned stay open`() async throws {
        let pair = try Plumbing.socketPair()
        for _ in 0..<3 {
            let end = try LinkEnd(pair.0, pair.0, closes: false)
            try end.open()
            _ = await end.recorder.connection()
            try end.link.send(.text("again"), to: "pipe")
            await end.link.close()
        }
        close(pair.0)
        #expect(await Plumbing.readAll(pair.1) == Array("againagainagain".utf8))
        close(pair.1)
    }

    @Test func `A killed process is reported, and its sent messages arrive`() async throws {
        let (child, toChild, fromChild) = try Plumbing.startEcho()
        let end = try LinkEnd(fromChild, toChild)
        try end.open()
        _ = await end.recorder.connection()
        try end.link.send(.text("echo"), to: "pipe")
        #expect(await end.recorder.bytes(4) == Array("echo".utf8))
        kill(child.processIdentifier, SIGKILL)
        #expect(await end.recorder.untilEnd() == ([], nil))
        await end.link.close()
        await child.ended()
    }
}

extension UInt64 {
    var bytes: [UInt8] { withUnsafeBytes(of: littleEndian) { Array($0) } }
}
