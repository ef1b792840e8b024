import Foundation
import MeshBenchmarks
import MeshBus
import MeshIdentity
import MeshToolOutput
import MeshTransport

/// The time of each step of an event between the tap and the peer: `plugins-tool bench way`.
///
/// `load` is an event among many, submitted 256 at a time. `alone` is an event for which both sides have been waiting. First
/// the steps are measured on one thread, over a link that keeps packets in a list. Then the same events pass between two
/// processes over the link named by `--link` (`pipe` by default). Each process has its own core if the system can pin it.
/// In the row `clock`, `…Nanoseconds` is elapsed time, and half a round trip for `alone`. In the rows of the processes it is
/// CPU time. `…Wakeups` counts how often a thread of the process had to be woken.
struct WayBenchmark {
    static let benchmarkCase = BenchmarkCase(
        id: "way", summary: "What an event costs at each step from the tap to the peer, under load and alone",
        run: { context in try await WayBenchmark(context: context).rows() })

    private static let together = 256
    private static let aloneCount = 4_000

    let context: BenchmarkContext

    func rows() async throws -> [BenchmarkRow] {
        signal(SIGPIPE, SIG_IGN)
        var rows = try await pieces()
        for role in [LinkRole.engine, .session] { rows += try await whole(role) }
        return rows
    }

    // MARK: - In pieces

    private func pieces() async throws -> [BenchmarkRow] {
        context.report("way: the pieces")
        let load = try await times(together: Self.together, turns: 400)
        let alone = try await times(together: 1, turns: Self.aloneCount)
        return WayInPieces.Piece.allCases.map { piece in
            let values = [load, alone].map { ($0[piece] ?? .zero) / .nanoseconds(1) }
            return [
                "step": .text(piece.rawValue),
                "loadNanoseconds": .number(values[0] / Double(400 * Self.together)),
                "aloneNanoseconds": .number(values[1] / Double(Self.aloneCount)), "loadWakeups": .number(0),
                "aloneWakeups": .number(0),
            ]
        }
    }

    private func times(together count: Int, turns: Int) async throws -> [WayInPieces.Piece: Duration] {
        var way = try await WayInPieces()
        // The first tenth warms up.
        for turn in 0..<(turns + turns / 10) {
            if turn == turns / 10 { way.forgetTimes() }
            try await way.pass(count)
            if (turn + 1).isMultiple(of: max(1, Self.together / count)) { try way.settle() }
        }
        await way.close()
        return way.times
    }

    // MARK: - As a whole

    private func whole(_ role: LinkRole) async throws -> [BenchmarkRow] {
        let name = context.options["link"] ?? "pipe"
        let links = context.contributions(to: .measuredLinks).map(\.value)
        guard let link = links.first(where: { $0.id == name }), case .processes(let channel, let makeEnd) = link.form
        else { throw ToolError("there is no link '\(name)' between processes") }
        let title = role == .engine ? name : "\(name), adapter"
        context.report("way: \(title)")
        LinkCores.pin(to: .first)
        defer { LinkCores.release() }
        let (endings, ending) = AsyncStream<Void>.makeStream()
        let other = try LinkProcess(link, over: channel, as: role) { ending.finish() }
        defer { other.end() }
        let transport = try await makeEnd(LinkPeers.asking, other.channel.input, other.channel.output)
        let watch = Task {
            for await _ in endings {}
            await transport.close()
        }
        defer { watch.cancel() }
        var end = EngineEnd(LinkPeers.asking, with: LinkPeers.answering, on: transport)
        do {
            try await end.meet()
            _ = try await end.flood(LinkRole.sinkCount)
            _ = try await end.ask(Self.aloneCount / 4)
            let load = try await cost(of: LinkRole.sinkCount, with: other) { try await end.flood(LinkRole.sinkCount) }
            // Each question is answered with an event, so two events pass.
            let alone = try await cost(of: 2 * Self.aloneCount, with: other) {
                try await end.ask(Self.aloneCount).reduce(.zero, +)
            }
            await transport.close()
            return ["clock", "asking process", "answering process"].enumerated().map { index, row in
                [
                    "step": .text("\(title): \(row)"), "loadNanoseconds": .number(load[index].nanoseconds),
                    "aloneNanoseconds": .number(alone[index].nanoseconds), "loadWakeups": .number(load[index].waits),
                    "aloneWakeups": .number(alone[index].waits),
                ]
            }
        } catch is LinkEnded {
            throw ToolError("\(title): the other end has gone")
        }
    }

    private typealias Cost = (nanoseconds: Double, waits: Double)

    /// Returns the cost of one event: elapsed time, then the CPU times of this process and of the other.
    private func cost(
        of count: Int, with other: LinkProcess, _ run: () async throws -> Duration
    ) async throws -> [Cost] {
        let ids = [ProcessInfo.processInfo.processIdentifier, other.processIdentifier]
        let before = ids.map { ProcessCost(of: $0) }
        let time = try await run()
        let spent = zip(ids, before).map { id, before in
            before.flatMap { before in ProcessCost(of: id).map { $0 - before } }
        }
        return [(time / .nanoseconds(1) / Double(count), 0)]
            + spent.map { spent in
                (Double(spent?.nanoseconds ?? 0) / Double(count), Double(spent?.waits ?? 0) / Double(count))
            }
    }
}
