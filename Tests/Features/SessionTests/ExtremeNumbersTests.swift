import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSession
import MeshStorage
import MeshTestSupport
import MeshTransport
import MeshWire
import Testing

/// Sets each number of a store and of a peer's copy to its extremes. The result is an error, or a session that continues.
@MainActor @Suite struct ExtremeNumbersTests {
    /// The head, as the archive writes it.
    private struct Head: Codable {
        var version: Int
        var head: SessionEngineHead<Tap>
        var sources: [SessionSource]
    }

    private static let extremes: [UInt64] = [
        .max, .max - 1, 1 << 63, 1 << 63 - 1, 1 << 63 - 2, 1 << 62, 1 << 32, 1 << 31, 0,
    ]

    /// - Parameter body: gets every variant with one extreme number, and the path of that number.
    private static func forEachVariant<Value: Codable>(
        of value: Value, _ body: (Value, String) throws -> Void
    ) throws {
        let encoder = JSONEncoder()
        let json = try JSONSerialization.jsonObject(with: encoder.encode(value))
        for path in paths(in: json) {
            for extreme in extremes {
                let data = try JSONSerialization.data(withJSONObject: replacing(json, path[...], by: extreme))
                // The decoder rejects a number that doesn't fit its type.
                guard let variant = try? JSONDecoder().decode(Value.self, from: data) else { continue }
                try body(variant, "\(path.joined(separator: ".")) = \(extreme)")
            }
        }
    }

    private static func paths(in json: Any) -> [[String]] {
        switch json {
        case let object as [String: Any]:
            object.keys.sorted().flatMap { key in paths(in: object[key] as Any).map { [key] + $0 } }
        case let array as [Any]:
            array.prefix(2).enumerated().flatMap { index, element in paths(in: element).map { ["\(index)"] + $0 } }
        case is NSNumber, is Int, is UInt64, is Double: [[]]
        default: []
        }
    }

    private static func replacing(_ json: Any, _ path: ArraySlice<String>, by number: UInt64) -> Any {
        guard let key = path.first else { return NSNumber(value: number) }
        if var object = json as? [String: Any] {
            object[key] = replacing(object[key] as Any, path.dropFirst(), by: number)
            return object
        }
        guard var array = json as? [Any], let index = Int(key) else { return json }
        array[index] = replacing(array[index], path.dropFirst(), by: number)
        return array
    }

    /// The store of a member with confirmed, folded and unconfirmed events, pending effects, and a peer that joined late.
    private func filledStore(_ world: VirtualWorld) async throws -> MemoryStore {
        let store = MemoryStore()
        let here = world.session(world.transport(phone), incarnation: 1)
        let there = try await world.opened(world.transport(watch), incarnation: 2, store: store) {
            $0.onConfirmed = { _ in throw CancellationError() }
        }
        await world.meet()
        here.start()
        there.start()
        await world.settle(until: { here.isMember && there.isMember })
        for tap in 1...70 { try here.submit(.add(tap), at: world.now) }
        await world.settle(until: { there.confirmedCount == 70 })
        here.stop()
        for tap in 1...3 { try there.submit(.add(tap), at: world.now) }
        await world.settle()
        there.stop()
        return store
    }

    /// Opens the store, continues a little and writes. Errors are allowed.
    private func live(_ store: MemoryStore) throws {
        do {
            var archive = try CounterArchive(store: store, sessionID: sessionID, featureID: "counter")
            guard let image = try archive.load() else { return }
            var options = SessionEngineOptions<Counter, Tap>()
            options.keepsSideEffects = true
            var engine = try CounterEngine(
                restoring: image, reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy(), seed: 1,
                options: options)
            let now = Date(timeIntervalSince1970: 1_767_225_600)
            for _ in 0..<3 {
                _ = try? engine.submitLocal(.add(1), at: now)
                engine.tick(at: now)
                let directives = engine.takeDirectives()
                if let persist = directives.persist { try archive.save(persist, of: engine) }
                if let due = engine.sideEffectsDue.first { engine.markSideEffects(through: due.position) }
            }
        } catch is StorageError {
        } catch is SessionSyncError {
        }
    }

    @Test func `The largest numbers in a store cause no crash`() async throws {
        let store = try await filledStore(VirtualWorld(seed: 1))
        let codec = CompactCodec()
        let keys = try store.catalog(prefix: "").keys
        let headKey = try #require(keys.first { $0.hasSuffix("/head") })
        let baseKey = try #require(keys.first { $0.hasSuffix("/base") })
        let head = try codec.decode(Head.self, from: try #require(try store.value(for: headKey)))
        let base = try codec.decode(SessionBase<Counter>.self, from: try #require(try store.value(for: baseKey)))
        #expect(base.count > 0)
        var count = 0
        try Self.forEachVariant(of: head) { head, subject in
            count += 1
            try live(try store.copy { $0.set(try codec.encode(head), for: headKey) })
        }
        try Self.forEachVariant(of: base.vector) { vector, subject in
            var base = base
            base.vector = vector
            count += 1
            try live(try store.copy { $0.set(try codec.encode(base), for: baseKey) })
        }
        for extreme in Self.extremes {
            var base = base
            base.count = extreme
            try live(try store.copy { $0.set(try codec.encode(base), for: baseKey) })
        }
        #expect(count > 100)
    }

    @Test func `The largest numbers in a peer's copy cause no crash`() async throws {
        let world = VirtualWorld(seed: 2)
        let here = world.session(world.transport(phone), incarnation: 1)
        let other = CounterEngine(
            sessionID: sessionID, featureID: "counter", localPeerID: "watch", payloadType: "counter.event",
            snapshotPayloadType: "counter.state", initialState: Counter(), reducer: CounterReducer(),
            conflictPolicy: AcceptingConflictPolicy(), incarnation: 2,
            members: [SessionSource(peerID: "watch", incarnation: 2), here.source])
        var author = other
        for tap in 1...4 { _ = try author.submitLocal(.add(tap), at: world.now) }
        author.tick(at: world.now)
        let source = author.source
        let directives = author.takeDirectives()
        let control = try #require(
            directives.outgoing.compactMap { message -> SessionSyncEnvelope<SessionControl>? in
                if case .control(let envelope, _) = message { envelope } else { nil }
            }.first)
        let checkpoint = SessionCheckpoint(
            control: control.payload, membership: author.membership, base: author.baseImage, log: author.records,
            settledCount: 0, cut: .zero, chain: author.chain)
        here.start()
        let transport = world.transport(watch)
        await world.meet()
        let codec = CompactCodec()
        var count = 0
        var variants: [SessionCheckpoint<Counter, Tap>] = []
        try Self.forEachVariant(of: checkpoint) { variant, _ in variants.append(variant) }
        for variant in variants {
            var metadata = control.metadata
            metadata.payloadType = "counter.state"
            var snapshot = try AnySessionSyncSnapshot(
                SessionSyncSnapshot(
                    metadata: metadata, revision: UInt64(count + 1), state: author.state,
                    peerSequenceVector: [source.peerID: 4]))
            snapshot.checkpoint = [codec.id.number] + (try codec.encode(variant))
            try await transport.sendSnapshot(snapshot, mode: .realtimeBestEffort, to: phone)
            count += 1
            if count % 32 == 0 { await world.run(.milliseconds(100)) }
        }
        await world.settle()
        #expect(count > 50)
        #expect(here.statistics.rejected > 0)
        try here.submit(.add(5), at: world.now)
    }
}
