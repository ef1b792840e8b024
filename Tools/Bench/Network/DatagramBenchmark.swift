#if UDP
    import Foundation
    import MeshBenchmarks
    import MeshBase
    import SessionMesh

    /// Compares a `UDPLink`'s sealed datagrams between two processes with bare SwiftNIO. Both take turns; values are medians.
    enum DatagramBenchmark {
        static let benchmarkCase = BenchmarkCase(
            id: "datagrams", summary: "Datagrams of 256 bytes between two processes, sealed and beside bare SwiftNIO",
            run: { _ in try await rows() })

        private static let turnCount = 5
        private static let floodCount = 128_000
        private static let askedCount = 2_000

        private struct Turns {
            var flood: [Duration] = []
            var ask: [Duration] = []
        }

        private static func rows() async throws -> [BenchmarkRow] {
            let home = FileManager.default.temporaryDirectory.appending(path: "sessionmesh-\(UUID().uuidString)")
            defer { try? FileManager.default.removeItem(at: home) }
            let (bare, link) = (DatagramMeter(), DatagramMeter())
            let (bareSink, barePort) = try startSink(["bare"])
            let bareEnd = try await BareEnd(to: Int(barePort)) { bare.received($0) }
            bare.attach(bareEnd)
            let (identity, trusted) = try pair(home)
            let (linkSink, linkPort) = try startSink(["link", home.path])
            var configuration = UDPLinkConfiguration(identity: identity, trustedPeers: trusted, address: "127.0.0.1")
            configuration.manualPeers = [UDPManualPeer(host: "127.0.0.1", port: linkPort)]
            let linkEnd = try LinkEnd(configuration) { link.received($0) }
            try await linkEnd.connect()
            link.attach(linkEnd)

            var (bareTurns, linkTurns) = (Turns(), Turns())
            for turn in 0...turnCount {
                // The first turn warms up.
                if turn == 1 { (bareTurns, linkTurns) = (Turns(), Turns()) }
                bareTurns.flood.append(await bare.flood(floodCount))
                linkTurns.flood.append(await link.flood(floodCount))
                bareTurns.ask += await bare.ask(askedCount)
                linkTurns.ask += await link.ask(askedCount)
            }
            let fallback = linkEnd.link.statistics.fallbackSent
            await bareEnd.close()
            await linkEnd.close()
            for sink in [bareSink, linkSink] { sink.terminate() }
            return [
                row("bare SwiftNIO", bareTurns, beside: bareTurns, lost: bare.lostBursts, fallback: 0),
                row("sealed, over the link", linkTurns, beside: bareTurns, lost: link.lostBursts, fallback: fallback),
            ]
        }

        private static func row(
            _ name: String, _ turns: Turns, beside bare: Turns, lost: Int, fallback: UInt64
        ) -> BenchmarkRow {
            [
                "datagrams": .text(name), "messageBytes": .integer(DatagramMeter.messageBytes),
                "messagesPerSecond": .number(Double(floodCount) / turns.flood.median),
                "microsecondsEach": .number(turns.flood.median * 1e6 / Double(floodCount)),
                "throughputRatio": .number(turns.flood.median / bare.flood.median),
                "roundTripMicroseconds": .number(turns.ask.median * 1e6),
                "roundTripRatio": .number(turns.ask.median / bare.ask.median),
                "lostBursts": .integer(lost), "overTheStream": .integer(Int(fallback)),
            ]
        }

        /// Creates two identities that trust each other. Writes the other process's to files.
        private static func pair(_ home: URL) throws -> (PeerIdentity, TrustedPeers) {
            try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
            let mine = PeerIdentity()
            let theirs = try PeerIdentity(file: home.path + "/identity.key")
            let trusted = TrustedPeers()
            try trusted.trust(TrustedPeer(id: theirs.peerID, name: "sink", since: Date()))
            try TrustedPeers(file: home.path + "/paired.json").trust(
                TrustedPeer(id: mine.peerID, name: "meter", since: Date()))
            return (mine, trusted)
        }

        private static func startSink(_ arguments: [String]) throws -> (Process, UInt16) {
            let process = Process()
            process.executableURL = Bundle.main.executableURL
            process.arguments = [DatagramSink.command] + arguments
            let output = Pipe()
            process.standardOutput = output
            process.standardInput = Pipe()
            try process.run()
            let line = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
            guard let port = UInt16(line.trimmingCharacters(in: .whitespacesAndNewlines)), port > 0 else {
                process.terminate()
                throw UnexpectedAnswer(line: line)
            }
            return (process, port)
        }
    }

    private struct UnexpectedAnswer: Error, CustomStringConvertible {
        let line: String
        var description: String { "the other process printed '\(line)' instead of its port" }
    }

    extension [Duration] {
        /// The median in seconds.
        fileprivate var median: Double { sorted()[count / 2] / .seconds(1) }
    }
#endif
