#if UDP
    import NIOCore
    import Testing

    @testable import MeshUDPTransport

    @Suite struct DatagramRouteTests {
        private static func place(_ ip: String, _ port: Int) throws -> SocketAddress {
            try SocketAddress(ipAddress: ip, port: port)
        }

        @Test func `Only the newest packet changes the port, and none changes the address`() throws {
            for (ip, mapped) in [("10.0.0.5", "::ffff:10.0.0.5"), ("fe80::5", "fe80::5")] {
                var route = DatagramRoute(remote: try Self.place(mapped, 40_000), port: 7000)
                #expect(route.address == (try Self.place(mapped, 7000)))
                // The packet was held back, and forwarded from another address.
                for source in [try Self.place(ip, 666), try Self.place("10.0.0.6", 7000), try Self.place("::1", 7000)] {
                    route.opened(from: source, isNewest: false)
                    #expect(route.address == (try Self.place(mapped, 7000)))
                }
                for source in [try Self.place("10.0.0.6", 666), try Self.place("fe80::6", 666), try Self.place(ip, 0)] {
                    route.opened(from: source, isNewest: true)
                    #expect(route.address == (try Self.place(mapped, 7000)))
                }
                // An address translator has assigned the peer another port.
                route.opened(from: try Self.place(ip, 7001), isNewest: true)
                #expect(route.address == (try Self.place(mapped, 7001)))
            }
            var route = DatagramRoute(remote: try Self.place("10.0.0.5", 40_000), port: 0)
            #expect(route.address == nil)
            route.opened(from: try Self.place("10.0.0.5", 7001), isNewest: true)
            #expect(route.address == (try Self.place("10.0.0.5", 7001)))
            route = DatagramRoute(remote: nil, port: 7000)
            route.opened(from: try Self.place("10.0.0.5", 7001), isNewest: true)
            #expect(route.address == nil)
        }
    }
#endif
