import Foundation
import MeshBase
import MeshIdentity
import MeshRequests
import MeshTransport
import Testing

@testable import SessionMeshWatchConnectivity

/// Requests in the mesh's frames that are kept for a counterpart that didn't understand them.
@MainActor
@Suite("A kept request goes to an old app only while its caller waits")
struct KeptRequestTests {
    /// A phone that has met an updated watch, and relaunches while the watch's app isn't running.
    private func phone(in fleet: Fleet) async throws -> WatchConnection {
        try fleet.launchNew(.phone)
        try fleet.launchNew(.watch)
        await fleet.run { fleet.connections[.phone]?.requests.isReachable() == true }
        await fleet.run(for: .seconds(20))
        fleet.kill(.watch)
        try fleet.launchNew(.phone)
        await fleet.run(for: .seconds(2))
        return try #require(fleet.connections[.phone])
    }

    private func rollBack(_ fleet: Fleet) async throws -> OldApp {
        try fleet.launchOld(.watch)
        let old = try #require(fleet.old[.watch])
        old.answers.withLock { $0 = ["Add": "5", "Note": "{}"] }
        await fleet.run { fleet.connections[.phone]?.counterpartIsOld == true }
        await fleet.run(for: .seconds(30))
        return old
    }

    @Test(arguments: [DeliveryStrategy.messageOnly, .messageWithUserInfoFallback, .userInfoOnly])
    func `a request that timed out doesn't run an hour later`(strategy: DeliveryStrategy) async throws {
        let fleet = Fleet(remembers: true)
        let phone = try await phone(in: fleet)
        let error = await fleet.failure { try await phone.send(Add(left: 2, right: 3), strategy: strategy) }
        #expect(error == .timeout)
        fleet.pair.advance(by: .seconds(3600))
        #expect(try await rollBack(fleet).seen.requests == [])
    }

    @Test func `a request that timed out doesn't run a second later either, nor does a cancelled one`()
        async throws
    {
        let fleet = Fleet(remembers: true)
        let phone = try await phone(in: fleet)
        let cancelled = Task { try await phone.send(Add(left: 2, right: 3), strategy: .messageOnly) }
        await fleet.run(for: .seconds(8))
        cancelled.cancel()
        #expect(try await rollBack(fleet).seen.requests == [])
    }

    @Test func `a request still wanted runs once`() async throws {
        let fleet = Fleet(remembers: true)
        let phone = try await phone(in: fleet)
        for line in 1...3 {
            try await fleet.finish { await phone.send(Note(line: line), strategy: .userInfoOnly) }
        }
        let sum = Task { try await phone.send(Add(left: 2, right: 3), strategy: .messageOnly) }
        await fleet.run(for: .seconds(3))
        let old = try await rollBack(fleet)
        #expect(try await fleet.finish { try await sum.value } == 5)
        #expect(old.seen.requests.filter { $0 == "Note" }.count == 3)
        #expect(old.seen.requests.filter { $0 == "Add" }.count == 1)
    }
}
