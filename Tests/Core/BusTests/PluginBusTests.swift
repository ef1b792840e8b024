import MeshBus
import Testing

@Suite struct PluginBusTests {
    @Test func `Contributions come in dependency order with their plugin`() throws {
        let bus = try PluginBus {
            Probe(id: "late", requires: ["early"])
            Probe(id: "early")
        }
        let contributions = bus.contributions(to: Probe.words)
        #expect(contributions.map(\.plugin) == ["early", "late"])
        #expect(contributions.map(\.value) == ["from early", "from late"])
    }

    @Test func `A point of the same id and another type is empty`() throws {
        let bus = try PluginBus { Probe(id: "a") }
        #expect(bus.contributions(to: ExtensionPoint<Int>("tests.words")).isEmpty)
        #expect(bus.contributions(to: ExtensionPoint<String>("tests.other")).isEmpty)
    }

    @Test func `A contribution that fails names the plugin and keeps the cause`() {
        let error = #expect(throws: PluginError.self) {
            try PluginBus { Probe(id: "a", failing: .contribute) }
        }
        #expect(error?.code == .contributionFailed)
        #expect(error?.plugin == "a")
        #expect(error?.cause is Mishap)
    }

    @Test func `Plugins start in order, end with the body and stop in reverse`() async throws {
        let journal = Journal()
        let bus = try PluginBus {
            Probe(id: "c", requires: ["b"], journal: journal, runsUntilCancelled: true)
            Probe(id: "b", requires: ["a"], journal: journal)
            Probe(id: "a", journal: journal)
        }
        let result = try await bus.run { _ in
            journal.write("body")
            return 42
        }
        #expect(result == 42)
        #expect(
            journal.entries == [
                "start a", "start b", "start c", "body", "ended c", "stop c", "stop b", "stop a",
            ])
    }

    @Test("A plugin that fails to start is named, and only those before it are stopped", arguments: 0..<4)
    func startFails(failing: Int) async throws {
        let journal = Journal()
        let bus = try PluginBus(
            plugins: (0..<4).map {
                Probe(id: PluginID("p\($0)"), journal: journal, failing: $0 == failing ? .start : nil)
            })
        let error = await #expect(throws: PluginError.self) {
            try await bus.run { _ in journal.write("body") }
        }
        #expect(error?.code == .startFailed)
        #expect(error?.plugin == PluginID("p\(failing)"))
        let started = (0...failing).map { "start p\($0)" }
        let stopped = (0..<failing).reversed().map { "stop p\($0)" }
        #expect(journal.entries == started + stopped)
    }

    @Test func `A plugin that fails while running ends the body and is named`() async throws {
        let journal = Journal()
        let bus = try PluginBus {
            Probe(id: "sound", journal: journal, runsUntilCancelled: true)
            Probe(id: "broken", journal: journal, failing: .run)
        }
        let error = await #expect(throws: PluginError.self) {
            try await bus.run { bus in
                for await _ in bus.topic(Probe.silence).subscribe() {}
                journal.write("body ended")
            }
        }
        #expect(error?.code == .runFailed)
        #expect(error?.plugin == "broken")
        #expect(error?.cause is Mishap)
        #expect(journal.entries.suffix(2) == ["stop broken", "stop sound"])
        #expect(journal.entries.contains("body ended"))
        #expect(journal.entries.contains("ended sound"))
    }

    @Test func `What the body throws comes out unchanged, after everything has stopped`() async throws {
        let journal = Journal()
        let bus = try PluginBus { Probe(id: "a", journal: journal, runsUntilCancelled: true) }
        await #expect(throws: Mishap()) { try await bus.run { _ in throw Mishap() } }
        #expect(journal.entries == ["start a", "ended a", "stop a"])
    }

    @Test func `A cancelled run stops its plugins and returns`() async throws {
        let journal = Journal()
        let bus = try PluginBus { Probe(id: "a", journal: journal, runsUntilCancelled: true) }
        let running = Task { try await bus.run() }
        while journal.entries.isEmpty { await Task.yield() }
        running.cancel()
        try await running.value
        #expect(journal.entries == ["start a", "ended a", "stop a"])
    }

    @Test func `A bus runs once at a time and may run again`() async throws {
        let bus = try PluginBus { Probe(id: "a") }
        let error = await #expect(throws: PluginError.self) {
            try await bus.run { bus in try await bus.run { _ in } }
        }
        #expect(error?.code == .alreadyRunning)
        #expect(error?.plugin == nil)
        #expect(try await bus.run { _ in "again" } == "again")
    }

    @Test func `An optional result of nil ends the run like any other`() async throws {
        let bus = try PluginBus { Probe(id: "a", runsUntilCancelled: true) }
        let result: Int? = try await bus.run { _ in Int?.none }
        #expect(result == nil)
    }

    @Test func `Plugins that share a key share the topic`() async throws {
        let bus = try PluginBus { Probe(id: "a") }
        let key = TopicKey<String>("tests.topic", bufferLimit: 3, overflow: .dropNewest, replaysLatest: true)
        let topic = bus.topic(key)
        #expect(bus.topic(key) === topic)
        #expect(topic.bufferLimit == 3)
        #expect(topic.replaysLatest)
        topic.publish("hello")
        #expect(await bus.topic(key).subscribe().first { _ in true } == "hello")
    }
}
