import MeshBase
import Testing

@testable import MeshDiscovery

@Suite struct ProbingTests {
    @Test func `three probes, 250 ms apart, within 250 ms of the start (RFC 6762 8.1)`() throws {
        var world = DiscoveryWorld()
        let core = try world.join(0)
        let start = world.now
        world.announce(core, "phone")
        world.run(.seconds(1))
        let probes = world.sent.filter(\.isProbe)
        #expect(probes.count == 3)
        #expect(probes[0].at - start <= .milliseconds(250))
        #expect(zip(probes, probes.dropFirst()).allSatisfy { $1.at - $0.at == .milliseconds(250) })
        for probe in probes {
            #expect(Set(probe.message.questions.map(\.name)) == [instanceName("phone"), world.cores[core].host])
            #expect(probe.message.questions.allSatisfy { $0.type == .any })
            #expect(Set(probe.message.authorities.map(\.type)) == [.srv, .txt, .a])
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func `machines that start together don't probe together (RFC 6762 8.1)`(seed: UInt64) throws {
        var world = DiscoveryWorld(seed: seed)
        for number in 0..<4 { world.announce(try world.join(0), "peer \(number)") }
        world.run(.milliseconds(250))
        let firsts = (0..<4).compactMap { core in world.sent.first { $0.core == core }?.at }
        #expect(firsts.count == 4)
        #expect(Set(firsts).count > 1, "seed \(seed)")
    }

    @Test func `nothing is answered for a name before it is held (RFC 6762 8.1)`() throws {
        var world = DiscoveryWorld()
        let core = try world.join(0)
        world.announce(core, "phone")
        world.run(.milliseconds(300))
        world.say(query(DNSQuestion(instanceName("phone"), .srv), DNSQuestion(typeName, .ptr)))
        world.run(.milliseconds(150))
        #expect(world.sent.allSatisfy { !$0.isResponse })
    }

    @Test func `unicast answers are requested on an own port, not on a shared one (RFC 6762 8.1, 15.1)`() throws {
        for sharesPort in [true, false] {
            var world = DiscoveryWorld()
            let core = try world.join(0) { $0.sharesPort = sharesPort }
            world.announce(core, "phone")
            world.browse(core)
            world.run(.seconds(1))
            #expect(
                world.sent.filter(\.isProbe).allSatisfy { probe in
                    probe.message.questions.allSatisfy { $0.wantsUnicast != sharesPort }
                })
            #expect(world.sent.first { $0.asks(.ptr) }?.message.questions.first?.wantsUnicast == !sharesPort)
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>)
    func `of two that probe for one name at once, one yields and takes another name (RFC 6762 8.2)`(
        seed: UInt64
    ) throws {
        var world = DiscoveryWorld(seed: seed)
        let cores = [try world.join(0), try world.join(0)]
        for core in cores { world.announce(core, "phone", port: 4000 + UInt16(core)) }
        world.run(.seconds(10))
        #expect(Set(cores.map { world.instance($0) }) == ["phone", "phone (2)"], "seed \(seed)")
        #expect(cores.map { world.renames($0).count }.reduce(0, +) == 1, "seed \(seed)")
        #expect(cores.map { world.cores[$0].statistics.conflicts }.reduce(0, +) == 1, "seed \(seed)")
    }

    @Test func `the later data win, the earlier wait for a second (RFC 6762 8.2)`() throws {
        for (port, wins) in [(UInt16(3999), true), (4001, false)] {
            var world = DiscoveryWorld()
            let core = try world.join(0)
            world.announce(core, "phone", port: 4000)
            world.run(.milliseconds(300))
            let host = world.cores[core].host.description
            let before = world.takeSent().filter(\.isProbe).count
            let theirs = [service("phone", port: port, host: host), text("phone", [ServiceAttribute("v", "1")])]
            world.say(query(DNSQuestion(instanceName("phone"), .any), authorities: theirs))
            let start = world.now
            world.run(.seconds(3))
            let probes = world.sent.filter(\.isProbe)
            #expect(probes.count == (wins ? 3 - before : 3))
            #expect(wins || probes[0].at - start == .seconds(1))
            // No host defends the name in the end, so the core keeps it.
            #expect(world.renames(core).isEmpty)
        }
    }

    @Test func `the order of records in a probe does not matter, nor does a prefix win (RFC 6762 8.2.1)`() throws {
        var world = DiscoveryWorld()
        let core = try world.join(0)
        world.announce(core, "phone", port: 4000)
        world.run(.milliseconds(300))
        let host = world.cores[core].host.description
        let same = [service("phone", host: host), text("phone", [ServiceAttribute("v", "1")])]
        let question = DNSQuestion(instanceName("phone"), .any)
        world.say(query(question, authorities: same))
        world.say(query(question, authorities: same.reversed()))
        world.say(query(question, authorities: [same[1]]))
        world.run(.seconds(1))
        #expect(world.sent.filter(\.isProbe).count == 3)
        #expect(world.sent.contains { $0.isResponse })
    }

    @Test func `a name answered during probing is taken, and the next one is probed (RFC 6762 8.1)`() throws {
        var world = DiscoveryWorld()
        let core = try world.join(0)
        world.announce(core, "phone")
        world.run(.milliseconds(300))
        world.say(response([service("phone", port: 1, host: "other.local")]))
        #expect(world.renames(core) == ["phone (2)"])
        _ = world.takeSent()
        world.run(.seconds(2))
        #expect(world.sent.filter(\.isProbe).count == 3)
        #expect(world.sent.last?.isResponse == true)
        #expect(world.instance(core) == "phone (2)")
        #expect(world.cores[core].statistics.conflicts == 1)
    }

    @Test func `after fifteen conflicts within ten seconds each probe waits for five (RFC 6762 8.1)`() throws {
        var world = DiscoveryWorld()
        let core = try world.join(0)
        world.announce(core, "phone")
        for _ in 0..<15 {
            world.run(.milliseconds(300))
            world.say(response([service(try #require(world.instance(core)), port: 1, host: "other.local")]))
        }
        #expect(world.instance(core) == "phone (16)")
        _ = world.takeSent()
        world.run(.milliseconds(4900))
        #expect(world.sent.isEmpty)
        world.run(.milliseconds(200))
        #expect(world.sent.contains { $0.isProbe })
    }

    @Test func `labels are shortened for the number, at a character boundary`() throws {
        let long = String(repeating: "ä", count: 31) + "x"
        #expect(InstanceLabel.next(after: long) == String(repeating: "ä", count: 29) + " (2)")
        #expect(InstanceLabel.next(after: "a (9)") == "a (10)")
        #expect(InstanceLabel.next(after: "a (1)") == "a (1) (2)")
        #expect(InstanceLabel.next(after: "(2)") == "(2) (2)")
        #expect(InstanceLabel.next(after: "a (99999999999999999999)") == "a (99999999999999999999) (2)")
        #expect(InstanceLabel.next(after: "h", for: "h") == "h-2")
        #expect(InstanceLabel.next(after: "h-2", for: "h") == "h-3")
        #expect(InstanceLabel.fitting(String(repeating: "ä", count: 60)).utf8.count == 62)
    }

    @Test func `a label that doesn't fit is shortened and reported as renamed`() throws {
        var world = DiscoveryWorld()
        let core = try world.join(0)
        world.announce(core, String(repeating: "x", count: 70))
        #expect(world.renames(core) == [String(repeating: "x", count: 63)])
    }

    @Test func `an invalid service type is rejected`() {
        for name in ["sessionmesh", "_a._tls", "_a", "._tcp", "_sixteencharacters._tcp", "_a._tcp.x", ""] {
            #expect(throws: DiscoveryError.self, "\(name)") { try MulticastDNSCore(type: ServiceType(name), seed: 1) }
        }
        var configuration = MulticastDNSConfiguration()
        configuration.host = String(repeating: "h", count: 64)
        #expect(throws: DiscoveryError.self) {
            try MulticastDNSCore(type: .sessionMesh, configuration: configuration, seed: 1)
        }
    }
}
