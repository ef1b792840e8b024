import Foundation
import MeshBase
import MeshDelivery
import MeshIdentity
import MeshSimulatedWatch
import MeshTransport
import MeshWatchConnectivityTransport
import Testing

/// The complete transport, on both devices.
@Suite struct TransportTests {
    @Test(arguments: [SessionDeliveryMode.realtimeBestEffort, .reliableEventually])
    func `Each side receives messages from the other`(mode: SessionDeliveryMode) async throws {
        let world = try World.running()
        let (phone, watch) = (try world[.phone], try world[.watch])
        #expect(phone.knownPeers == [World.peer(.watch)])
        #expect(watch.knownPeers == [World.peer(.phone)])
        let (atPhone, atWatch) = (Log(phone.receiveEnvelopes()), Log(watch.receiveEnvelopes()))
        for sequence in 1...3 as ClosedRange<UInt64> {
            try await phone.send(envelope(sequence, from: .phone), mode: mode, to: nil)
            try await watch.send(envelope(sequence, from: .watch), mode: mode, to: nil)
        }
        world.pair.advance(by: .seconds(1))
        #expect(await atWatch.sequences(3) == [1, 2, 3])
        #expect(await atPhone.sequences(3) == [1, 2, 3])
        #expect(world.pair.statistics.userInfosDelivered == 2, "the two greetings")
    }

    @Test(arguments: [SessionDeliveryMode.realtimeBestEffort, .reliableEventually])
    func `A message to an app that isn't running goes as user info`(mode: SessionDeliveryMode) async throws {
        let world = try World.running()
        let phone = try world[.phone]
        world.kill(.watch)
        world.pair.advance(by: .seconds(5))
        for sequence in 1...3 as ClosedRange<UInt64> {
            try await phone.send(envelope(sequence, from: .phone), mode: mode, to: nil)
        }
        world.pair.advance(by: .seconds(5))
        world.kill(.phone)
        world.pair.advance(by: .seconds(5))
        let atWatch = Log(try world.launch(.watch).receiveEnvelopes())
        world.pair.advance(by: .seconds(5))
        #expect(await atWatch.sequences(3) == [1, 2, 3])
    }

    @Test func `A missing watch and a missing watch app are problems of the phone until the watch can be reached`()
        async throws
    {
        let world = World()
        world.device(.watch).isPaired = false
        let phone = try world.launch(.phone)
        world.pair.advance(by: .seconds(2))
        #expect(phone.problems.map(\.code) == [.notPaired])
        world.device(.watch).uninstall()
        world.device(.watch).isPaired = true
        world.pair.advance(by: .seconds(2))
        #expect(phone.problems.map(\.code) == [.appNotInstalled])
        world.device(.watch).install()
        let watch = try world.launch(.watch)
        world.pair.advance(by: .seconds(5))
        #expect(phone.problems.isEmpty)
        #expect(watch.problems.isEmpty, "a watch has no such problem")
        withExtendedLifetime(phone) {}
    }

    @Test func `The newest snapshot survives a relaunch in the application context`() async throws {
        let world = try World.running()
        for revision in 1...3 as ClosedRange<UInt64> {
            try await world[.phone].sendSnapshot(snapshot(revision, from: .phone), mode: .latestSnapshot, to: nil)
        }
        world.pair.advance(by: .seconds(2))
        world.kill(.phone)
        world.kill(.watch)
        let watch = try world.launch(.watch)
        world.pair.advance(by: .seconds(1))
        #expect(watch.latestPeerSnapshot(featureID: "workout")?.revision == 3)
        #expect(watch.knownPeers == [World.peer(.phone)], "the greeting is in the context too")
    }
}
