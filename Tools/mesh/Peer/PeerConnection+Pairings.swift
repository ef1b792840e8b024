#if CommandLineTools && (UDP || MQTT || WebSocket)
    import Foundation
    import MeshBase
    import MeshDelivery
    import MeshSecurity
    import MeshTransport

    #if UDP
        import MeshUDPTransport
    #endif
    #if MQTT || WebSocket
        import MeshRelay
    #endif

    extension PeerConnection {
        /// Reports each rejected peer, each refusal of a broker and each report of a lost peer once. Also reports peers that
        /// `mesh pair` adds or revokes while this peer is live.
        func followPairings(
            _ name: PeerName, home: PeerHome, _ remark: @escaping @Sendable (String) -> Void
        ) -> Task<Void, Never> {
            guard let (trusted, way, refusals) = pairedLink else { return Task {} }
            if trusted.peers.isEmpty {
                remark(
                    "paired with nobody yet: run `mesh pair\(way) --name \(name.value)` beside this, and on the other "
                        + "device")
            }
            return Task {
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await refusals(remark) }
                    group.addTask { await Self.reload(trusted, remark) }
                    group.addTask { await Self.report(trusted.lossReportChanges(), name, remark) }
                }
            }
        }

        /// The peers that the link trusts, the options that `mesh pair` needs for it, and a function that reports refusals.
        private var pairedLink: (TrustedPeers, String, @Sendable (@Sendable (String) -> Void) async -> Void)? {
            #if UDP
                if let link = transport.link as? UDPLink {
                    let refusals = link.refusals()
                    return (link.configuration.trustedPeers, "", { await Self.report(refusals, $0) })
                }
            #endif
            #if MQTT || WebSocket
                if let link = transport.link as? RelayLink {
                    let events = transport.diagnosticEvents()
                    return (
                        link.trustedPeers, link.relayAddress.hasPrefix("mqtt") ? " --link \(link.relayAddress)" : "",
                        { await Self.report(events, $0) }
                    )
                }
            #endif
            return nil
        }

        private static let reportedMax = 64

        #if MQTT || WebSocket
            private static func report(_ events: AsyncStream<SessionDiagnosticEvent>, _ remark: (String) -> Void) async
            {
                var reported: Set<String> = []
                for await case .rejected(nil, let reason) in events {
                    guard reported.count < reportedMax, reported.insert(reason).inserted else { continue }
                    remark(reason)
                }
            }
        #endif

        #if UDP
            private static func report(_ refusals: AsyncStream<UDPRefusal>, _ remark: (String) -> Void) async {
                var reported: Set<String> = []
                for await refusal in refusals {
                    let what = "\(refusal.code) \(refusal.peerID?.description ?? "")"
                    guard reported.count < reportedMax, reported.insert(what).inserted else { continue }
                    remark("not connected: \(refusal)")
                }
            }
        #endif

        private static func report(
            _ changes: AsyncStream<[LossReport]>, _ name: PeerName, _ remark: (String) -> Void
        ) async {
            var reported: Set<LossReport> = []
            for await reports in changes {
                for report in reports where !reported.contains(report) {
                    remark(
                        "\(report): run `mesh pair --name \(name.value) --confirm \(report.peer.name)`, or with --dismiss"
                    )
                }
                reported = Set(reports)
            }
        }

        private static func reload(_ trusted: TrustedPeers, _ remark: (String) -> Void) async {
            var lastFailure = ""
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(2))
                do {
                    let before = trusted.peers
                    guard try trusted.reload() else { continue }
                    let ids = Set(before.map(\.id))
                    for peer in trusted.peers where !ids.contains(peer.id) { remark("paired with \(peer.name)") }
                    for peer in before where trusted.isRevoked(peer.id) { remark("\(peer.name) is revoked") }
                } catch {
                    if "\(error)" != lastFailure { remark("the paired peers cannot be read: \(error)") }
                    lastFailure = "\(error)"
                }
            }
        }
    }
#endif
