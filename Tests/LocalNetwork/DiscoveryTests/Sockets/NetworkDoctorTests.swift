import Foundation
import Testing

@testable import MeshDiscovery

@Suite struct NetworkDoctorTests {
    @Test("each finding on this machine is a single line, and survives JSON")
    func thisMachine() async throws {
        let findings = await NetworkDoctor().examine()
        for id in ["interface", "route", "port", "clock"] {
            #expect(findings.contains { $0.id == id }, "\(id)")
        }
        for finding in findings {
            #expect(!finding.found.isEmpty && !finding.found.contains("\n"))
            #expect(finding.advice?.isEmpty != true)
            #expect(finding.verdict == .fine || finding.advice != nil, "\(finding)")
        }
        let copy = try JSONDecoder().decode([NetworkDoctor.Finding].self, from: JSONEncoder().encode(findings))
        #expect(copy == findings)
    }

    @Test("an interface that does not exist is named, with those that do") func unknownInterface() async {
        let findings = await NetworkDoctor(interfaces: ["nowhere0"]).examine()
        #expect(findings.first?.verdict == .blocked)
        #expect(findings.first?.found.contains("nowhere0") == true)
    }
}

#if os(Linux)
    /// Every fault, each on a separate network.
    @Suite(.enabled(if: OwnNetwork.isAllowed, "needs root and a process of its own, with MESH_NETWORK_FAULTS=1"))
    struct NetworkFaultTests {
        /// Two connected interfaces without IPv6, because an IPv6 address wouldn't be ready at once.
        private static let twoEnds = [
            "echo 1 >/proc/sys/net/ipv6/conf/default/disable_ipv6",
            "ip link set lo up", "ip link add one type veth peer name two",
            "ip address add 10.9.0.1/24 dev one", "ip link set one up", "ip link set two up",
        ]

        @Test("a sound network is fine in every respect") func sound() throws {
            let findings = try examine(Self.twoEnds + ["ip route add 224.0.0.0/4 dev one"])
            #expect(findings.allSatisfy { $0.verdict == .fine }, "\(findings)")
            #expect(findings["multicast"].contains { $0.interface == "one" })
        }

        @Test("no interface is up") func nothingUp() throws {
            let findings = try examine([])
            #expect(findings["interface"].map(\.verdict) == [.blocked])
        }

        @Test("only the loopback interface is up") func onlyLoopback() throws {
            let findings = try examine(["ip link set lo up"])
            #expect(findings["interface"].map(\.verdict) == [.warning])
            #expect(findings["multicast"].map(\.verdict) == [.fine])
        }

        @Test("no route for multicast is a warning, since a packet leaves all the same") func noRoute() throws {
            let findings = try examine(Self.twoEnds)
            #expect(findings["route"].map(\.verdict) == [.warning])
            #expect(findings["multicast"].allSatisfy { $0.verdict == .fine })
        }

        @Test("a port that another program has and does not share is blocked") func portTaken() throws {
            let findings = try OwnNetwork.run(Self.twoEnds) {
                let thief = try MulticastSocket(boundTo: MulticastSocket.port, .v4, shares: false)
                return withExtendedLifetime(thief) { NetworkDoctor().examineNow() }
            }
            #expect(findings["port"].map(\.verdict) == [.blocked])
        }

        @Test("a shared port is fine and is reported") func portShared() throws {
            let findings = try OwnNetwork.run(Self.twoEnds) {
                let other = try MulticastSocket(boundTo: MulticastSocket.port, .v4)
                return withExtendedLifetime(other) { NetworkDoctor().examineNow() }
            }
            #expect(findings["port"].map(\.verdict) == [.fine])
            #expect(findings["port"].first?.found.contains("shared") == true)
        }

        @Test(
            "a firewall that drops incoming or outgoing packets is reported as blocked", arguments: ["input", "output"])
        func firewall(_ hook: String) throws {
            let findings = try examine(
                Self.twoEnds + [
                    "nft add table inet t",
                    "nft 'add chain inet t c { type filter hook \(hook) priority 0; }'",
                    "nft add rule inet t c udp dport 5353 drop",
                ])
            let multicast = findings["multicast"]
            #expect(!multicast.isEmpty && multicast.allSatisfy { $0.verdict == .blocked })
            #expect(multicast.allSatisfy { $0.advice?.contains("firewall") == true })
        }

        @Test("an interface with IPv6 alone is a warning") func onlySix() throws {
            let findings = try examine([
                "ip link add one type veth peer name two", "ip link set one up", "ip link set two up",
                "ip address add fd00::1/64 dev one nodad",
            ])
            #expect(findings["address"].contains { $0.interface == "one" && $0.verdict == .warning })
        }

        private func examine(_ commands: [String]) throws -> [NetworkDoctor.Finding] {
            try OwnNetwork.run(commands) { NetworkDoctor().examineNow() }
        }
    }

    extension [NetworkDoctor.Finding] {
        fileprivate subscript(_ id: String) -> [NetworkDoctor.Finding] { filter { $0.id == id } }
    }
#endif
