#if UDP
    import MeshBase
    import MeshDiscovery
    import MeshSecurity
    import Testing

    @testable import MeshUDPTransport

    @Suite struct NearbyAddressesTests {
        private static let interfaces = [
            NetworkInterface(
                index: 1, name: "lo",
                addresses: [.init(ip: .v4(0x7F00_0001), prefixLength: 8), .init(ip: .v6(0, 1), prefixLength: 128)],
                isLoopback: true),
            NetworkInterface(
                index: 2, name: "eth0",
                addresses: [
                    .init(ip: .v4(0x0A00_0105), prefixLength: 24), .init(ip: .v6(0xFE80 << 48, 5), prefixLength: 64),
                    .init(ip: .v6(0x2001_0DB8_0000_0001, 5), prefixLength: 128),
                ]),
        ]

        private static func isNearby(_ ip: IPAddress, _ index: UInt32) -> Bool {
            var nearby = NearbyAddresses { interfaces }
            let service = FoundService(
                instance: "label", port: 7000, addresses: [ServiceAddress(ip: ip, interfaceIndex: index)],
                attributes: [])
            return !nearby.filter(service, .zero).addresses.isEmpty
        }

        @Test func `A record makes a peer dial no address beyond the network on which it was heard`() {
            let far: [IPAddress] = [
                .v4(0x7F00_0001), .v4(0x7FFF_FFFF), .v6(0, 1),  // this machine itself
                .v6(0, 0xFFFF_7F00_0001), .v6(0, 0xFFFF_0808_0808),  // IPv4 addresses mapped to IPv6
                .v4(0), .v6(0, 0), .v4(0x0000_0105),  // no host
                .v4(0xE000_00FB), .v4(0xEFFF_FFFF), .v6(0xFF02 << 48, 0xFB), .v6(0xFF05 << 48, 1),  // multicast groups
                .v4(.max), .v4(0x0A00_01FF), .v4(0xF000_0001),  // broadcast
                .v4(0x0808_0808), .v4(0x0A00_0205), .v6(0x2001_0DB8_0000_0002, 5), .v6(.max, .max),  // elsewhere
            ]
            for ip in far { #expect(!Self.isNearby(ip, 2), "\(ip)") }
            let near: [IPAddress] = [
                .v4(0x0A00_0101), .v4(0xA9FE_0102), .v6(0xFE80 << 48, 9), .v6(0x2001_0DB8_0000_0001, 9),
                .v6(0, 0xFFFF_0A00_0101),
            ]
            for ip in near {
                #expect(Self.isNearby(ip, 2), "\(ip)")
                // It isn't near on a missing interface either.
                for index in [0, 3, .max] as [UInt32] { #expect(!Self.isNearby(ip, index), "\(ip) \(index)") }
            }
        }

        @Test func `A record over the loopback interface leads to this machine only`() {
            for ip in [.v4(0x7F00_0001), .v4(0x7F00_0002), .v6(0, 1), .v4(0x0A00_0105)] as [IPAddress] {
                #expect(Self.isNearby(ip, 1), "\(ip)")
            }
            for ip in [.v4(0x0A00_0101), .v4(0x0808_0808), .v4(0), .v6(0xFE80 << 48, 9)] as [IPAddress] {
                #expect(!Self.isNearby(ip, 1), "\(ip)")
            }
        }

        @Test func `Interfaces are listed at most once per second, whatever arrives`() {
            let count = Locked(0)
            var nearby = NearbyAddresses {
                count.withLock { $0 += 1 }
                return []
            }
            let service = FoundService(instance: "label", port: 1, addresses: [], attributes: [])
            for step in 0..<1_000 { _ = nearby.filter(service, .milliseconds(step * 3)) }
            #expect(count.withLock { $0 } == 3)
        }
    }

    @Suite struct DialBoundTests {
        /// Dials everything that is due, every hundredth of a second. No dial succeeds.
        /// - Parameter news: adds the services found at that moment.
        private func dialCount(
            _ plan: inout DialPlan, seconds: Int, _ news: (inout DialPlan, Int, Duration) -> Void
        ) -> Int {
            var count = 0
            for step in 0..<seconds * 100 {
                let now = Duration.milliseconds(10 * step)
                news(&plan, step, now)
                for round in plan.takeDue(now) {
                    count += round.endpoints.count
                    plan.refused(round.target, nil, now)
                }
            }
            return count
        }

        @Test func `A flood of restart announcements costs a bounded number of connections`() {
            var plan = DialPlanTests.plan(DialPlanTests.lower, trusting: DialPlanTests.higher)
            let count = dialCount(&plan, seconds: 14) { plan, step, now in
                var service = DialPlanTests.service(
                    DialPlanTests.higher, "label \(step % 300)", start: UInt64(step), port: UInt16(1 + step % 60_000))
                service.addresses = (0..<16).map { ServiceAddress(ip: .v4(0x0A00_0001 + $0), interfaceIndex: 2) }
                plan.found(service, now)
            }
            #expect(count <= 32 + 14)
            #expect(count >= 32)
        }

        @Test func `Impostors of many peers cost a bounded number too, and a found peer regains its attempts`() throws {
            let peers = (0..<16).map { _ in PeerIdentity().peerID }
            var plan = DialPlanTests.plan(try #require(peers.min()))
            plan.trust(peers, .zero)
            let count = dialCount(&plan, seconds: 10) { plan, step, now in
                plan.found(DialPlanTests.service(peers[step % 16], start: UInt64(step)), now)
            }
            #expect(count <= 128 + 40)

            let peer = DialPlanTests.higher
            plan = DialPlanTests.plan(DialPlanTests.lower, trusting: peer)
            for step in 0..<100 as Range<UInt64> {
                let now = Duration.seconds(Int64(step))
                plan.found(DialPlanTests.service(peer, start: step), now)
                let round = try #require(plan.takeDue(now + .milliseconds(10)).first, "\(step)")
                plan.connected(peer, through: round.target, at: round.endpoints.first)
                plan.disconnected(peer, lasted: .zero, .protocolError, now + .milliseconds(20))
            }
        }

        @Test func `A manually configured address needs no allowance`() {
            var plan = DialPlanTests.plan(
                DialPlanTests.lower, manual: [UDPManualPeer(host: "host", port: 1, id: DialPlanTests.higher)])
            let count = dialCount(&plan, seconds: 300) { _, _, _ in }
            #expect(count > 10)
        }
    }
#endif
