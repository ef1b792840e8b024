#if WebSocket
    import MeshResumeGateway
    import MeshWebSocket

    extension ClientAddressing {
        /// Creates an addressing that uses the addresses that these proxies report for their clients.
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
