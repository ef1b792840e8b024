#if WebSocket
    import MeshBase
    package import NIOCore
    import NIOHTTP1
    import NIOPosix
    package import NIOSSL
    import NIOWebSocket

    /// A WebSocket server on one event loop, on which its observer is called.
    package final class WebSocketServer: Sendable {
        private let channel: any Channel

        package var port: Int { channel.localAddress?.port ?? 0 }

        private init(_ channel: any Channel) { self.channel = channel }

        /// Starts a server.
        /// - Parameters:
        ///   - port: 0 lets the system choose.
        ///   - tls: nil serves clear text, which is refused unless `host` is a loopback address.
        ///   - protocols: The supported subprotocols, best first. The first one that the client offers too is chosen.
        ///   - allowedOrigins: Sites that may connect in addition to the server's own.
        ///   - addresses: Determines the addresses by which clients are counted.
        /// - Throws: `WebSocketError.invalidAddress`, `invalidSettings`, `unavailable`.
        package static func start(
            host: String, port: Int, tls: NIOSSLContext?, protocols: [String], allowedOrigins: Set<String> = [],
            limits: WebSocketLimits, addresses: ClientAddressing = ClientAddressing(), on loop: any EventLoop,
            observer: NIOLoopBound<any WebSocketObserver>
        ) async throws(WebSocketError) -> WebSocketServer {
            try WebSocketError.require(port: port)
            let limits = try limits.fitted()
            do {
                let address = try SocketAddress.makeAddressResolvingHost(host, port: port)
                guard tls != nil || address.isLoopback else {
                    throw WebSocketError(
                        .invalidAddress,
                        "'\(host)' can be reached from other machines, so it needs a certificate and its key")
                }
                let policy = OriginPolicy(isSecure: tls != nil, allowedOrigins: allowedOrigins)
                let admission = NIOLoopBoundBox.makeBoxSendingValue(SocketAdmission(limits), eventLoop: loop)
                let flushes = try await loop.submit { NIOLoopBound(SocketFlushes(on: loop), eventLoop: loop) }.get()
                let channel = try await ServerBootstrap(group: loop, childGroup: loop)
                    .serverChannelOption(.backlog, value: 4096)
                    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                    .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
                    .childChannelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture {
                            let client = SocketClient(channel.remoteAddress?.ipAddress ?? "", addresses)
                            guard let key = admission.value.admit(client.address) else {
                                return channel.close(promise: nil)
                            }
                            let bound = NIOLoopBound(client, eventLoop: channel.eventLoop)
                            channel.closeFuture.whenComplete { _ in admission.value.release(bound.value.address) }
                            if client.address == nil, addresses.usesProxyProtocol {
                                let header = ProxyHeaderHandler { bound.value.enter(&admission.value, asClient: $0) }
                                try channel.pipeline.syncOperations.addHandler(header)
                            }
                            if let tls {
                                try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls))
                            }
                            var policy = policy
                            // Skips the check of `Host`, because a proxy passes on the name by which the client called
                            // it.
                            if client.address == nil { policy.isSecure = true }
                            let rules = UpgradeHandler.Rules(
                                protocols: protocols, policy: policy, limits: limits,
                                admits: { client.enter(&admission.value, $0) },
                                makeSocket: { agreed in
                                    let socket = WebSocket(
                                        key: key, observer.value, isServer: true, subprotocol: agreed, limits,
                                        flushes: flushes.value
                                    ) { admission.value.remember(bound.value.address) }
                                    socket.address = client.address
                                    return socket
                                })
                            try UpgradeHandler.configure(channel, rules)
                        }
                    }
                    .bind(to: address).get()
                return WebSocketServer(channel)
            } catch {
                throw error as? WebSocketError
                    ?? WebSocketError(.unavailable, "can't listen on \(host):\(port)", cause: error)
            }
        }

        /// Stops accepting connections. Open sockets stay open.
        package func stop() async { try? await channel.close() }
    }

    /// Counts connections, and decides on new ones.
    struct SocketAdmission {
        /// Maximum number of remembered addresses at which a user has authenticated.
        static let knownAddressesMax = 8192
        /// One in this many connections is reserved for known addresses.
        private static let keptShare = 10

        private let limits: WebSocketLimits
        private var counts: [String: Int] = [:]
        /// Known addresses in two halves. Once the newer half is full, the older one is dropped.
        private var known: (newer: Set<String>, older: Set<String>) = ([], [])
        private var count = 0
        private var key = 0

        init(_ limits: WebSocketLimits) { self.limits = limits }

        /// - Parameter address: nil for a proxy. Its clients are counted once their addresses are known.
        /// - Returns: A new key for the connection; nil if it is refused.
        mutating func admit(_ address: String?) -> Int? {
            count += 1
            guard enter(address) else {
                count -= 1
                return nil
            }
            key += 1
            return key
        }

        /// Remembers an address at which a user has authenticated. It may use the reserved connections.
        mutating func remember(_ address: String?) {
            guard let address, !known.newer.contains(address) else { return }
            if known.newer.count >= Self.knownAddressesMax / 2 { known = ([], known.newer) }
            known.newer.insert(address)
        }

        var knownCount: Int { known.newer.count + known.older.count }

        func isKnown(_ address: String) -> Bool {
            known.newer.contains(address) || known.older.contains(address)
        }

        /// Counts a connection by its address. `count` already includes the connection.
        ///
        /// - Parameter address: nil if it isn't known yet.
        /// - Returns: False if no place is left for the address, or it has reached its maximum of connections.
        mutating func enter(_ address: String?) -> Bool {
            let kept = address.map(isKnown) ?? true ? 0 : limits.connectionsMax / Self.keptShare
            guard count <= limits.connectionsMax - kept else { return false }
            guard let address else { return true }
            guard counts[address, default: 0] < limits.connectionsPerAddress else { return false }
            counts[address, default: 0] += 1
            return true
        }

        mutating func release(_ address: String?) {
            count -= 1
            guard let address else { return }
            let left = counts[address, default: 0] - 1
            counts[address] = left > 0 ? left : nil
        }
    }

    /// Determines the addresses by which clients are counted.
    package struct ClientAddressing: Sendable {
        let isProxy: @Sendable (_ peer: String) -> Bool
        let usesProxyProtocol: Bool
        let share: @Sendable (_ peer: String, _ forwarded: [String], _ forwardedFor: [String]) -> String

        /// - Parameters:
        ///   - isProxy: Returns true if the peer reports its clients' addresses.
        ///   - usesProxyProtocol: True if proxies begin each connection with a header of the PROXY protocol.
        ///   - share: Returns the name under which a client is counted. It gets the peer's address and the values of
        ///     the headers `Forwarded` and `X-Forwarded-For`.
        package init(
            isProxy: @escaping @Sendable (_ peer: String) -> Bool = { _ in false }, usesProxyProtocol: Bool = false,
            share: @escaping @Sendable (_ peer: String, _ forwarded: [String], _ forwardedFor: [String]) -> String = {
                peer, _, _ in peer
            }
        ) {
            (self.isProxy, self.usesProxyProtocol, self.share) = (isProxy, usesProxyProtocol, share)
        }
    }

    /// A client whose address may not be known yet.
    private final class SocketClient {
        private var peer: String
        private let addresses: ClientAddressing
        /// The client's address; nil until a proxy's headers have arrived.
        private(set) var address: String?

        init(_ peer: String, _ addresses: ClientAddressing) {
            (self.peer, self.addresses) = (peer, addresses)
            address = addresses.isProxy(peer) ? nil : addresses.share(peer, [], [])
        }

        /// Learns the address from HTTP headers. Returns false if the address is refused.
        func enter(_ admission: inout SocketAdmission, _ headers: HTTPHeaders) -> Bool {
            guard address == nil else { return true }
            return enter(&admission, addresses.share(peer, headers["Forwarded"], headers["X-Forwarded-For"]))
        }

        /// Learns the address from the PROXY protocol's header; nil for a connection of the proxy itself. Returns false if
        /// the address is refused.
        func enter(_ admission: inout SocketAdmission, asClient reported: String?) -> Bool {
            guard let reported else { return true }
            peer = reported
            // The address is that of another proxy, which reports the client in HTTP headers.
            guard !addresses.isProxy(reported) else { return true }
            return enter(&admission, addresses.share(reported, [], []))
        }

        private func enter(_ admission: inout SocketAdmission, _ client: String) -> Bool {
            guard admission.enter(client) else { return false }
            address = client
            return true
        }
    }

    extension SocketAddress {
        /// True if only this machine can reach the address.
        package var isLoopback: Bool {
            switch self {
            case .v4: ipAddress?.hasPrefix("127.") == true
            case .v6: ipAddress == "::1"
            case .unixDomainSocket: true
            }
        }
    }
#endif
