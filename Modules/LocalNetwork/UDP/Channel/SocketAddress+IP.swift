#if UDP
    import MeshDiscovery
    import NIOCore

    // Accesses the system's structures as bytes. From the port on, their layout is the same on all systems: an IPv4
    // address is at offset 4, an IPv6 address at 8 and its scope at 24.
    extension SocketAddress {
        /// - Throws: `SocketAddressError`, which no `ServiceAddress` causes.
        init(_ address: ServiceAddress, port: UInt16) throws {
            try self.init(packedIPAddress: ByteBuffer(bytes: address.ip.bytes), port: Int(port))
            // Only link-local addresses need the interface.
            guard address.ip.isLinkLocal, case .v6(let v6) = self else { return }
            var socket = v6.address
            withUnsafeMutableBytes(of: &socket) { bytes in
                withUnsafeBytes(of: address.interfaceIndex) { scope in
                    for (offset, byte) in scope.enumerated() { bytes[24 + offset] = byte }
                }
            }
            self.init(socket)
        }

        /// The address for an IPv6 socket: IPv4-mapped if necessary (RFC 4291 section 2.5.5.2).
        var mappedToIPv6: SocketAddress {
            guard case .v4 = self, let ip, let port else { return self }
            let bytes = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + ip.bytes
            return (try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: port)) ?? self
        }

        /// The IP address without the port. IPv4-mapped addresses are returned as IPv4.
        var ip: IPAddress? {
            switch self {
            case .v4(let v4): return withUnsafeBytes(of: v4.address) { IPAddress(bytes: $0[4..<8]) }
            case .v6(let v6):
                return withUnsafeBytes(of: v6.address) { IPAddress(bytes: $0[8..<24]) }?.unmapped
            case .unixDomainSocket: return nil
            }
        }

        func with(port: UInt16) -> SocketAddress {
            var copy = self
            copy.port = Int(port)
            return copy
        }
    }
#endif
