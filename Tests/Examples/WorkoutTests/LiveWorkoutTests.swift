import Foundation
import SessionMesh
import Testing
import WorkoutExample

@MainActor @Suite("A workout that several devices share live")
struct LiveWorkoutTests {
    @Test("one starts, the other joins, and each sees what the other taps", arguments: 0..<4 as Range<UInt64>)
    func two(seed: UInt64) async throws {
        let world = LiveWorld(seed: seed, names: ["phone", "watch"])
        await world.start()
        let (phone, watch) = (world.devices[0], world.devices[1])
        try await phone.tap(.start)
        await world.settle { watch.state.phase == .running }
        try await watch.tap(.pause)
        await world.settle { phone.state.phase == .paused }
        try await phone.tap(.resume)
        await world.settle { watch.state.phase == .running }
        try await watch.tap(.lap)
        try await phone.tap(.finish)
        await world.settle { world.agree && watch.state.phase == .finished }
        #expect(phone.part == .member && watch.part == .member, "seed \(seed)")
        #expect(phone.companions.map(\.name) == ["watch"])
    }

    @Test("five that each tap end with one state", arguments: 0..<4 as Range<UInt64>)
    func five(seed: UInt64) async throws {
        let world = LiveWorld(seed: seed, names: LiveWorld.five, conditions: .rough)
        await world.start()
        try await world.devices[3].tap(.start)
        await world.settle { world.devices.allSatisfy { $0.state.phase == .running } }
        for (index, device) in world.devices.enumerated() {
            // All at once, so that only some of the taps have an effect in the end.
            try await device.tap(index.isMultiple(of: 2) ? .pause : .lap)
        }
        await world.settle { world.agree && world.devices.allSatisfy { $0.session?.confirmedCount == 6 } }
        #expect(world.devices.allSatisfy { $0.state.phase == .paused }, "seed \(seed)")
    }

    @Test("devices that start at the same moment end in one workout", arguments: 0..<8 as Range<UInt64>)
    func together(seed: UInt64) async throws {
        let names = seed.isMultiple(of: 2) ? ["phone", "watch"] : LiveWorld.five
        let world = LiveWorld(seed: seed, names: names, conditions: .rough)
        await world.start()
        for device in world.devices { try await device.tap(.start) }
        await world.settle { world.isOne && world.devices.allSatisfy { $0.state.phase == .running } }
        try await world.devices[1].tap(.finish)
        await world.settle { world.agree && world.devices[0].state.phase == .finished }
    }

    @Test("of two workouts begun out of reach the earlier goes on, in whatever order they are heard of")
    func partition() async throws {
        for first in 0...1 {
            let world = LiveWorld(seed: UInt64(first), names: ["phone", "watch"])
            world.network.partition([world.peers[0]], [world.peers[1]])
            await world.start(connects: false)
            try await world.devices[first].tap(.start)
            await world.run(.seconds(60))
            try await world.devices[1 - first].tap(.start)
            await world.run(.seconds(5))
            let earlier = try #require(world.devices[first].session?.sessionID)
            #expect(world.devices[1 - first].session?.sessionID != earlier)
            world.network.heal()
            await world.settle { world.agree && world.devices.allSatisfy { $0.session?.isMember == true } }
            #expect(world.devices.allSatisfy { $0.session?.sessionID == earlier })
            #expect(world.devices[1 - first].elapsed > 60)
        }
    }

    @Test(
        "an opener that was alone takes in the first that comes; the next one watches, and takes part in the next workout"
    )
    func alone() async throws {
        let world = LiveWorld(seed: 1, names: ["phone", "tablet", "watch"])
        let phone = await world.start(0)
        try await phone.tap(.start)
        await world.run(.seconds(3))
        let watch = await world.start(2)
        await world.settle { phone.session?.isMember == true && watch.session?.isMember == true }
        let tablet = await world.start(1)
        await world.settle { tablet.state.phase == .running }
        #expect(tablet.part == .spectator)
        await #expect(throws: LiveWorkoutError.spectates) { try await tablet.tap(.pause) }
        try await watch.tap(.pause)
        await world.settle { world.agree && tablet.state.phase == .paused }
        try await watch.tap(.finish)
        await world.settle { world.agree && tablet.state.phase == .finished }
        try await tablet.tap(.start)
        await world.settle { world.isOne && world.devices.allSatisfy { $0.state.phase == .running } }
        #expect(world.devices.allSatisfy { $0.part == .member })
    }

    @Test("a spectator shows what members show, and nobody else")
    func stranger() async throws {
        let world = LiveWorld(seed: 1, names: ["phone", "tablet", "watch"])
        let phone = await world.start(0)
        try await phone.tap(.start)
        await world.run(.seconds(3))
        let watch = await world.start(2)
        await world.settle { phone.session?.isMember == true && watch.session?.isMember == true }
        let tablet = await world.start(1)
        await world.settle { tablet.state.phase == .running }
        let stranger = SessionPeer(
            id: "stranger", deviceClass: .unknown, appInstanceID: "1", topology: .localNetwork)
        let transport = world.network.makeTransport(localPeer: stranger)
        await world.run(.seconds(3))
        var lie = WorkoutState()
        lie.eventCount = 1_000_000
        let metadata = SessionSyncMetadata(
            sessionID: try #require(phone.session?.sessionID), featureID: WorkoutSession.workoutFeatureID,
            sourcePeerID: stranger.id, sequence: 1, causalTimestamp: Date(), payloadType: "workout.state")
        let snapshot = try AnySessionSyncSnapshot(
            SessionSyncSnapshot(metadata: metadata, revision: 1, state: lie, peerSequenceVector: [:]))
        try await transport.sendSnapshot(snapshot, mode: .latestSnapshot, to: nil)
        await world.run(.seconds(3))
        #expect(tablet.state.eventCount < 10 && tablet.state.phase == .running)
        try await watch.tap(.pause)
        await world.settle { tablet.state.phase == .paused }
    }

    @Test("what changes nothing is refused here, and says why")
    func pointless() async throws {
        let world = LiveWorld(seed: 1, names: ["phone"])
        await world.start()
        let phone = world.devices[0]
        await #expect(throws: LiveWorkoutError.notBegun) { try await phone.tap(.lap) }
        try await phone.tap(.start)
        await #expect(throws: LiveWorkoutError.pointless(.start, .running)) { try await phone.tap(.start) }
        await #expect(throws: LiveWorkoutError.pointless(.resume, .running)) { try await phone.tap(.resume) }
        #expect(phone.state.eventCount == 1)
    }

    @Test("a relaunch without a store brings the device back into the workout")
    func relaunch() async throws {
        let world = LiveWorld(seed: 2, names: ["phone", "watch"])
        await world.start()
        try await world.devices[0].tap(.start)
        await world.settle { world.agree && world.devices[1].session?.isMember == true }
        await world.relaunch(0)
        await world.settle { world.agree && world.devices[0].session?.isMember == true }
        try await world.devices[0].tap(.lap)
        await world.settle { world.agree && world.devices[1].state.laps.count == 1 }
    }

    @Test("one of five that comes back without its store takes part again, with what it taps meanwhile")
    func relaunchAmongFive() async throws {
        let world = LiveWorld(seed: 3, names: LiveWorld.five)
        await world.start()
        try await world.devices[0].tap(.start)
        await world.settle { world.isOne }
        await world.relaunch(1)
        await world.settle { world.agree && world.devices[1].state.phase == .running }
        try await world.devices[1].tap(.pause)
        await world.settle { world.agree && world.devices.allSatisfy { $0.state.phase == .paused } }
        await world.settle {
            world.devices.allSatisfy {
                $0.part == .member && $0.session?.memberIDs.count == 5 && $0.session?.viewNumber == 1
            }
        }
    }

    @Test("of two, one goes on when its person says so, and the other comes back")
    func removeAbsentMembers() async throws {
        let world = LiveWorld(seed: 4, names: ["phone", "watch"])
        await world.start()
        let phone = world.devices[0]
        try await phone.tap(.start)
        await world.settle { world.agree && phone.session?.confirmedCount == 1 }
        #expect(throws: LiveWorkoutError.noMemberIsAway) { try phone.removeAbsentMembers() }
        world.network.partition([world.peers[0]], [world.peers[1]])
        await world.settle { phone.session?.reachablePeerIDs.isEmpty == true }
        try await phone.tap(.pause)
        try phone.removeAbsentMembers()
        await world.settle { phone.session?.confirmedCount == 2 }
        #expect(phone.session?.memberIDs == ["phone"])
        world.network.heal()
        await world.settle { world.agree && world.devices.allSatisfy { $0.session?.memberIDs.count == 2 } }
    }

    @Test("invitations have one order, and what makes no sense is not followed")
    func order() throws {
        let source = SessionSource(peerID: "phone", incarnation: 1)
        func invitation(_ number: UInt32, _ second: Double, _ members: [SessionSource]) -> SessionInvitation {
            SessionInvitation(
                sessionID: UUID(), number: number, openedAt: Date(timeIntervalSince1970: second), members: members)
        }
        #expect(invitation(1, 5, [source]) < invitation(2, 9, [source]), "a later workout")
        #expect(invitation(1, 9, [source]) < invitation(1, 5, [source]), "the one that was opened earlier")
        let (one, other) = (invitation(1, 5, [source]), invitation(1, 5, [source]))
        #expect((one < other) != (other < one))
    }
}

/// Devices on a network in virtual time, and their sleeping tasks.
@MainActor final class LiveWorld {
    static let five = ["desktop", "phone", "server", "tablet", "watch"]

    let network: ScenarioNetwork
    let peers: [SessionPeer]
    private(set) var devices: [LiveWorkout] = []
    private var sleepers: [(id: Int, due: Duration, wake: CheckedContinuation<Void, Never>)] = []
    private var nextID = 0

    init(seed: UInt64, names: [String], conditions: ScenarioConditions = .calm) {
        network = ScenarioNetwork(seed: seed, conditions: conditions)
        peers = names.map {
            SessionPeer(id: $0, deviceClass: .unknown, appInstanceID: "\($0).1", topology: .localNetwork)
        }
    }

    /// Starts all devices, and waits until they know each other.
    func start(connects: Bool = true) async {
        for index in peers.indices { devices.append(device(index, incarnation: UInt32(index + 1))) }
        for device in devices { await device.start() }
        if connects { await settle { self.isConnected } }
    }

    func start(_ index: Int) async -> LiveWorkout {
        let device = device(index, incarnation: UInt32(index + 1))
        devices.append(device)
        await device.start()
        await run(.seconds(3))
        return device
    }

    /// Ends a device without a goodbye and relaunches it without its state.
    func relaunch(_ index: Int) async {
        let gone = devices[index]
        devices[index] = device(index, incarnation: UInt32(100 + index))
        Task { await gone.stop() }
        await devices[index].start()
        await run(.seconds(3))
    }

    /// True if all devices with a workout show the same.
    var agree: Bool { Set(devices.filter { $0.invitation != nil }.map(\.state.digest)).count == 1 }

    /// True if every device can reach every other.
    var isConnected: Bool {
        devices.allSatisfy { $0.companions.count(where: \.isReachable) == peers.count - 1 }
    }

    /// True if all take part in the same workout.
    var isOne: Bool {
        agree && devices.allSatisfy { $0.session != nil } && Set(devices.map { $0.session?.sessionID }).count == 1
    }

    func run(_ duration: Duration) async {
        let end = network.elapsed + duration
        while network.elapsed < end { await step() }
    }

    func settle(sourceLocation: SourceLocation = #_sourceLocation, until condition: () -> Bool) async {
        let end = network.elapsed + .seconds(120)
        while !condition() {
            guard network.elapsed < end else {
                let places = devices.map {
                    "\($0.name) \($0.part) \($0.state.phase) \($0.state.eventCount) \($0.session?.confirmedCount ?? 0)"
                        + " reaches \($0.companions.filter(\.isReachable).map(\.name))"
                }
                Issue.record("nothing settled; seed \(network.seed): \(places)", sourceLocation: sourceLocation)
                return
            }
            await step()
        }
    }

    private func device(_ index: Int, incarnation: UInt32) -> LiveWorkout {
        let transport = network.makeTransport(localPeer: peers[index])
        return LiveWorkout(name: peers[index].id, transport: transport) { [network, weak self] configuration in
            configuration.incarnation = incarnation
            configuration.now = { network.now }
            configuration.uptime = { network.elapsed }
            configuration.wait = { [weak self] in try await self?.sleep($0) }
        }
    }

    private func sleep(_ duration: Duration) async throws {
        nextID += 1
        let id = nextID
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if Task.isCancelled { return continuation.resume() }
                sleepers.append((id, network.elapsed + duration, continuation))
            }
        } onCancel: {
            Task { @MainActor in self.wake { $0 == id } }
        }
        try Task.checkCancellation()
    }

    private func wake(_ isMeant: (Int) -> Bool) {
        let woken = sleepers.filter { isMeant($0.id) }
        sleepers.removeAll { isMeant($0.id) }
        for sleeper in woken.sorted(by: { ($0.due, $0.id) < ($1.due, $1.id) }) { sleeper.wake.resume() }
    }

    private func step() async {
        network.advance(by: .milliseconds(10))
        let due = Set(sleepers.filter { $0.due <= network.elapsed }.map(\.id))
        if !due.isEmpty { wake { due.contains($0) } }
        for _ in 0..<12 { await Task.yield() }
    }
}
