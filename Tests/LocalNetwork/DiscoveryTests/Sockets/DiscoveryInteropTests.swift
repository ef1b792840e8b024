import MeshTestSupport
import Testing

@testable import MeshDiscovery

/// Our multicast DNS and other implementations, on the loopback interface.
@Suite struct DiscoveryInteropTests {
    private static let needsZeroconf: Comment = "needs python-zeroconf: python3 -m pip install zeroconf"

    @Test(
        "python-zeroconf finds our service, sees its changes, and gets its goodbye",
        .enabled(if: Program.hasZeroconf, needsZeroconf))
    func foundByZeroconf() async throws {
        let type = ServiceType.unique()
        let browser = try Program.zeroconf("browse", type.name)
        let party = try Party(.multicast, type)
        party.announce("Küche 1", port: 4711, [ServiceAttribute("v", "1"), ServiceAttribute("k", nil)])
        let found = await browser.event("found")
        #expect(found?.instance == "Küche 1")
        #expect(found?.port == 4711)
        #expect(found?.addresses?.contains("127.0.0.1") == true)
        #expect(found?.text == "03763d31016b")
        party.announce("Küche 1", port: 4711, [ServiceAttribute("v", [0, 255])])
        #expect(await browser.event("found") { $0.text != found?.text }?.attributes == ["v": "00ff"])
        await party.discovery.stop()
        #expect(await browser.event("lost")?.instance == "Küche 1")
    }

    @Test(
        "we find python-zeroconf's service, see its changes, and get its goodbye",
        .enabled(if: Program.hasZeroconf, needsZeroconf))
    func zeroconfIsFound() async throws {
        let type = ServiceType.unique()
        let party = try Party(.multicast, type)
        let announcer = try Program.zeroconf("announce", type.name, "snake", "4712", "a=b", "c")
        #expect(await announcer.event("announced") != nil)
        let found = await party.recorder.service("snake")
        #expect(found?.port == 4712)
        #expect(found?.addresses.map(\.ip) == [.v4(0x7F00_0001)])
        #expect(found?.attributes == [ServiceAttribute("a", "b"), ServiceAttribute("c", nil)])
        try announcer.write("a=changed\n")
        await party.recorder.service("snake") { $0["a"] == Array("changed".utf8) }
        try announcer.closeInput()
        await party.recorder.loss(of: "snake")
        await party.discovery.stop()
    }

    @Test(
        "our type is among those that python-zeroconf sees on the network",
        .enabled(if: Program.hasZeroconf, needsZeroconf))
    func typeIsListed() async throws {
        let type = ServiceType.unique()
        let (party, witness) = try (Party(.multicast, type), Party(.multicast, type))
        party.announce("listed", port: 1)
        await witness.recorder.service("listed")
        var types: [String] = []
        // Each run looks for two seconds.
        for _ in 0..<30 where !types.contains("\(type.name).local.") {
            types = try await Program.zeroconf("types").allLines()
        }
        #expect(types.contains("\(type.name).local."))
        await Party.stop(party, witness)
    }

    @Test(
        "a name that python-zeroconf has is not taken from it",
        .enabled(if: Program.hasZeroconf, needsZeroconf))
    func conflict() async throws {
        let type = ServiceType.unique()
        let announcer = try Program.zeroconf("announce", type.name, "taken", "1")
        #expect(await announcer.event("announced") != nil)
        let party = try Party(.multicast, type)
        party.announce("taken", port: 2)
        #expect(await party.recorder.newName() == "taken (2)")
        #expect(await party.recorder.service("taken")?.port == 1)
        await party.discovery.stop()
    }
}

#if os(Linux)
    /// The interoperation with Avahi's own tools, on the network that `Tests/Network/with-avahi` creates.
    @Suite(.enabled(if: DiscoveryBackend.hasResponder, needsResponder))
    struct AvahiInteropTests {
        @Test("avahi-browse resolves us") func foundByAvahi() async throws {
            let type = ServiceType.unique()
            let party = try Party(.multicast, type)
            let browser = try Program("avahi-browse", ["--resolve", "--parsable", type.name])
            party.announce("mesh", port: 4711, [ServiceAttribute("v", "1")])
            var line = await browser.nextLine()
            while let current = line, !current.hasPrefix("=") { line = await browser.nextLine() }
            let fields = line?.split(separator: ";", omittingEmptySubsequences: false).map(String.init) ?? []
            try #require(fields.count == 10, "\(line ?? "nothing")")
            #expect(fields[3] == "mesh")
            #expect(fields[8] == "4711")
            #expect(fields[9] == "\"v=1\"")
            await party.discovery.stop()
            while let current = await browser.nextLine(), !current.hasPrefix("-") {}
            browser.terminate()
        }

        @Test("a service that avahi-publish announces is found, and lost when it ends") func avahiIsFound() async throws
        {
            let type = ServiceType.unique()
            let party = try Party(.multicast, type)
            let publisher = try Program("avahi-publish", ["-s", "duck", type.name, "4713", "a=b"])
            let found = await party.recorder.service("duck")
            #expect(found?.port == 4713)
            #expect(found?.attributes == [ServiceAttribute("a", "b")])
            publisher.terminate()
            await party.recorder.loss(of: "duck")
            await party.discovery.stop()
        }
    }
#endif
