#if CommandLineTools && SQLite
    import ArgumentParser
    import Foundation
    import MeshSQLiteStorage
    import SessionMesh

    struct Reads: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reads", abstract: "How long a reader outside takes, as a widget does.",
            discussion: """
                Fills a store with events that no peer has confirmed, so each one must be reduced, and reads it as another \
                process would: while it is open, with all of them in its log, and closed.
                """)

        @Option(help: "How many events the store has.")
        var events = 10_000

        @Option(help: "How many times it is read.")
        var rounds = 50

        @OptionGroup var output: CrashTestOutput

        func run() async throws {
            let name = "crash-test-\(UUID().uuidString.prefix(8))"
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent(name)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(at: folder) }
            let path = folder.appendingPathComponent("session.sqlite").path
            let store = try SQLiteStore(path: path, sync: .normal)
            var engine = SessionSyncEngine(
                sessionID: SideFolder.sessionID, featureID: SideFolder.featureID, localPeerID: "phone",
                payloadType: "taps.event", snapshotPayloadType: "taps.state", initialState: Taps(),
                reducer: TapReducer(), conflictPolicy: TapReducer(), options: options)
            var archive = try TapArchive(
                store: store, sessionID: SideFolder.sessionID, featureID: SideFolder.featureID)
            for number in 1...max(1, events) {
                let tap = Tap(side: .left, launch: 1, number: number)
                _ = try engine.submitLocal(tap, at: Date(timeIntervalSince1970: Double(number)))
                guard number.isMultiple(of: 10) || number == events else { continue }
                if let persistence = engine.takeDirectives().persist { try archive.save(persistence, of: engine) }
            }
            var report = ReadReport(events: events)
            report.open = try times(path)
            store.close()
            report.closed = try times(path)
            report.bytes = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
            try output.print(report, text: report.text)
        }

        /// A day's events alone, as in a session.
        private var options: SessionEngineOptions<Taps, Tap> {
            var options = SessionEngineOptions<Taps, Tap>()
            options.ownUnconfirmedMax = 262_144
            options.ownUnconfirmedBytesMax = 32 << 20
            return options
        }

        private func times(_ path: String) throws -> ReadReport.Times {
            var (copies, readings): ([Double], [Double]) = ([], [])
            for _ in 0..<max(1, rounds) {
                let clock = ContinuousClock()
                var store: (any SessionStore)?
                copies.append(try clock.measure { store = try SQLiteStore.snapshot(path: path) } / .milliseconds(1))
                guard let store else { continue }
                var count = 0
                readings.append(
                    try clock.measure {
                        count = try SessionReader(TapReducer(), .id(SideFolder.sessionID), in: store).read().state.all
                            .count
                    } / .milliseconds(1))
                guard count == events else { throw CrashTestError("read \(count) of \(events) events") }
            }
            let all = zip(copies, readings).map { $0 + $1 }
            func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }
            return .init(copy: median(copies), reading: median(readings), all: median(all), most: all.max() ?? 0)
        }
    }

    /// Times in milliseconds.
    struct ReadReport: Codable {
        struct Times: Codable {
            var copy = 0.0
            var reading = 0.0
            var all = 0.0
            var most = 0.0

            var text: String {
                let numbers = [copy, reading, all, most].map { String(format: "%.1f", $0) }
                return "\(numbers[0]) ms to copy the store, \(numbers[1]) ms to reduce, \(numbers[2]) ms in all, "
                    + "\(numbers[3]) ms at most"
            }
        }

        var events: Int
        var bytes = 0
        var open = Times()
        var closed = Times()

        var text: String {
            """
            \(events) events, \(bytes) bytes; medians:
            while the store is open: \(open.text)
            once it is closed: \(closed.text)
            """
        }
    }
#endif
