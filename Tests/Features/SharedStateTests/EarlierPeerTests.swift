import Foundation
import MeshConnection
import MeshIdentity
import MeshRegister
import MeshTransport
import MeshWire
import Testing

@testable import MeshSharedState

/// Peers with an earlier version of SessionMesh, which doesn't support NaN and infinity as values.
@MainActor @Suite struct EarlierPeerTests {
    /// A message that the earlier version wrote.
    private static let golden = #"""
        {"a":["old#1"],"h":[1048576],"i":[{"a":0,"n":"name","s":1048576,"v":"Im9sZCI="}],"k":"fields","l":7,"q":true}
        """#

    private func earlier(_ json: String = golden) throws -> StateMessage {
        try JSONDecoder().decode(StateMessage.self, from: Data(json.utf8))
    }

    @Test func `A message of the earlier version is read, and acknowledges nothing`() throws {
        let message = try earlier()
        #expect(message.heard == nil && message.asks && message.items.map(\.name) == ["name"])
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        #expect(String(decoding: try encoder.encode(message), as: UTF8.self) == Self.golden)
    }

    @Test func `The earlier version skips unknown parts of a message`() throws {
        // The required part of the message's form.
        struct Form: Codable, Equatable {
            var k: String
            var l: UInt32
            var q: Bool?
            var a: [String]
            var h: [UInt64]
        }
        var message = try earlier()
        let before = try JSONDecoder().decode(Form.self, from: Data(Self.golden.utf8))
        message.heard = 5
        for codec in [JSONCodec(), CompactCodec()] as [any PayloadCodec] {
            let bytes = try codec.encode(message)
            #expect(try bytes.withUnsafeBytes { try codec.decode(Form.self, from: $0) } == before)
        }
    }

    @Test(arguments: [SharedStateMerge<Settings>.whole, .fields])
    func `An older peer isn't sent values it can't read, and is sent them once it can`(
        merge: SharedStateMerge<Settings>
    ) async throws {
        let world = StateWorld(["phone", "watch", "old"])
        let states = ["phone", "watch"].map { world[$0].state(Settings(), merge: merge) }
        let transport = world["old"].connection.transport
        let old = StateLiar(transport: transport)
        let heard = Heard(transport)
        try states[0].update(Settings(gain: .nan))
        await world.run(for: .seconds(5))
        #expect(states[1].value.gain.isNaN, "a peer of this version gets it")
        #expect(
            heard.messages.contains { $0.asks } && !heard.hasState, "it is asked which values it can read")
        let item = StateMessage.Item(
            merge.kind == .fields ? "name" : "", 1 << 20, "old#1",
            merge.kind == .fields ? #""old""# : #"{"gain":1,"name":"old","volume":5}"#)
        try await old.say(
            StateMessage(kind: merge.kind, incarnation: 7, has: StateVector(["old#1": 1 << 20]), items: [item]))
        await world.run(for: .seconds(20))
        #expect(!heard.hasState, "it reported that it is an earlier version")
        #expect(states[0].lastSyncError is ConnectionError && states[0].pendingPeerIDs == ["old"])
        let count = heard.messages.count
        await world.run(for: .seconds(600))
        #expect(heard.messages.count == count, "values that it can't read aren't repeated")
        try states[0].update(Settings(name: "new", gain: 2))
        await world.run(for: .seconds(5))
        #expect(heard.hasState)
        #expect(states[0].lastSyncError == nil)
    }

    @Test func `An updated peer is sent the values it couldn't read before`() async throws {
        let world = StateWorld(["phone", "watch"])
        let phone = world["phone"].state(Settings(), merge: .fields)
        let old = StateLiar(transport: world["watch"].connection.transport)
        try await old.say(earlier())
        await world.run(for: .seconds(2))
        try phone.update(Settings(gain: .infinity))
        await world.run(for: .seconds(2))
        #expect(phone.lastSyncError != nil)
        world["watch"].relaunch()
        let watch = world["watch"].state(Settings(), merge: .fields)
        #expect(await world.run { watch.value.gain == .infinity && phone.isSynced })
        #expect(phone.lastSyncError == nil)
    }
}

/// Collects the messages that a peer gets about states.
@MainActor
private final class Heard {
    private(set) var messages: [StateMessage] = []
    private var tasks: [Task<Void, Never>] = []

    /// True if any message contained a value.
    var hasState: Bool { messages.contains { !$0.items.isEmpty } }

    init(_ transport: any SessionSyncTransport) {
        let (snapshots, envelopes) = (transport.receiveSnapshots(), transport.receiveEnvelopes())
        tasks = [
            Task { [weak self] in
                for await one in snapshots { self?.note { try one.decodeState(as: StateMessage.self) } }
            },
            Task { [weak self] in
                for await one in envelopes { self?.note { try one.decodePayload(as: StateMessage.self) } }
            },
        ]
    }

    deinit { for task in tasks { task.cancel() } }

    private func note(_ decode: () throws -> StateMessage) {
        if let message = try? decode() { messages.append(message) }
    }
}
