#if Inspector
    import Foundation
    public import MeshDiagnostics
    import MeshEngine
    import MeshIdentity
    public import MeshSession
    import MeshTransport

    extension Inspector {
        /// Shows a session until it is closed or the task is cancelled: its state, the events held and confirmed, and the
        /// progress of its peers.
        ///
        /// Call it before the session starts. It records events if a `DiagnosticsSession` is among the session's transports.
        /// If the state changes more often than ten times a second, only the newest one is shown.
        /// - Parameter redactedTypes: types whose values the inspector never sees, anywhere in an event or the state. They
        ///   are shown as "(redacted)". See `DiagnosticsSession.recordPayloads(of:featureID:payloadType:redacting:)`.
        @MainActor @discardableResult
        public func follow<State, Event, Reducer, ConflictPolicy>(
            _ session: SyncedSession<State, Event, Reducer, ConflictPolicy>,
            redacting redactedTypes: [any Encodable.Type] = []
        ) -> Task<Void, Never> {
            session.transport.recorder?.recordPayloads(of: session, redacting: redactedTypes)
            return Task { @MainActor [weak self] in
                var shown: DiagnosticsEntry?
                while !Task.isCancelled, let self {
                    let entry = DiagnosticsEntry(session, redacting: redactedTypes)
                    if entry.differs(from: shown) { self.add(entry) }
                    shown = entry
                    guard session.phase != .closed else { return }
                    try? await Task.sleep(for: .milliseconds(100))
                }
            }
        }
    }

    extension SessionSyncTransport {
        /// The recorder that is this transport or is wrapped by it.
        fileprivate var recorder: DiagnosticsSession? {
            self as? DiagnosticsSession ?? (self as? any TransportWrapper)?.wrapped.recorder
        }
    }

    extension DiagnosticsSession {
        @MainActor
        fileprivate func recordPayloads<State, Event, Reducer, ConflictPolicy>(
            of session: SyncedSession<State, Event, Reducer, ConflictPolicy>,
            redacting redactedTypes: [any Encodable.Type]
        ) {
            recordPayloads(
                of: Event.self, featureID: session.featureID, payloadType: session.configuration.payloadType,
                redacting: redactedTypes)
            recordPayloads(
                of: State.self, featureID: session.featureID,
                payloadType: session.configuration.snapshotPayloadType ?? "\(session.featureID).state",
                redacting: redactedTypes)
        }
    }

    extension DiagnosticsEntry {
        /// Creates an entry with the current state of a session. Complexity: O(events held, and the size of the state).
        /// - Parameter redactedTypes: types whose values become "(redacted)" in the state.
        @MainActor
        public init<State, Event, Reducer, ConflictPolicy>(
            _ session: SyncedSession<State, Event, Reducer, ConflictPolicy>,
            redacting redactedTypes: [any Encodable.Type] = []
        ) {
            let head = session.image.head
            self.init(at: Date().timeIntervalSince1970, peer: session.source.peerID, kind: .state)
            feature = session.featureID
            self.session = session.sessionID.uuidString
            confirmed = session.confirmedCount
            cut = head.cut.milliseconds
            vector = Dictionary(head.held.entries.map { ("\($0.source)", $0.sequence) }) { max($0, $1) }
            sync = Dictionary(session.peers.map { ($0.peerID, $0.text) }) { first, _ in first }
            state = RecordedJSON.text(of: session.state, redacting: RecordedJSON.RedactedTypes(redactedTypes))
        }

        /// Returns true if an entry differs in more than its time and its cut, which moves with time.
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
