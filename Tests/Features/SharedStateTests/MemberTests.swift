import Foundation
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Observation
import Testing

@testable import MeshSharedState

/// A substitute for SwiftUI's `Bindable`: a key path to a member of a class becomes a binding.
@MainActor @dynamicMemberLookup
private struct Bindable<Value: AnyObject> {
    let value: Value

    subscript<Subject>(dynamicMember keyPath: ReferenceWritableKeyPath<Value, Subject>) -> Binding<Subject> {
        Binding(get: { value[keyPath: keyPath] }, set: { value[keyPath: keyPath] = $0 })
    }
}

@MainActor private struct Binding<Value> {
    let get: () -> Value
    let set: (Value) -> Void
}

/// Throws when it encodes a negative volume.
private struct Loudness: Codable, Sendable, Equatable {
    var volume = 5

    func encode(to encoder: any Encoder) throws {
        guard volume >= 0 else {
            throw EncodingError.invalidValue(volume, .init(codingPath: [], debugDescription: "a negative volume"))
        }
        var container = encoder.singleValueContainer()
        try container.encode(volume)
    }

    init(volume: Int = 5) { self.volume = volume }
    init(from decoder: any Decoder) throws { volume = try decoder.singleValueContainer().decode(Int.self) }
}

@MainActor @Suite struct MemberTests {
    let world = StateWorld()
    var phone: Device { world["phone"] }
    var watch: Device { world["watch"] }

    @Test func `A member is read, changed and bound where it is used`() async throws {
        let (here, there) = (phone.state(Settings()), watch.state(Settings()))
        try here.update { $0.volume = 6 }
        #expect(here.volume == 6 && here.name == "default")
        let binding = Bindable(value: here).note
        binding.set("louder")
        #expect(binding.get() == "louder" && here.value.note == "louder")
        here.gain = 2
        #expect(await world.run { there.value == Settings(volume: 6, gain: 2, note: "louder") })
        struct Refused: Error {}
        #expect(throws: Refused.self) {
            try here.update {
                $0.volume = 7
                throw Refused()
            }
        }
        #expect(here.volume == 6)
    }

    @Test func `A member that can't be set keeps its value, and is a problem until a change succeeds`() throws {
        let here = phone.state(Loudness(), id: "loudness")
        here.volume = -1
        #expect(here.volume == 5)
        #expect(here.problems.map(\.code) == [.writeFailed])
        #expect(here.problems.first?.message.contains("'loudness' wasn't changed") == true)
        here.volume = 6
        #expect(here.volume == 6 && here.problems.isEmpty)
    }

    @Test func `A view that reads problems is notified of a new one`() {
        let here = phone.state(Loudness())
        final class Flag: Sendable { nonisolated(unsafe) var isSet = false }
        let flag = Flag()
        withObservationTracking {
            _ = here.problems
        } onChange: {
            flag.isSet = true
        }
        here.volume = -1
        #expect(flag.isSet)
    }

    @Test func `A stream of values starts with the current one and always has the newest`() async throws {
        let (here, there) = (phone.state(Settings()), watch.state(Settings()))
        var values = there.values().makeAsyncIterator()
        #expect(await values.next() == Settings())
        for volume in 6...9 { try here.update { $0.volume = volume } }
        #expect(await world.run { there.volume == 9 })
        #expect(await values.next()?.volume == 9)
    }

    @Test func `The first sync is over when a peer has answered, and ends with its task`() async throws {
        let here = phone.state(Settings())
        try here.update { $0.volume = 6 }
        let waiting = Task { @MainActor in try await here.firstSync() }
        await world.run(for: .seconds(2))
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        let there = watch.state(Settings())
        let (first, second) = (
            Task { @MainActor in try await here.firstSync() }, Task { @MainActor in try await there.firstSync() }
        )
        #expect(await world.run { there.volume == 6 && here.isSynced })
        try await first.value
        try await second.value
        // The store records that the watch has everything.
        world.cut("phone", "watch")
        phone.relaunch()
        let again = phone.state(Settings())
        await world.run(for: .seconds(1))
        try await again.firstSync()
        #expect(again.volume == 6)
    }

    @Test func `States over one transport share its connection`() throws {
        let transport = world.network.makeTransport(
            localPeer: SessionPeer(id: "tablet", deviceClass: .tablet, appInstanceID: "1", topology: .sameHost))
        let first = SharedState(initialValue: Settings(), over: transport)
        let second = SharedState(initialValue: Settings(), over: transport)
        try first.update { $0.volume = 6 }
        #expect(second.volume == 6)
        #expect(first.replica.connection === second.replica.connection)
    }
}
