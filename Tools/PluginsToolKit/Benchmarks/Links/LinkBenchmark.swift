import Foundation
import MeshBenchmarks
import MeshBus
import MeshIdentity
import MeshToolOutput
import MeshTransport

/// What a link carries through engine and transport, beside the bare channel: `plugins-tool bench links`.
///
/// Messages of 256 bytes. Throughput is the time until the other engine has acknowledged the events, submitted and sent
/// as fast as 2048 under way allow; a round trip is an event that the other engine answers with one. The bare channel
/// carries messages of that size, one write for each, read 64 KiB at a time; within one process two engines call each
/// other. Both take turns, so that what else the machine does disturbs both; medians of the turns.
struct LinkBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "links", summary: "Messages of 256 bytes from engine to engine, beside the bare channel",
        run: { context in try await LinkBenchmark(context: context).rows() })

    private static let turnCount = 5
    private static let askedCount = 2_000

    let context: BenchmarkContext

    func rows() async throws -> [BenchmarkRow] {
        // A child that has gone is an error of writing, not a signal.
        signal(SIGPIPE, SIG_IGN)
        var rows: [BenchmarkRow] = []
        for link in try links() {
            switch link.form {
            case .processes(let channel, let makeEnd):
                for role in [LinkRole.engine, .session] {
                    let name = role == .engine ? link.id : "\(link.id), adapter"
                    rows.append(try await row(name) { try await processes(link, channel, makeEnd, role) })
                }
            case .oneProcess(let makeEnds):
                rows.append(try await row(link.id) { try await oneProcess(makeEnds) })
            }
        }
        return rows
    }

    /// - Throws: `ToolError` when the options name a link that nobody offers.
    private func links() throws(ToolError) -> [MeasuredLink] {
        let all = context.contributions(to: .measuredLinks).map(\.value)
        guard let name = context.options["link"] else { return all }
        let named = all.filter { $0.id == name }
        guard !named.isEmpty else { throw ToolError("there is no link '\(name)'; there are: \(all.map(\.id).list)") }
        return named
    }

    // MARK: - Measuring

    /// Times of one turn each.
    private struct Turns {
        var flood: [Duration] = []
        var ask: [Duration] = []
        var rawFlood: [Duration] = []
        var rawAsk: [Duration] = []
    }

    private func row(_ name: String, _ measure: () async throws -> Turns) async throws -> BenchmarkRow {
        context.report("links: \(name)")
        let turns = try await measure()
        let perSecond = Double(LinkRole.sinkCount) / (turns.flood.median / .seconds(1))
        let rawPerSecond = Double(LinkRole.sinkCount) / (turns.rawFlood.median / .seconds(1))
        let roundTrip = turns.ask.median / .microseconds(1)
        let rawRoundTrip = turns.rawAsk.median / .microseconds(1)
        return [
            "link": .text(name), "messageBytes": .integer(LinkMessage.bytes),
            "messagesPerSecond": .number(perSecond), "roundTripMicroseconds": .number(roundTrip),
            "rawMessagesPerSecond": .number(rawPerSecond), "rawRoundTripMicroseconds": .number(rawRoundTrip),
            "rawThroughputRatio": .number(rawPerSecond / perSecond),
            "roundTripRatio": .number(roundTrip / rawRoundTrip),
        ]
    }

    private func processes(
        _ link: MeasuredLink, _ channel: MeasuredLink.Channel,
        _ makeEnd: @Sendable (SessionPeer, Int32, Int32) async throws -> any SessionSyncTransport, _ role: LinkRole
    ) async throws -> Turns {
        let sink = try LinkProcess(link, over: channel, as: .rawSink)
        let echo = try LinkProcess(link, over: channel, as: .rawEcho)
        let other = try LinkProcess(link, over: channel, as: role)
        defer {
            for process in [sink, echo] { process.channel.close() }
            for process in [sink, echo, other] { process.end() }
        }
        let transport = try await makeEnd(LinkPeers.asking, other.channel.input, other.channel.output)
        return try await measured(EngineEnd(LinkPeers.asking, on: transport), closing: [transport]) { turns in
            turns.rawFlood.append(try await blocking { [sink = sink.channel] in try sink.flood(LinkRole.sinkCount) })
            turns.rawAsk += try await blocking { [echo = echo.channel] in try echo.ask(Self.askedCount) }
        }
    }

    private func oneProcess(
        _ makeEnds: @Sendable (SessionPeer, SessionPeer) async throws -> MeasuredLink.Ends
    ) async throws -> Turns {
        let ends = try await makeEnds(LinkPeers.asking, LinkPeers.answering)
        let serving = Task {
            var end = EngineEnd(LinkPeers.answering, on: ends.second, pump: ends.pump)
            try await end.serve()
        }
        defer { serving.cancel() }
        var direct = try DirectEngines()
        let asking = EngineEnd(LinkPeers.asking, on: ends.first, pump: ends.pump)
        return try await measured(asking, closing: [ends.first, ends.second]) { turns in
            turns.rawFlood.append(try direct.flood(LinkRole.sinkCount))
            turns.rawAsk += try direct.ask(Self.askedCount)
        }
    }

    /// The first turn warms up and does not count.
    private func measured(
        _ asking: EngineEnd, closing transports: [any SessionSyncTransport],
        _ measureRaw: (inout Turns) async throws -> Void
    ) async throws -> Turns {
        let patience = Task {
            try await Task.sleep(for: .seconds(60))
            for transport in transports { await transport.close() }
        }
        var asking = asking
        var turns = Turns()
        let result: Result<Void, any Error>
        do {
            try await asking.meet()
            for turn in 0...Self.turnCount {
                if turn == 1 { turns = Turns() }
                try await measureRaw(&turns)
                turns.flood.append(try await asking.flood(LinkRole.sinkCount))
                turns.ask += try await asking.ask(Self.askedCount)
            }
            result = .success(())
        } catch is LinkEnded {
            result = .failure(ToolError("the other end is gone, or has not answered within a minute"))
        } catch {
            result = .failure(error)
        }
        patience.cancel()
        for transport in transports { await transport.close() }
        try result.get()
        return turns
    }

    /// Runs what blocks on a thread of its own.
    private func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result(catching: body)) }
        }
    }
}

extension [Duration] {
    fileprivate var median: Duration { sorted()[count / 2] }
}
