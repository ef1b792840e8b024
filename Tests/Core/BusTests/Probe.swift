import MeshBus

/// What happened to the plugins of one bus, in order.
final class Journal: Sendable {
    private let lines = Locked<[String]>([])

    func write(_ line: String) { lines.withLock { $0.append(line) } }
    var entries: [String] { lines.withLock { $0 } }
}

struct Mishap: Error, Equatable {}

/// A plugin that writes down what is done to it and fails where it is told to.
struct Probe: Plugin {
    enum Step { case contribute, start, run }

    let id: PluginID
    var requires: [PluginID] = []
    var limits: [PayloadLimit] = []
    var journal = Journal()
    var failing: Step?
    var runsUntilCancelled = false
    var module = "Tests"

    static let words = ExtensionPoint<String>("tests.words")

    var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: id, kind: .testing, module: module, version: "1.0.0", summary: "a probe", requires: requires,
            limits: limits)
    }

    func contribute(to registry: inout ExtensionRegistry) throws {
        if failing == .contribute { throw Mishap() }
        registry.add("from \(id)", to: Self.words)
    }

    func start(in context: PluginContext) async throws {
        journal.write("start \(id)")
        if failing == .start { throw Mishap() }
    }

    func run(in context: PluginContext) async throws {
        if failing == .run { throw Mishap() }
        guard runsUntilCancelled else { return }
        for await _ in context.topic(Self.silence).subscribe() {}
        journal.write("ended \(id)")
    }

    func stop() async { journal.write("stop \(id)") }

    /// Nobody publishes here: waiting for it lasts until cancelled.
    static let silence = TopicKey<Int>("tests.silence")
}
