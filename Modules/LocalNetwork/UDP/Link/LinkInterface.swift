#if UDP
    import MeshDiscovery
    import NIOCore
    import NIOPosix

    /// The only network interface that a link uses.
    struct LinkInterface {
        let index: UInt32
        private let name: String

        /// - Throws: `UDPLinkError.noSuchInterface`.
        init(_ name: String) throws(UDPLinkError) {
            guard let device = Self.devices(name).first else {
                throw UDPLinkError(.noSuchInterface, "this machine has no interface '\(name)'")
            }
            self.name = name
            index = UInt32(clamping: device.interfaceIndex)
        }

        /// Returns true if the address is one of the interface's at this moment. A connection with that local address
        /// came over it.
        func has(_ address: SocketAddress?) -> Bool {
            guard let ip = address?.ip else { return false }
            return Self.devices(name).contains { $0.address?.ip == ip }
        }

        private static func devices(_ name: String) -> [NIONetworkDevice] {
            ((try? System.enumerateDevices()) ?? []).filter { $0.name == name }
        }
    }
#endif
