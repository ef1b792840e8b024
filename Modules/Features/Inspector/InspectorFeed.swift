#if Inspector
    import MeshBase
    import MeshDiagnostics
    import MeshIdentity
    import MeshTransport

    /// Entries of all sources, for pages that poll for new ones.
    final class InspectorFeed: Sendable {
        private struct State {
            var log: InspectorLog
            var followed: [(session: DiagnosticsSession, last: UInt64)] = []
        }

        /// Maximum number of bytes of all entries. Without it, 100,000 states of 100 KB would take 10 GB.
        private static let bytesMax = 64 << 20

        private let state: Locked<State>
        /// True for a finished recording, so pages needn't wait for more entries.
        let isRecording: Bool

        init(entriesMax: Int, isRecording: Bool = false) {
            self.isRecording = isRecording
            state = Locked(State(log: InspectorLog(limit: entriesMax, byteCountMax: Self.bytesMax)))
        }

        func add(_ entries: [DiagnosticsEntry]) {
            // Records made before these entries come first.
            gather()
            state.withLock { state in
                for entry in entries { state.log.add(entry) }
            }
        }

        func follow(_ session: DiagnosticsSession) { state.withLock { $0.followed.append((session, 0)) } }

        var recording: DiagnosticsRecording {
            gather()
            return DiagnosticsRecording(entries: Array(state.withLock { $0.log.entries }))
        }

        func entries(after number: UInt64, max: Int) -> [DiagnosticsEntry] {
            gather()
            return Array(state.withLock { $0.log.entries(after: number, max: max) })
        }

        /// Adds the records that followed sessions have made since the last call.
        private func gather() {
            state.withLock { state in
                for index in state.followed.indices {
                    let (session, last) = state.followed[index]
                    guard session.recordedCount > last else { continue }
                    let records = session.records(after: last)
                    for record in records { state.log.add(DiagnosticsEntry(record, of: session.localPeer.id)) }
                    state.followed[index].last = records.last?.number ?? last
                }
            }
        }
    }
#endif
