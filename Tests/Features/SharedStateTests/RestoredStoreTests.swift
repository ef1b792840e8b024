import MeshIdentity
import MeshRegister
import MeshScenarioTransport
import Testing

@testable import MeshSharedState

/// A store that was restored from an older copy has lost changes of its author.
@MainActor @Suite struct RestoredStoreTests {
    private let world = StateWorld()
    private var phone: Device { world["phone"] }
    private var watch: Device { world["watch"] }

    @Test(arguments: [Duration.zero, .seconds(-3600)])
    func `Changes made before the loss is noticed count, and so do lost changes`(clock: Duration) async throws {
        var here = phone.state(Settings(), merge: .fields)
        let there = watch.state(Settings(), merge: .fields)
        try here.update(Settings(volume: 6))
        #expect(await world.run { here.isSynced && there.value.volume == 6 })
        let copy = try #require(phone.store).copied()
        try here.update(Settings(volume: 7, note: "late"))
        #expect(await world.run { here.isSynced && there.value.volume == 7 })
        // Twice: the store of the second launch contains the changes of the first.
        for change in [Settings(volume: 6, name: "x"), Settings(volume: 6, name: "x", gain: 3)] {
            world.cut("phone", "watch")
            world.network.setClockOffset(clock, of: phone.peer)
            phone.relaunch(losing: change.gain == 3 ? .nothing : .changesSince(copy))
            here = phone.state(Settings(), merge: .fields)
            await world.rest()
            try here.update(change)
            await world.run(for: .seconds(1))
        }
        world.heal()
        #expect(await world.run { here.isSynced && there.isSynced && here.value == there.value })
        #expect(there.value == Settings(volume: 7, name: "x", gain: 3, note: "late"))
    }

    @Test func `Lost values for merging return, and their replacements stay`() async throws {
        let union = SharedStateMerge<Set<Int>>.custom { $0.union($1) }
        var here = phone.state([], id: "set", merge: union)
        let there = watch.state([], id: "set", merge: union)
        try here.update([1])
        #expect(await world.run { here.isSynced && there.value == [1] })
        let copy = try #require(phone.store).copied()
        try here.update([1, 2])
        #expect(await world.run { here.isSynced && there.value == [1, 2] })
        world.cut("phone", "watch")
        phone.relaunch(losing: .changesSince(copy))
        here = phone.state([], id: "set", merge: union)
        await world.rest()
        try here.update([3])
        world.heal()
        #expect(await world.run { here.isSynced && there.isSynced && here.value == there.value })
        #expect(there.value == [1, 2, 3] || there.value == [2, 3, 1])
    }

    @Test func `Launches leave no authors behind once all peers have confirmed`() async throws {
        var here = phone.state(Settings(), merge: .fields)
        let there = watch.state(Settings(), merge: .fields)
        for volume in 1...20 {
            world.cut("phone", "watch")
            phone.relaunch()
            here = phone.state(Settings(), merge: .fields)
            await world.rest()
            try here.update(Settings(volume: volume))
            world.heal()
            #expect(await world.run { here.isSynced && there.value.volume == volume })
        }
        // The author, and the provisional author of the current value.
        for state in [here, there] { #expect(state.replica.register.vector.stamps.count <= 3) }
    }

    @Test func `Launches apart from a peer that doesn't return leave no more authors than there is room for`()
        async throws
    {
        var here = phone.state(Settings(), merge: .fields)
        let there = watch.state(Settings(), merge: .fields)
        try here.update(Settings(volume: 1))
        #expect(await world.run { here.isSynced && there.value.volume == 1 })
        let author = here.replica.author
        world.cut("phone", "watch")
        for volume in 0..<300 {
            phone.relaunch()
            here = phone.state(Settings(), merge: .fields)
            await world.rest()
            try here.update(Settings(volume: volume))
            await world.rest()
        }
        world.heal()
        #expect(await world.run { here.isSynced && there.isSynced && there.value == here.value })
        let authors = there.replica.register.vector.stamps
        #expect(authors.count <= StateLimits.authorsMax + 4 && authors[author] != nil, "\(authors.count)")
    }
}
