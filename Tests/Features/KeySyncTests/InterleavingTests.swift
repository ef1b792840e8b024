import MeshKeySync
import Testing

@testable import MeshBrokenRules

/// Explores all orders of the handshake's steps up to a depth: meetings, deliveries, losses and relaunches.
struct KeyExplorer {
    enum Step: Hashable {
        case meet(String)
        case deliver(Int)
        case lose(Int)
        case relaunch(String)
    }

    let depth: Int
    var visited: [KeyWorld: Int] = [:]
    var stateCount = 0
    var failure: [Step]?

    mutating func explore(_ world: KeyWorld, _ path: [Step] = []) {
        guard failure == nil, visited[world].map({ $0 < depth - path.count }) ?? true else { return }
        visited[world] = depth - path.count
        stateCount += 1
        if !ends(world) { failure = path }
        guard path.count < depth else { return }
        for step in Self.steps(in: world) {
            var next = world
            Self.take(step, in: &next)
            explore(next, path + [step])
        }
    }

    static func steps(in world: KeyWorld) -> [Step] {
        ["phone", "watch"].flatMap { [Step.meet($0), .relaunch($0)] }
            + world.packets.indices.prefix(2).flatMap { [Step.deliver($0), .lose($0)] }
    }

    static func take(_ step: Step, in world: inout KeyWorld) {
        switch step {
        case .meet(let id): world.meet(id)
        case .deliver(let index): world.deliver(index)
        case .lose(let index): world.packets.remove(at: index)
        case .relaunch(let id): world.launch(id)
        }
    }

    /// True if both devices get the newest values once the watch is in reach and time passes.
    private func ends(_ world: KeyWorld) -> Bool {
        var world = world
        world.meet("watch")
        world.settle(rounds: 3)
        return ["phone", "watch"].allSatisfy { world.text($0, "a") == "new" && world.text($0, "b") == "watch's" }
    }

    static func start() -> KeyWorld {
        var world = KeyWorld()
        world.set("watch", "a", "old")
        world.set("phone", "a", "new")
        world.set("watch", "b", "watch's")
        return world
    }
}

@Suite("Every order of the handshake")
struct InterleavingTests {
    @Test("Every order of five steps ends with the newest value on both")
    func allEnd() {
        var explorer = KeyExplorer(depth: 5)
        explorer.explore(KeyExplorer.start())
        print("key sync: \(explorer.stateCount) different states after up to \(explorer.depth) steps")
        #expect(explorer.failure == nil)
        #expect(explorer.stateCount > 500)
    }

    @Test(
        "A fault planted in a step is found",
        .breaksRules,
        arguments: [KeyMutation.onlyAppAsks, .noAnswer, .noWants, .noRetry, .oneWay])
    func faultIsFound(_ mutation: KeyMutation) {
        var explorer = KeyExplorer(depth: 4)
        breaking(mutation) { explorer.explore(KeyExplorer.start()) }
        #expect(explorer.failure != nil, "\(explorer.stateCount) states")
    }
}
