#if UDP
    import NIOCore
    import NIOPosix

    /// The socket that accepts TCP connections.
    enum Listener {
        static let backlog: Int32 = 64

        /// Binds the socket. Blocks briefly, so don't call it on an event loop.
        /// - Parameters:
        ///   - address: The local IP address; nil for all, IPv6 and IPv4, or only IPv4 on machines without IPv6.
        ///   - accept: Called on the event loop. If it returns false, the connection is closed at once.
        static func bind(
            _ address: String?, _ port: UInt16, on loop: any EventLoop,
            accept: @escaping @Sendable (any Channel) -> Bool
        ) throws(UDPLinkError) -> any Channel {
            guard let address else {
                do throws(UDPLinkError) {
                    return try bind("::", port, on: loop, accept: accept)
                } catch  where error.code == .noSuchAddress {
                    return try bind("0.0.0.0", port, on: loop, accept: accept)
                }
            }
            do {
                let place = try SocketAddress(ipAddress: address, port: Int(port))
                return try ServerBootstrap(group: loop)
                    .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                    .serverChannelOption(.backlog, value: backlog)
                    .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .childChannelInitializer { channel in
                        accept(channel)
                            ? channel.eventLoop.makeSucceededVoidFuture()
                            : channel.eventLoop.makeFailedFuture(ChannelError.ioOnClosedChannel)
                    }
                    .bind(to: place).wait()
            } catch is SocketAddressError {
                throw UDPLinkError(.noSuchAddress, "'\(address)' isn't an IP address")
            } catch {
                throw UDPLinkError(binding: "\(UDPManualPeer(host: address, port: port))", error)
            }
        }
    }
#endif
