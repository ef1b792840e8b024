import Testing

@testable import MeshDiscovery

/// Requirements for every backend of `ServiceDiscovery`, on the real network of this machine.
@Suite struct ServiceDiscoveryTests {
    @Test("an announced service is found as it was written", arguments: DiscoveryPair.all)
    func finding(_ pair: DiscoveryPair) async throws {
        let (announcer, seeker) = try Party.two(pair)
        let attributes = [
            ServiceAttribute("v", "1"), ServiceAttribute("empty", ""), ServiceAttribute("alone", nil),
            ServiceAttribute("bytes", [0, 61, 255]),
        ]
        announcer.announce("Küche. \\ № 1", port: 4711, attributes)
        let service = await seeker.recorder.service("Küche. \\ № 1")
        #expect(service?.port == 4711)
        // Avahi reverses their order.
        #expect(service.map { Set($0.attributes) } == Set(attributes))
        #expect(service?["BYTES"] == [0, 61, 255])
        #expect(service?.addresses.isEmpty == false)
        #expect(service?.addresses.allSatisfy { $0.interfaceIndex > 0 } == true)
        await Party.stop(announcer, seeker)
    }

    @Test("a discovery that starts later finds existing services", arguments: DiscoveryPair.all)
    func lateSeeker(_ pair: DiscoveryPair) async throws {
        let type = ServiceType.unique()
        let (announcer, first) = try (Party(pair.announcer, type), Party(pair.seeker, type))
        announcer.announce("early", port: 1)
        await first.recorder.service("early")
        let late = try Party(pair.seeker, type)
        #expect(await late.recorder.service("early")?.port == 1)
        await Party.stop(announcer, first, late)
    }

    @Test("two discoveries find each other, and neither finds itself", arguments: DiscoveryPair.all)
    func mutual(_ pair: DiscoveryPair) async throws {
        let (a, b) = try Party.two(pair)
        a.announce("a", port: 1)
        b.announce("b", port: 2)
        #expect(await a.recorder.service("b")?.port == 2)
        #expect(await b.recorder.service("a")?.port == 1)
        #expect(!a.recorder.services.keys.contains("a"))
        #expect(!b.recorder.services.keys.contains("b"))
        await Party.stop(a, b)
    }

    @Test("changed attributes are found under the same name", arguments: DiscoveryPair.all)
    func changedAttributes(_ pair: DiscoveryPair) async throws {
        let (announcer, seeker) = try Party.two(pair)
        announcer.announce("phone", port: 1, [ServiceAttribute("n", "1")])
        await seeker.recorder.service("phone") { $0["n"] == Array("1".utf8) }
        announcer.announce("phone", port: 1, [ServiceAttribute("n", "2")])
        await seeker.recorder.service("phone") { $0["n"] == Array("2".utf8) }
        await Party.stop(announcer, seeker)
    }

    @Test("a changed port is found under the same name", arguments: DiscoveryPair.all)
    func changedPort(_ pair: DiscoveryPair) async throws {
        let (announcer, seeker) = try Party.two(pair)
        announcer.announce("phone", port: 1)
        await seeker.recorder.service("phone") { $0.port == 1 }
        announcer.announce("phone", port: 2)
        await seeker.recorder.service("phone") { $0.port == 2 }
        await Party.stop(announcer, seeker)
    }

    @Test("a withdrawn service is lost, and its replacement is found", arguments: DiscoveryPair.all)
    func takenBack(_ pair: DiscoveryPair) async throws {
        let (announcer, seeker) = try Party.two(pair)
        announcer.announce("one", port: 1)
        await seeker.recorder.service("one")
        announcer.announce("two", port: 1)
        await seeker.recorder.service("two")
        await seeker.recorder.loss(of: "one")
        announcer.discovery.announce(nil)
        await seeker.recorder.loss(of: "two")
        await Party.stop(announcer, seeker)
    }

    @Test("a discovery that stops says goodbye, and can be found again", arguments: DiscoveryPair.all)
    func restart(_ pair: DiscoveryPair) async throws {
        let type = ServiceType.unique()
        let seeker = try Party(pair.seeker, type)
        for port in 1...3 as ClosedRange<UInt16> {
            let announcer = try Party(pair.announcer, type)
            announcer.announce("phone", port: port)
            #expect(await seeker.recorder.service("phone")?.port == port)
            await announcer.discovery.stop()
            await seeker.recorder.loss(of: "phone")
        }
        await Party.stop(seeker)
    }

    @Test("one of two services with one name is renamed, and both are found", arguments: DiscoveryPair.all)
    func conflict(_ pair: DiscoveryPair) async throws {
        let type = ServiceType.unique()
        let (first, second, seeker) = try (
            Party(pair.announcer, type), Party(pair.seeker, type), Party(pair.seeker, type)
        )
        first.announce("phone", port: 1)
        await seeker.recorder.service("phone")
        second.announce("phone", port: 2)
        await seeker.recorder.untilServices { $0.values.map(\.port).sorted() == [1, 2] }
        await first.recorder.untilServices { $0.values.map(\.port) == [2] }
        await second.recorder.untilServices { $0.values.map(\.port) == [1] }
        let names = [first, second].map { $0.recorder.lastName ?? "phone" }
        #expect(names.count { $0 == "phone" } == 1)
        #expect(seeker.recorder.services.mapValues(\.port) == [names[0]: 1, names[1]: 2])
        if pair.isOneRespondersOwn || pair.announcer.isOurs {
            // The later announcer is renamed.
            #expect(names[0] == "phone")
            #expect(second.discovery.statistics.conflicts == 1)
        } else {
            // A busy daemon may defend its name too late, and give it up.
            #expect([first, second].contains { $0.discovery.statistics.conflicts > 0 })
        }
        await Party.stop(first, second, seeker)
    }

    @Test("starting works once, stopping any number of times", arguments: DiscoveryBackend.all)
    func lifecycle(_ backend: DiscoveryBackend) async throws {
        let party = try Party(backend, .unique())
        #expect(throws: DiscoveryError.self) { try party.discovery.start(party.recorder) }
        await party.discovery.stop()
        await party.discovery.stop()
        #expect(throws: DiscoveryError.self) { try party.discovery.start(party.recorder) }
        let unused = backend.make(.unique())
        await unused.stop()
    }

    @Test("a released object withdraws its announcement", arguments: DiscoveryPair.all)
    func letGo(_ pair: DiscoveryPair) async throws {
        let type = ServiceType.unique()
        let seeker = try Party(pair.seeker, type)
        var announcer: Party? = try Party(pair.announcer, type)
        announcer?.announce("brief", port: 1)
        await seeker.recorder.service("brief")
        announcer = nil
        await seeker.recorder.loss(of: "brief")
        await Party.stop(seeker)
    }
}

/// A running discovery and its events.
struct Party {
    let discovery: any ServiceDiscovery
    let recorder = DiscoveryRecorder()

    init(_ backend: DiscoveryBackend, _ type: ServiceType) throws {
        discovery = backend.make(type)
        try discovery.start(recorder)
    }

    static func two(_ pair: DiscoveryPair) throws -> (Party, Party) {
        let type = ServiceType.unique()
        return try (Party(pair.announcer, type), Party(pair.seeker, type))
    }

    func announce(_ instance: String, port: UInt16, _ attributes: [ServiceAttribute] = []) {
        discovery.announce(ServiceAnnouncement(instance: instance, port: port, attributes: attributes))
    }

    static func stop(_ parties: Party...) async {
        for party in parties { await party.discovery.stop() }
    }
}
