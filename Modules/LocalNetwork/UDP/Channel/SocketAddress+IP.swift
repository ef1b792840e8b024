#if UDP
    import MeshDiscovery
    import NIOCore

    // Reads and writes the system's structures as bytes, which are the same everywhere from the port on: of IPv4 the address
    // at 4, of IPv6 the address at 8 and the scope at 24.
    extension SocketAddress {
        /// - Throws: `SocketAddressError`, never for what `ServiceAddress` holds.
        init(_ address: ServiceAddress, port: UInt16) throws {
            try self.init(packedIPAddress: ByteBuffer(bytes: address.ip.bytes), port: Int(port))
            // Only addresses that are not unique need the interface.
            guard address.ip.isLinkLocal, case .v6(let v6) = self else { return }
            var socket = v6.address
            withUnsafeMutableBytes(of: &socket) { bytes in
                withUnsafeBytes(of: address.interfaceIndex) { scope in
                    for (offset, byte) in scope.enumerated() { bytes[24 + offset] = byte }
                }
            }
            self.init(socket)
        }

        /// The same place for a socket of IPv6 (RFC 4291 section 2.5.5.2).
        var mappedToIPv6: SocketAddress {
            guard case .v4 = self, let ip, let port else { return self }
            let bytes = [UInt8](repeating: 0, count: 10) + [0xFF, 0xFF] + ip.bytes
            return (try? SocketAddress(packedIPAddress: ByteBuffer(bytes: bytes), port: port)) ?? self
        }

        /// Without the port; the same for an address of IPv4, mapped or not.
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
