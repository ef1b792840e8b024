import Foundation
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import Testing

@testable import MeshSession

/// Devices share only bytes, so a device shows the content of its bytes.
@MainActor @Suite struct DecodedCopyTests {
    private let world = VirtualWorld(seed: 202_611_261_540)

    private func session(
        _ peer: SessionPeer, _ incarnation: UInt32, store: MemoryStore? = nil, initial: Journal = Journal()
    ) async throws -> JournalSession {
        var configuration = SyncedSessionConfiguration<Journal, Entry>()
        world.adapt(&configuration, incarnation: incarnation)
        return try await JournalSession.open(
            sessionID: sessionID, featureID: "journal", transport: world.transport(peer), store: store,
            initialState: initial,
            reducer: JournalReducer(), conflictPolicy: AcceptingConflictPolicy(), configuration: configuration)
    }

    @Test func `a device whose events lose something when encoded shows what the other device and its relaunch show`()
        async throws
    {
        let store = MemoryStore()
        let here = try await session(phone, 1, store: store)
        let there = try await session(watch, 2)
        await world.meet()
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        let envelope = try here.submit(Entry(at: Date(timeIntervalSince1970: 100.75), cached: "only here"))
        #expect(here.state.lines == ["100.0 decoded"], "at once")
        #expect(envelope.payload.cached == "decoded")
        await world.settle(until: { there.state == here.state && here.confirmedCount == 1 })
        let closing = Task { try await here.close() }
        await world.settle(until: { here.phase == .closed })
        try await closing.value
        let again = try await session(phone, 1, store: store)
        #expect(again.state == there.state)
    }

    @Test func `a subclass that writes a key of its base again is reduced as it is decoded`() async throws {
        var configuration = SyncedSessionConfiguration<Journal, Sprint>()
        world.adapt(&configuration, incarnation: 1)
        let here = SyncedSession(
            sessionID: sessionID, featureID: "sprints", transport: world.transport(phone), initialState: Journal(),
            reducer: SprintReducer(), conflictPolicy: AcceptingConflictPolicy(), configuration: configuration)
        here.start()
        let envelope = try here.submit(Sprint("sprint"))
        #expect(here.state.lines == [envelope.payload.kind])
    }

    @Test func `an event that can't be encoded, or that no device could read, is refused before anything changes`()
        async throws
    {
        let here = try await session(phone, 1)
        here.start()
        #expect(throws: SessionSyncError.self) { try here.submit(Entry(at: .distantPast, cached: "unwritable")) }
        #expect(throws: SessionSyncError.self) { try here.submit(Entry(at: .distantPast, cached: "unreadable")) }
        #expect(here.state == Journal() && here.statistics.submitted == 0 && here.core.engine.held[here.source] == 0)
        try here.submit(Entry(at: .distantPast, cached: ""))
        #expect(here.core.engine.held[here.source] == 1, "no sequence was taken")
    }

    @Test func `the last event of all devices is reduced as it is decoded`() async throws {
        let here = try await session(phone, 1)
        here.start()
        let closing = Task { try await here.close(with: Entry(at: Date(timeIntervalSince1970: 7.5), cached: "x")) }
        await world.settle(until: { here.phase == .closed })
        try await closing.value
        #expect(here.state.lines == ["7.0 decoded"])
    }

    @Test func `a session starts with its initial state as decoded`() async throws {
        let here = try await session(phone, 1, initial: Journal(lines: ["a"], draft: "not encoded"))
        #expect(here.state == Journal(lines: ["a"], draft: ""))
    }

    @Test func `a device shows the same value as the other device sees`() async throws {
        let here = try await session(phone, 1)
        here.start()
        let key = EphemeralKey<Entry>("entry")
        try here.show(Entry(at: Date(timeIntervalSince1970: 3.5), cached: "x"), as: key)
        #expect(here.latestValue(of: key)?.value == Entry(at: Date(timeIntervalSince1970: 3), cached: "decoded"))
    }

    #if DEBUG
        @Test func `debug builds name the type and the field that are lost`() async throws {
            struct Once: Codable, Equatable, Sendable {
                enum CodingKeys: CodingKey { case number }
                var number = 1
                var hint = ""
            }
            struct Reducer: SessionSyncReducer {
                func reduce(state: inout [Int], event: Once, context: SessionEventContext) {
                    state.append(event.number)
                }
            }
            var configuration = SyncedSessionConfiguration<[Int], Once>()
            world.adapt(&configuration, incarnation: 1)
            let here = SyncedSession(
                sessionID: sessionID, featureID: "once", transport: world.transport(phone), initialState: [],
                reducer: Reducer(), conflictPolicy: AcceptingConflictPolicy(), configuration: configuration)
            here.start()
            try here.submit(Once(hint: "lost"))
            var alarms = here.alarms().makeAsyncIterator()
            #expect(await alarms.next() == .codingLoss(type: "Once", field: "hint"))
            try here.submit(Once(hint: "lost"))
            #expect(here.statistics.alarms == 1, "once")
        }
    #endif
}

private struct Journal: Codable, Sendable, Equatable {
    enum CodingKeys: CodingKey { case lines }
    var lines: [String] = []
    var draft = ""
}

/// Encodes its date in whole seconds, and omits a property.
private struct Entry: Codable, Sendable, Equatable {
    enum CodingKeys: CodingKey { case at, isUnreadable }
    struct Unwritable: Error {}
    var at: Date
    var cached: String

    init(at: Date, cached: String) { (self.at, self.cached) = (at, cached) }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        at = Date(timeIntervalSince1970: Double(try container.decode(Int.self, forKey: .at)))
        cached = "decoded"
        if container.contains(.isUnreadable) { throw Unwritable() }
    }

    func encode(to encoder: any Encoder) throws {
        if cached == "unwritable" { throw Unwritable() }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(Int(at.timeIntervalSince1970.rounded(.down)), forKey: .at)
        if cached == "unreadable" { try container.encode(true, forKey: .isUnreadable) }
    }
}

private struct JournalReducer: SessionSyncReducer {
    func reduce(state: inout Journal, event: Entry, context: SessionEventContext) {
        state.lines.append("\(event.at.timeIntervalSince1970) \(event.cached)")
    }
}

private typealias JournalSession = SyncedSession<
    Journal, Entry, JournalReducer, AcceptingConflictPolicy<Journal, Entry>
>

private class Base: Codable, @unchecked Sendable {
    enum CodingKeys: CodingKey { case kind }

    init() {}
    required init(from decoder: any Decoder) throws {}
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("base", forKey: .kind)
    }
}

private final class Sprint: Base, @unchecked Sendable {
    let kind: String

    init(_ kind: String) {
        self.kind = kind
        super.init()
    }

    required init(from decoder: any Decoder) throws {
        kind = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .kind)
        try super.init(from: decoder)
    }

    override func encode(to encoder: any Encoder) throws {
        try super.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .kind)
    }
}

private struct SprintReducer: SessionSyncReducer {
    func reduce(state: inout Journal, event: Sprint, context: SessionEventContext) { state.lines.append(event.kind) }
}
