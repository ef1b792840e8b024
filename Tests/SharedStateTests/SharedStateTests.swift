import Foundation
import MeshIdentity
import MeshScenarioTransport
import MeshSharedState
import MeshTransport
import Testing

struct Settings: Codable, Sendable, Equatable {
    var volume = 5
    var name = "default"
    var gain = 1.0
}

enum Nested {
    struct Settings: Codable, Sendable, Equatable { var isOn = false }
}

@MainActor @Suite struct SharedStateTests {
    let network = ScenarioNetwork(seed: 3)
    let phone = SessionPeer(id: "phone", deviceClass: .phone, appInstanceID: "1", topology: .pairedCompanion)
    let watch = SessionPeer(id: "watch", deviceClass: .watch, appInstanceID: "1", topology: .pairedCompanion)

    private func connect(_ peer: SessionPeer) -> TransportConnection {
        TransportConnection(transport: network.makeTransport(localPeer: peer), now: { [network] in network.now })
    }

    private func settle(until condition: () -> Bool = { false }, sourceLocation: SourceLocation = #_sourceLocation)
        async
    {
        for _ in 0..<200 {
            if condition() { return }
            network.advance(by: .milliseconds(50))
            for _ in 0..<20 { await Task.yield() }
        }
    }

    @Test func `a change here is the value there, both ways`() async throws {
        let here = SharedState(initialValue: Settings(), connection: connect(phone))
        let there = SharedState(initialValue: Settings(), connection: connect(watch))
        try here.update(Settings(volume: 6))
        #expect(here.value.volume == 6)
        await settle { there.value.volume == 6 }
        #expect(there.value == here.value)
        try there.update(Settings(volume: 7))
        await settle { here.value.volume == 7 }
        #expect(there.value == here.value)
    }

    @Test func `concurrent changes end on the same value, the newer one`() async throws {
        let here = SharedState(initialValue: Settings(), connection: connect(phone))
        let there = SharedState(initialValue: Settings(), connection: connect(watch))
        await settle()
        network.partition([phone], [watch])
        try here.update(Settings(volume: 1))
        network.advance(by: .seconds(1))
        try there.update(Settings(volume: 2))
        await settle()
        #expect(here.value.volume == 1)
        network.heal()
        await settle { here.value.volume == 2 }
        #expect(here.value.volume == 2)
        #expect(there.value.volume == 2)
    }

    @Test func `W11: rapid changes end on the last one`() async throws {
        let here = SharedState(initialValue: Settings(), connection: connect(phone))
        let there = SharedState(initialValue: Settings(), connection: connect(watch))
        for volume in 10..<18 { try here.update(Settings(volume: volume)) }
        await settle { there.value.volume == 17 }
        await settle()
        #expect(there.value.volume == 17)
        #expect(here.value.volume == 17)
    }

    @Test func `W14: a change made before anybody is there arrives when somebody comes`() async throws {
        let here = SharedState(initialValue: Settings(), connection: connect(phone))
        try here.update(Settings(volume: 9))
        await settle()
        let there = SharedState(initialValue: Settings(), connection: connect(watch))
        await settle { there.value.volume == 9 }
        #expect(there.value.volume == 9)
    }

    @Test func `W15: a value that cannot be encoded throws and changes nothing`() async throws {
        let here = SharedState(initialValue: Settings(), connection: connect(phone))
        #expect(throws: EncodingError.self) { try here.update(Settings(gain: .infinity)) }
        #expect(here.value == Settings())
    }

    @Test func `W10: two states on one connection both arrive`() async throws {
        let left = connect(phone)
        let right = connect(watch)
        let a1 = SharedState(initialValue: Settings(), connection: left)
        let b1 = SharedState(initialValue: Nested.Settings(), connection: left)
        let a2 = SharedState(initialValue: Settings(), connection: right)
        let b2 = SharedState(initialValue: Nested.Settings(), connection: right)
        #expect(a1.id != b1.id, "nested types have ids of their own")
        try a1.update(Settings(volume: 3))
        try b1.update(Nested.Settings(isOn: true))
        await settle { a2.value.volume == 3 && b2.value.isOn }
        #expect(a2.value.volume == 3)
        #expect(b2.value.isOn)
    }

    @Test func `an equal value is no change`() async throws {
        let here = SharedState(initialValue: Settings(), connection: connect(phone))
        let there = SharedState(initialValue: Settings(), connection: connect(watch))
        try there.update(Settings(volume: 8))
        await settle { here.value.volume == 8 }
        try here.update(Settings(volume: 8))
        try here.update(here.value)
        network.runUntilIdle()
        await settle()
        #expect(there.value.volume == 8)
    }

    @Test func `W17: a state that nobody holds goes`() async throws {
        let connection = connect(phone)
        weak var weakState: SharedState<Settings>?
        do {
            let state = SharedState(initialValue: Settings(), connection: connection)
            try state.update(Settings(volume: 2))
            await settle()
            weakState = state
        }
        await settle { weakState == nil }
        #expect(weakState == nil)
    }
}
