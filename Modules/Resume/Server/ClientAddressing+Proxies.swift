#if WebSocket
    import MeshResumeGateway
    import MeshWebSocket

    extension ClientAddressing {
        /// Clients behind these proxies are known by the addresses that the proxies report.
        init(trusting proxies: [String], usesProxyProtocol: Bool) {
            self.init(
                isProxy: { peer in proxies.contains { ClientAddress.isIn($0, peer) } },
                usesProxyProtocol: usesProxyProtocol,
                share: { peer, forwarded, forwardedFor in
                    ClientAddress.share(
                        of: ClientAddress.client(
                            peer: peer, forwarded: forwarded, forwardedFor: forwardedFor, trusting: proxies))
                })
        }
    }
#endif
