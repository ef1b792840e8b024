#if UDP
    import MeshDiscovery
    import NIOCore

    /// The destination of a peer's sealed datagrams. A value.
    ///
    /// It starts as the port that the peer has named, at the address of its TLS connection. The port may change, for
    /// example when a NAT forgets its mapping. Only the newest packet changes it (RFC 9146 section 6): an attacker may
    /// have held back an older one and sent it from elsewhere. The address never changes, because the TCP and TLS
    /// handshakes have proven it. So no other path needs validation (RFC 9000 section 8.2), and no attacker can
    /// redirect datagrams to a third party.
    struct DatagramRoute {
        private let ip: IPAddress?
        private(set) var address: SocketAddress?
        /// The source of the last packet that changed the route. Most packets come from the same one.
        private var source: SocketAddress?

        /// - Parameters:
        ///   - remote: The remote address of the connection.
        ///   - port: The port that the peer has named; 0 for none.
        init(remote: SocketAddress?, port: UInt16) {
            ip = remote?.ip
            address = port > 0 ? remote?.with(port: port) : nil
        }

        /// Updates the route with the source of an opened packet.
        /// - Parameter isNewest: True if no later packet of the peer has arrived before.
        mutating func opened(from source: SocketAddress, isNewest: Bool) {
            guard isNewest, source != self.source else { return }
            guard let ip, source.ip == ip, let port = source.port.flatMap(UInt16.init(exactly:)), port > 0
            else { return }
            address = (address ?? source).with(port: port)
            self.source = source
        }
    }
#endif
