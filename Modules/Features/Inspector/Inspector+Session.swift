#if Inspector
    import Foundation
    public import MeshDiagnostics
    import MeshEngine
    import MeshIdentity
    public import MeshSession

    extension Inspector {
        /// Shows how a session stands, now and after each change, until it is closed or the task is cancelled: its state, which
        /// events are held and confirmed, and how far its peers are.
        ///
        /// States that follow each other faster than ten times a second are shown as the newest of them.
        @MainActor
        public func follow<State, Event, Reducer, ConflictPolicy>(
            _ session: SyncedSession<State, Event, Reducer, ConflictPolicy>
        ) -> Task<Void, Never> {
            Task { @MainActor [weak self] in
                var shown: DiagnosticsEntry?
                while !Task.isCancelled, let self {
                    let entry = DiagnosticsEntry(session)
                    if entry.differs(from: shown) { self.add(entry) }
                    shown = entry
                    guard session.phase != .closed else { return }
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
        }
    }

    extension DiagnosticsEntry {
        /// Creates an entry with the current state of a session. O(events held, and the size of the state).
        @MainActor
        public init<State, Event, Reducer, ConflictPolicy>(
            _ session: SyncedSession<State, Event, Reducer, ConflictPolicy>
        ) {
            let head = session.image.head
            self.init(at: Date().timeIntervalSince1970, peer: session.source.peerID, kind: .state)
            feature = session.featureID
            self.session = session.sessionID.uuidString
            confirmed = session.confirmedCount
            cut = head.cut.milliseconds
            vector = Dictionary(head.held.entries.map { ("\($0.source)", $0.sequence) }) { max($0, $1) }
            sync = Dictionary(session.peers.map { ($0.peerID, $0.text) }) { first, _ in first }
            state = Self.json(session.state)
        }

        private static func json(_ state: some Encodable) -> String? {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            encoder.nonConformingFloatEncodingStrategy = .convertToString(
                positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
            return (try? encoder.encode(state)).map { String(decoding: $0, as: UTF8.self) }
        }

        /// Returns whether an entry differs in more than its time and its cut, which moves with time.
        public func differs(from other: DiagnosticsEntry?) -> Bool {
            guard var other else { return true }
            other.at = at
            other.cut = cut
            return other != self
        }
    }

    extension SessionPeerStatus {
        fileprivate var text: String {
            let standing =
                switch sync {
                case .upToDate: "up to date"
                case .behind(let count): "behind by \(count)"
                case .waiting: "waiting"
                case .provisional: "provisional"
                case .notAdmitted: "not admitted"
                case .elsewhere: "elsewhere"
                }
            return isActive || isReachable ? standing : "away, \(standing)"
        }
    }
#endif
