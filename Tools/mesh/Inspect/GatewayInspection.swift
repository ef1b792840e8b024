#if CommandLineTools && Inspector && WebSocket
    import Foundation
    import MeshDiagnostics
    import MeshInspector
    import MeshMailbox
    import MeshResumeGateway
    import MeshToolOutput

    /// An inspector of the traffic between mailboxes.
    struct GatewayInspection {
        let inspector: Inspector

        /// - Throws: `ToolError`.
        init(_ options: InspectOptions) async throws {
            inspector = try await options.start()
            ToolOutput.remark("The inspector is at \(inspector.address)")
        }

        func stop() async { await inspector.stop() }

        var watch: @Sendable (MailboxActivity) -> Void {
            { [inspector] activity in inspector.add(DiagnosticsEntry(activity, at: Date())) }
        }
    }

    extension DiagnosticsEntry {
        fileprivate init(_ activity: MailboxActivity, at date: Date) {
            let at = date.timeIntervalSince1970
            switch activity {
            case .opened(let id):
                self.init(at: at, peer: id.description, kind: .reachability)
                text = "opens its mailbox"
            case .closed(let id):
                self.init(at: at, peer: id.description, kind: .reachability)
                text = "has gone"
            case .posted(let sender, let receiver, let lane, let byteCount, let refusal):
                self.init(
                    at: at, peer: sender.description, kind: .envelope, step: refusal == nil ? .sent : .failed)
                from = sender.description
                to = receiver.description
                mode = "\(lane)"
                bytes = byteCount
                text = refusal
            }
        }
    }
#endif
