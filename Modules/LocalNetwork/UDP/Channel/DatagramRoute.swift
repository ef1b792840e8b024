#if UDP
    import MeshDiscovery
    import NIOCore

    /// Where a peer's sealed datagrams go. A value.
    ///
    /// At first to the port that the peer has named, at the address of its TLS connection. It may change its port on the way,
    /// as a translator of addresses does that has forgotten it: then the newest packet says so (RFC 9146 section 6). An older
    /// one says nothing, since anybody may have held it back and sent it on from elsewhere. The address stays that of the
    /// connection, which the handshakes of TCP and TLS have shown to be the peer's; so there is no other path to validate
    /// (RFC 9000 section 8.2), and nobody can make this side send to a third party.
    struct DatagramRoute {
        private let ip: IPAddress?
        private(set) var address: SocketAddress?
        /// Where the last packet that counted came from: the next one mostly does too.
        private var source: SocketAddress?

        /// - Parameters:
        ///   - remote: the other end of the connection.
        ///   - port: that the peer has named; 0 for none.
        init(remote: SocketAddress?, port: UInt16) {
            ip = remote?.ip
            address = port > 0 ? remote?.with(port: port) : nil
        }

        /// A packet has been opened.
        /// - Parameter isNewest: whether no packet of the peer's that was sent later has come before.
        mutating func opened(from source: SocketAddress, isNewest: Bool) {
            guard isNewest, source != self.source else { return }
            guard let ip, source.ip == ip, let port = source.port.flatMap(UInt16.init(exactly:)), port > 0
            else { return }
            address = (address ?? source).with(port: port)
            self.source = source
        }
    }
#endif
