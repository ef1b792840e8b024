#if UDP
    import MeshBase
    import MeshSecurity
    import MeshTransport

    /// The link's counters and its stream of refusals. Safe to use from any thread.
    final class LinkReport: Sendable {
        let refusals = Topic<UDPRefusal>(bufferLimit: 256)
        private let diagnostics: Topic<SessionDiagnosticEvent>?
        private let counters = Locked(UDPLinkStatistics())

        init(_ diagnostics: Topic<SessionDiagnosticEvent>?) { self.diagnostics = diagnostics }

        var statistics: UDPLinkStatistics { counters.withLock { $0 } }

        func count(_ change: (inout UDPLinkStatistics) -> Void) { counters.withLock { change(&$0) } }

        func refused(_ refusal: UDPRefusal) {
            count { $0.refusals[refusal.code, default: 0] += 1 }
            refusals.publish(refusal)
            diagnostics?.publish(.rejected(peerID: refusal.peerID?.description, reason: refusal.description))
        }

        func failed(_ reason: String) { diagnostics?.publish(.rejected(peerID: nil, reason: reason)) }
    }
#endif
