#if UDP
    import MeshDiscovery
    import NIOCore
    import NIOPosix

    /// An address or host name, with a port, at which a peer may be.
    struct Endpoint: Hashable, Sendable, CustomStringConvertible {
        enum Host: Hashable, Sendable {
            case address(ServiceAddress)
            case name(String)
        }

        var host: Host
        var port: UInt16

        var description: String {
            switch host {
            case .address(let address):
                if case .v6 = address.ip { "[\(address)]:\(port)" } else { "\(address):\(port)" }
            case .name(let name): "\(UDPManualPeer(host: name, port: port))"
            }
        }
    }

    extension Endpoint {
        func connect(_ bootstrap: ClientBootstrap, on loop: any EventLoop) -> EventLoopFuture<any Channel> {
            switch host {
            case .name(let name): return bootstrap.connect(host: name, port: Int(port))
            case .address(let address):
                do {
                    return bootstrap.connect(to: try SocketAddress(address, port: port))
                } catch {
                    return loop.makeFailedFuture(error)
                }
            }
        }
    }
#endif
