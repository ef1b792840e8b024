import Foundation
import MeshBenchmarks
import MeshBus
import MeshIdentity
import MeshToolOutput
import MeshTransport

/// The throughput and latency of a link through engine and transport, compared with the bare channel:
/// `plugins-tool bench links`.
///
/// Messages have 256 bytes. Throughput is measured until the other engine has acknowledged the events. They are submitted as
/// fast as 2048 in flight allow. A round trip is an event that the other engine answers with another. The bare channel
/// carries messages of the same size, one write for each, and reads 64 KiB at a time. `rawBulk…` uses writes of 64 KiB.
/// Within one process the baseline is two engines that call each other. Two processes have a core each if the system can
/// pin them. Link and baseline take turns, so other load on the machine disturbs both. Values are medians of the turns.
///
/// `roundTripP90…` to `roundTripP999…` are percentiles of the round trips of all turns. `roundTripMicroseconds` is their
/// median.
///
/// `…Wakeups` counts how often a thread of either process was woken, per event and per round trip. It is 0 within one
/// process, and if the system doesn't report it.
///
/// There is no time limit. The benchmark fails if a process exits, and the error names the activity at that time.
struct LinkBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "links", summary: "Messages of 256 bytes from engine to engine, beside the bare channel",
        run: { context in try await LinkBenchmark(context: context).rows() })

    private static let turnCount = 5
    private static let askedCount = 2_000

    let context: BenchmarkContext

    func rows() async throws -> [BenchmarkRow] {
        // Makes writing to a child that has exited an error instead of a signal.
        signal(SIGPIPE, SIG_IGN)
        var rows: [BenchmarkRow] = []
        for link in try links() {
            switch link.form {
            case .processes(let channel, let makeEnd):
                for role in [LinkRole.engine, .session] {
                    let name = role == .engine ? link.id : "\(link.id), adapter"
                    rows.append(try await row(name) { try await processes(name, link, channel, makeEnd, role) })
                }
            case .oneProcess(let makeEnds):
                rows.append(try await row(link.id) { try await oneProcess(link.id, makeEnds) })
            }
        }
        return rows
    }

    /// - Throws: `ToolError` if the options name an unknown link.
    private func links() throws(ToolError) -> [MeasuredLink] {
        let all = context.contributions(to: .measuredLinks).map(\.value)
        guard let name = context.options["link"] else { return all }
        let named = all.filter { $0.id == name }
        guard !named.isEmpty else { throw ToolError("there is no link '\(name)'; there are: \(all.map(\.id).list)") }
        return named
    }

    // MARK: - Measuring

    /// The times of the turns, one element for each turn.
    private struct Turns {
        var flood: [Duration] = []
        var ask: [Duration] = []
        var rawFlood: [Duration] = []
        var rawBulk: [Duration] = []
        var rawAsk: [Duration] = []
        // Wakeups of both processes in each turn.
        var floodWakeups: [UInt64] = []
        var askWakeups: [UInt64] = []
    }

    private func row(_ name: String, _ measure: () async throws -> Turns) async throws -> BenchmarkRow {
        let turns = try await measure()
        func perSecond(_ times: [Duration]) -> Double { Double(LinkRole.sinkCount) / (times.median / .seconds(1)) }
        let rate = perSecond(turns.flood)
        let rawRate = perSecond(turns.rawFlood)
        let roundTrip = turns.ask.median / .microseconds(1)
        let rawRoundTrip = turns.rawAsk.median / .microseconds(1)
        let bulkRate = turns.rawBulk.isEmpty ? rawRate : perSecond(turns.rawBulk)
        return [
            "link": .text(name), "messageBytes": .integer(LinkMessage.bytes),
            "messagesPerSecond": .number(rate), "roundTripMicroseconds": .number(roundTrip),
            "rawMessagesPerSecond": .number(rawRate), "rawRoundTripMicroseconds": .number(rawRoundTrip),
            "rawThroughputRatio": .number(rawRate / rate), "roundTripRatio": .number(roundTrip / rawRoundTrip),
            "rawBulkMessagesPerSecond": .number(bulkRate),
            "roundTripP90Microseconds": .number(turns.ask.percentile(900)),
            "roundTripP99Microseconds": .number(turns.ask.percentile(990)),
            "roundTripP999Microseconds": .number(turns.ask.percentile(999)),
            "rawRoundTripP99Microseconds": .number(turns.rawAsk.percentile(990)),
            "eventWakeups": .number(Double(turns.floodWakeups.median) / Double(LinkRole.sinkCount)),
            "roundTripWakeups": .number(Double(turns.askWakeups.median) / Double(Self.askedCount)),
        ]
    }

    private func processes(
        _ name: String, _ link: MeasuredLink, _ channel: MeasuredLink.Channel,
        _ makeEnd: @Sendable (SessionPeer, Int32, Int32) async throws -> any SessionSyncTransport, _ role: LinkRole
    ) async throws -> Turns {
        LinkCores.pin(to: .first)
        defer { LinkCores.release() }
        let sink = try LinkProcess(link, over: channel, as: .rawSink)
        let echo = try LinkProcess(link, over: channel, as: .rawEcho)
        let (endings, ending) = AsyncStream<Void>.makeStream()
        let other = try LinkProcess(link, over: channel, as: role) { ending.finish() }
        defer {
            for process in [sink, echo] { process.channel.close() }
            for process in [sink, echo, other] { process.end() }
        }
        let transport = try await makeEnd(LinkPeers.asking, other.channel.input, other.channel.output)
        let watch = Task {
            for await _ in endings {}
            await transport.close()
        }
        defer { watch.cancel() }
        let end = EngineEnd(LinkPeers.asking, with: LinkPeers.answering, on: transport)
        let processes = [ProcessInfo.processInfo.processIdentifier, other.processIdentifier]
        return try await measured(name, end, closing: [transport], in: processes) { turns in
            let channel = sink.channel
            turns.rawFlood.append(try await blocking { try channel.flood(LinkRole.sinkCount) })
            turns.rawBulk.append(
                try await blocking { try channel.flood(LinkRole.sinkCount, together: 65_536 / LinkMessage.bytes) })
            turns.rawAsk += try await blocking { [echo = echo.channel] in try echo.ask(Self.askedCount) }
        }
    }

    private func oneProcess(
        _ name: String, _ makeEnds: @Sendable (SessionPeer, SessionPeer) async throws -> MeasuredLink.Ends
    ) async throws -> Turns {
        let ends = try await makeEnds(LinkPeers.asking, LinkPeers.answering)
        let first = ends.first.localPeer
        let second = ends.second.localPeer.id == first.id ? LinkPeers.answering : ends.second.localPeer
        // The answering end closes the link, so that the asking end doesn't wait forever.
        let serving = Task {
            var end = EngineEnd(second, with: first, on: ends.second, mode: ends.mode, pump: ends.pump)
            let result: Result<Void, any Error>
            do { result = .success(try await end.serve()) } catch { result = .failure(error) }
            await ends.second.close()
            await ends.first.close()
            try result.get()
        }
        var direct = try DirectEngines()
        let asking = EngineEnd(first, with: second, on: ends.first, mode: ends.mode, pump: ends.pump)
        do {
            return try await measured(name, asking, closing: [ends.first, ends.second]) { turns in
                turns.rawFlood.append(try direct.flood(LinkRole.sinkCount))
                turns.rawAsk += try direct.ask(Self.askedCount)
            }
        } catch {
            // Throws the other end's error, if it has one: that is the cause.
            try await serving.value
            throw error
        }
    }

    /// Measures the turns. The first one warms up and doesn't count. Ends early if the other end exits.
    private func measured(
        _ name: String, _ asking: EngineEnd, closing transports: [any SessionSyncTransport], in processes: [Int32] = [],
        _ measureRaw: (inout Turns) async throws -> Void
    ) async throws -> Turns {
        var asking = asking
        var turns = Turns()
        var activity = ""
        func begin(_ what: String) {
            activity = what
            context.report("links: \(name), \(what)")
        }
        let result: Result<Void, any Error>
        do {
            begin("meeting")
            try await asking.meet()
            for turn in 0...Self.turnCount {
                if turn == 1 { turns = Turns() }
                begin("turn \(turn), the bare channel")
                try await measureRaw(&turns)
                begin("turn \(turn), \(LinkRole.sinkCount) events")
                var cost = processes.map { ProcessCost(of: $0) }
                turns.flood.append(try await asking.flood(LinkRole.sinkCount))
                turns.floodWakeups.append(Self.wakeups(of: processes, since: cost))
                begin("turn \(turn), \(Self.askedCount) questions")
                cost = processes.map { ProcessCost(of: $0) }
                turns.ask += try await asking.ask(Self.askedCount)
                turns.askWakeups.append(Self.wakeups(of: processes, since: cost))
            }
            result = .success(())
        } catch is LinkEnded {
            result = .failure(ToolError("\(name): the other end exited during: \(activity)"))
        } catch {
            result = .failure(ToolError("\(name): \(error), during: \(activity)"))
        }
        for transport in transports { await transport.close() }
        try result.get()
        return turns
    }

    private static func wakeups(of processes: [Int32], since earlier: [ProcessCost?]) -> UInt64 {
        zip(processes, earlier).reduce(0) { sum, process in
            guard let before = process.1, let now = ProcessCost(of: process.0) else { return sum }
            return sum + (now - before).waits
        }
    }

    /// Runs a blocking body on its own thread.
    private func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
        }
    }
}

extension [Duration] {
    fileprivate var median: Duration { sorted()[count / 2] }

    /// Returns the percentile in microseconds: the element at that share of the sorted times. Complexity: O(*n* log *n*).
    fileprivate func percentile(_ thousandths: Int) -> Double {
        sorted()[Swift.min(count * thousandths / 1000, count - 1)] / .microseconds(1)
    }
}

extension [UInt64] {
    fileprivate var median: UInt64 { isEmpty ? 0 : sorted()[count / 2] }
}
