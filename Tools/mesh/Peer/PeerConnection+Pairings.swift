#if CommandLineTools && UDP
    import Foundation
    import MeshSecurity
    import MeshUDPTransport

    extension PeerConnection {
        /// Says who knocks and is not let in, each once, and notices whom `mesh pair` adds while the peer is live.
        func followPairings(
            _ name: PeerName, home: PeerHome, _ remark: @escaping @Sendable (String) -> Void
        ) -> Task<Void, Never> {
            guard let link = transport.link as? UDPLink else { return Task {} }
            let trusted = link.configuration.trustedPeers
            if trusted.peers.isEmpty {
                remark(
                    "paired with nobody yet: run `mesh pair --name \(name.value)` beside this, and on the other device")
            }
            let refusals = link.refusals()
            return Task {
                await withTaskGroup(of: Void.self) { group in
                    group.addTask { await Self.tell(refusals, remark) }
                    group.addTask { await Self.reload(trusted, remark) }
                }
            }
        }

        private static let toldMax = 64

        private static func tell(_ refusals: AsyncStream<UDPRefusal>, _ remark: (String) -> Void) async {
            var told: Set<String> = []
            for await refusal in refusals {
                let what = "\(refusal.code) \(refusal.peerID?.description ?? "")"
                guard told.count < toldMax, told.insert(what).inserted else { continue }
                remark("not connected: \(refusal)")
            }
        }

        private static func reload(_ trusted: TrustedPeers, _ remark: (String) -> Void) async {
            var lastFailure = ""
            while !Task.isCancelled {
                try? await Task.sleep(for: .seconds(2))
                do {
                    let before = Set(trusted.peers.map(\.id))
                    guard try trusted.reload() else { continue }
                    for peer in trusted.peers where !before.contains(peer.id) { remark("paired with \(peer.name)") }
                } catch {
                    if "\(error)" != lastFailure { remark("the paired peers cannot be read: \(error)") }
                    lastFailure = "\(error)"
                }
            }
        }
    }
#endif
