#if CommandLineTools && Inspector
    import Foundation
    import MeshDiagnostics
    import MeshIdentity
    import MeshInspector
    import MeshToolOutput
    import MeshTransport
    import WorkoutExample

    /// Writes the traffic of a transport and the states of a session to a file, which another process reads as it grows.
    @MainActor
    final class RecordingWriter {
        let recorder: DiagnosticsSession
        private let file: FileHandle
        private var lastNumber: UInt64 = 0
        private var lastState: DiagnosticsEntry?
        /// The session whose state is written, once there is one.
        var session: WorkoutSession?

        /// - Throws: `ToolError`.
        init(_ transport: any SessionSyncTransport, path: String) throws(ToolError) {
            guard FileManager.default.createFile(atPath: path, contents: nil),
                let file = FileHandle(forWritingAtPath: path)
            else { throw ToolError("'\(path)' can't be written. Name another with --record") }
            self.file = file
            recorder = DiagnosticsSession(wrapping: transport)
            recorder.recordPayloads(of: WorkoutEvent.self, featureID: WorkoutSession.workoutFeatureID)
        }

        /// Writes ten times a second until cancelled.
        func run() async throws {
            while true {
                write()
                try await Task.sleep(for: .milliseconds(100))
            }
        }

        /// Appends the entries since the last call. If the file can't be written, entries are lost and nothing else happens.
        func write() {
            let records = recorder.records(after: lastNumber)
            lastNumber = records.last?.number ?? lastNumber
            var entries = records.map { DiagnosticsEntry($0, of: recorder.localPeer.id) }
            if let session {
                let state = DiagnosticsEntry(session)
                if state.differs(from: lastState) { entries.append(state) }
                lastState = state
            }
            guard !entries.isEmpty else { return }
            try? file.write(contentsOf: DiagnosticsRecording(entries: entries).jsonLines)
        }
    }

    /// Shows the growing recordings of other processes in an inspector.
    @MainActor
    final class RecordingReader {
        private let folder: URL
        private var files: [(name: String, offset: UInt64)] = []
        let inspector: Inspector

        init(_ options: InspectOptions) async throws {
            folder = FileManager.default.temporaryDirectory.appending(path: "mesh-recording-\(UUID().uuidString)")
            try FileManager.default.createDirectory(
                at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            inspector = try await options.start()
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        /// Returns the path to which the named process must record.
        nonisolated func path(of name: String) -> String { folder.appending(path: "\(name).jsonl").path }

        /// Reads ten times a second until cancelled. Entries that were read together are shown in order of time.
        func run(_ names: [String]) async throws {
            files = names.map { ($0, 0) }
            while true {
                read()
                try await Task.sleep(for: .milliseconds(100))
            }
        }

        func read() {
            var entries: [DiagnosticsEntry] = []
            for index in files.indices {
                guard let file = FileHandle(forReadingAtPath: path(of: files[index].name)),
                    (try? file.seek(toOffset: files[index].offset)) != nil,
                    let data = try? file.read(upToCount: 16 << 20), let end = data.lastIndex(of: UInt8(ascii: "\n"))
                else { continue }
                // The last line may be half written.
                let whole = data.prefix(through: end)
                files[index].offset += UInt64(whole.count)
                entries += (try? DiagnosticsRecording(jsonLines: whole))?.entries ?? []
            }
            entries.sort { $0.at < $1.at }
            inspector.add(DiagnosticsRecording(entries: entries))
        }
    }
#endif
