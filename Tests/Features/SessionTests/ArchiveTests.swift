import Foundation
import MeshEngine
import MeshIdentity
import MeshSession
import MeshStorage
import MeshTestSupport
import MeshWire
import Testing

/// The archive returns the engine as it was when it last requested to be persisted.
@Suite struct ArchiveTests {
    @Test func `A loaded session equals the saved one, through taps, losses, relaunches and lost stores`() throws {
        var confirmedCount: UInt64 = 0
        for seed in 0..<12 as Range<UInt64> {
            let world = try compareAfterEachStep(seed: seed)
            confirmedCount += world.sides.map(\.engine.confirmedCount).max() ?? 0
            #expect(world.relaunchCount > 0, "seed \(seed)")
        }
        #expect(confirmedCount > 60)
    }

    private func compareAfterEachStep(seed: UInt64) throws -> ArchiveWorld {
        var world = try ArchiveWorld(seed: seed)
        for step in 0..<150 {
            try world.step()
            for side in world.sides {
                var archive = try ArchiveWorld.archive(in: side.store)
                let image = try #require(try archive.load(), "seed \(seed), step \(step)")
                let difference = difference(image, side.engine.image)
                #expect(difference == nil, "seed \(seed), step \(step), \(side.engine.source)")
                if difference != nil { return world }
            }
        }
        return world
    }

    @Test func `A forked member's mark is loaded as it was saved`() throws {
        let sources = ["phone", "watch"].enumerated().map {
            SessionSource(peerID: $0.element, incarnation: UInt32($0.offset + 1))
        }
        var phone = ArchiveWorld.engine("phone", incarnation: 1, session: sessionID, members: sources)
        var watch = ArchiveWorld.engine("watch", incarnation: 2, session: sessionID, members: sources)
        var older = phone
        let store = MemoryStore()
        var archive = try ArchiveWorld.archive(in: store)
        try archive.save(try #require(watch.takeDirectives().persist), of: watch)
        #expect(try archive.load()?.head.forked == [])
        for envelope in [try phone.submitLocal(.add(1), at: noon), try older.submitLocal(.add(2), at: noon + 1)] {
            _ = try watch.receive(envelope)
            try archive.save(try #require(watch.takeDirectives().persist), of: watch)
        }
        var reader = try ArchiveWorld.archive(in: store)
        let image = try #require(try reader.load())
        #expect(image.head.forked == [sources[0]])
        #expect(difference(image, watch.image) == nil)
        #expect(try ArchiveWorld.engine(restoring: image, seed: 3).image.head.forked == [sources[0]])
    }

    @Test func `A store is complete if a joiner's first events lie before its first sequence`() throws {
        var phone = ArchiveWorld.engine("phone", incarnation: 1, session: sessionID)
        var dead = ArchiveWorld.engine("watch", incarnation: 2, session: sessionID)
        var joiner = ArchiveWorld.engine("watch", incarnation: 3, session: sessionID)
        let store = MemoryStore()
        var archive = try ArchiveWorld.archive(in: store)
        _ = try phone.receive(try dead.submitLocal(.add(1), at: noon))
        let seen = try (1...5).map { try joiner.submitLocal(.add(10 * $0), at: noon + Double($0)) }
        // The other three are lost in transit.
        for envelope in seen.prefix(2) { _ = try phone.receive(envelope) }

        func save(_ engine: ArchiveWorld.Engine, _ persistence: SessionPersistence?) throws {
            if let persistence { try archive.save(persistence, of: engine) }
            var reader = try ArchiveWorld.archive(in: store)
            let image = try #require(try reader.load())
            #expect(difference(image, engine.image) == nil)
        }
        // Controls and copies arrive, events don't.
        for second in 0..<4 {
            let moment = noon + 10 + Double(second)
            phone.tick(at: moment)
            joiner.tick(at: moment)
            for _ in 0..<4 {
                let ofPhone = phone.takeDirectives()
                try save(phone, ofPhone.persist)
                for message in ofPhone.outgoing { try ArchiveWorld.deliver(message, to: &joiner, at: moment) }
                for message in joiner.takeDirectives().outgoing {
                    if case .events = message { continue }
                    try ArchiveWorld.deliver(message, to: &phone, at: moment)
                }
            }
        }
        try save(phone, phone.takeDirectives().persist)
        #expect(phone.membership.first == [SourceSequence(source: joiner.source, sequence: 6)])
        #expect(phone.held[joiner.source] == 5)

        // The exchange continues like this after the crash.
        var reader = try ArchiveWorld.archive(in: store)
        var relaunched = try ArchiveWorld.engine(restoring: try #require(try reader.load()), seed: 4)
        let missing = joiner.records(in: SessionRange(source: joiner.source, first: 6, last: .max))
        #expect(missing.count == 3)
        for second in 20..<24 {
            relaunched.tick(at: noon + Double(second))
            joiner.tick(at: noon + Double(second))
            for _ in 0..<4 {
                let directives = relaunched.takeDirectives()
                if let persistence = directives.persist { try reader.save(persistence, of: relaunched) }
                for message in directives.outgoing {
                    try ArchiveWorld.deliver(message, to: &joiner, at: noon + Double(second))
                }
                for message in joiner.takeDirectives().outgoing {
                    try ArchiveWorld.deliver(message, to: &relaunched, at: noon + Double(second))
                }
            }
        }
        #expect(relaunched.held[joiner.source] == 8)
        #expect(relaunched.state == joiner.state)
        var last = try ArchiveWorld.archive(in: store)
        #expect(difference(try #require(try last.load()), relaunched.image) == nil)
    }

    @Test func `A store forgets the incarnations that the session forgets`() throws {
        var phone = ArchiveWorld.engine("phone", incarnation: 1, session: sessionID)
        let store = MemoryStore()
        var archive = try ArchiveWorld.archive(in: store)
        for incarnation in 2...200 as ClosedRange<UInt32> {
            var watch = ArchiveWorld.engine("watch", incarnation: incarnation, session: sessionID)
            let moment = noon + Double(incarnation) * 10
            for second in 0..<8 {
                phone.tick(at: moment + Double(second))
                watch.tick(at: moment + Double(second))
                let ofPhone = phone.takeDirectives()
                if let last = ofPhone.confirmed.last { phone.markSideEffects(through: last.position) }
                if let persistence = ofPhone.persist { try archive.save(persistence, of: phone) }
                for message in ofPhone.outgoing { try ArchiveWorld.deliver(message, to: &watch, at: moment) }
                for message in watch.takeDirectives().outgoing {
                    try ArchiveWorld.deliver(message, to: &phone, at: moment)
                }
                if second == 4 { _ = try phone.receive(watch.submitLocal(.add(1), at: moment)) }
            }
            if let persistence = phone.takeDirectives().persist { try archive.save(persistence, of: phone) }
            guard incarnation.isMultiple(of: 10) else { continue }
            var reader = try ArchiveWorld.archive(in: store)
            let image = try #require(try reader.load())
            #expect(difference(image, phone.image) == nil, "life \(incarnation)")
        }
        #expect(phone.state.total == 199)
        #expect(try store.catalog(prefix: "session/").journals.count < 80)
    }

    @Test func `A store without data of the session returns no image`() throws {
        var archive = try ArchiveWorld.archive(in: MemoryStore())
        #expect(try archive.load() == nil)
    }

    @Test func `Sessions and features in one store do not see each other, and an erased one is gone`() throws {
        let store = MemoryStore()
        var ids: [UUID] = []
        for number in 1...3 as ClosedRange<UInt8> {
            let id = UUID(uuid: (number, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
            ids.append(id)
            var engine = ArchiveWorld.engine("phone", incarnation: UInt32(number), session: id)
            var archive = try SessionArchive<Counter, Tap>(store: store, sessionID: id, featureID: "counter")
            _ = try engine.submitLocal(.add(Int(number)), at: noon)
            try archive.save(try #require(engine.takeDirectives().persist), of: engine)
        }
        var second = try SessionArchive<Counter, Tap>(store: store, sessionID: ids[1], featureID: "counter")
        try second.erase()
        #expect(try second.load() == nil)
        #expect(try SessionArchive<Counter, Tap>.sessionIDs(of: "counter", in: store) == [ids[0], ids[2]])
        #expect(try SessionArchive<Counter, Tap>.sessionIDs(of: "count", in: store) == [])
        var third = try SessionArchive<Counter, Tap>(store: store, sessionID: ids[2], featureID: "counter")
        #expect(try third.load()?.log.count == 1)
    }

    @Test func `Inconsistent parts are reported as damaged, and a newer layout as newer`() throws {
        let store = MemoryStore()
        var engine = ArchiveWorld.engine("phone", incarnation: 1, session: sessionID)
        var archive = try ArchiveWorld.archive(in: store)
        for amount in 1...5 {
            _ = try engine.submitLocal(.add(amount), at: noon)
            try archive.save(try #require(engine.takeDirectives().persist), of: engine)
        }
        let catalog = try store.catalog(prefix: "")
        let head = try #require(catalog.keys.first { $0.hasSuffix("/head") })
        let base = try #require(catalog.keys.first { $0.hasSuffix("/base") })
        let log = try #require(catalog.journals.first).name

        func damage(_ fill: (inout StoreBatch) -> Void) throws -> StorageError.Code? {
            let copy = try store.copy(fill)
            do {
                var archive = try ArchiveWorld.archive(in: copy)
                _ = try archive.load()
                return nil
            } catch let error as StorageError {
                return error.code
            }
        }
        #expect(try damage { _ in } == nil)
        #expect(try damage { $0.removeValue(for: base) } == .damaged)
        #expect(try damage { $0.truncate(log, below: 2) } == .damaged)
        #expect(try damage { $0.append([1, 2, 3], to: log, at: 6) } == .damaged)
        #expect(try damage { $0.set([7], for: head) } == .damaged)
        #expect(try damage { $0.set([], for: base) } == .damaged)
        let newer = try CompactCodec().encode(["version": 4])
        #expect(try damage { $0.set(newer, for: head) } == .newerSchema)
    }

    @Test func `A feature ID that leaves no space for names is rejected`() {
        #expect(throws: StorageError.self) {
            _ = try SessionArchive<Counter, Tap>(
                store: MemoryStore(), sessionID: sessionID, featureID: String(repeating: "f", count: 500))
        }
    }
}

private let noon = Date(timeIntervalSince1970: 1_700_000_000)

/// The first field that differs, or nil. Clock, cut and promises are ignored: a relaunch starts at the lease, and peers repeat
/// their promises with their next messages.
private func difference(
    _ loaded: SessionEngineImage<Counter, Tap>, _ engine: SessionEngineImage<Counter, Tap>
) -> String? {
    func comparable(_ image: SessionEngineImage<Counter, Tap>) -> SessionEngineImage<Counter, Tap> {
        var image = image
        image.head.clock = .zero
        image.head.cut = .zero
        image.head.promises = []
        // The time of a peer's last message isn't worth a write.
        for index in image.head.acknowledgements.indices { image.head.acknowledgements[index].saidAt = .zero }
        return image
    }
    let (loaded, engine) = (comparable(loaded), comparable(engine))
    let codec = CompactCodec(mode: .deterministic)
    if let left = try? codec.encode(loaded), let right = try? codec.encode(engine), left == right { return nil }

    func text(_ image: SessionEngineImage<Counter, Tap>) throws -> [String] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        let object = try JSONSerialization.jsonObject(with: encoder.encode(image)) as? [String: Any] ?? [:]
        let head = object["head"] as? [String: Any] ?? [:]
        return try (head.map { ($0.key, $0.value) } + [("base", object["base"] as Any), ("log", object["log"] as Any)])
            .sorted { $0.0 < $1.0 }
            .map { name, value in
                let data = try JSONSerialization.data(withJSONObject: [value], options: .sortedKeys)
                return "\(name) \(String(decoding: data, as: UTF8.self))"
            }
    }
    guard let left = try? text(loaded), let right = try? text(engine) else { return "not JSON" }
    return zip(left, right).first { $0 != $1 }.map { "loaded \($0), the engine has \($1)" } ?? "equal as JSON"
}

/// Two engines, each with a store, and a link that loses and delays messages.
private struct ArchiveWorld {
    typealias Engine = SessionSyncEngine<Counter, Tap, CounterReducer, AcceptingConflictPolicy<Counter, Tap>>

    struct Side {
        var engine: Engine
        var store: MemoryStore
        var archive: SessionArchive<Counter, Tap>
        var inbox: [SessionOutgoing<Counter, Tap>] = []
    }

    var sides: [Side]
    var relaunchCount = 0
    private var now = noon
    private var state: UInt64

    init(seed: UInt64) throws {
        state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
        sides = try ["phone", "watch"].enumerated().map { index, peer in
            let store = MemoryStore()
            return Side(
                engine: Self.engine(peer, incarnation: UInt32(index + 1), session: sessionID), store: store,
                archive: try Self.archive(in: store))
        }
        for side in sides.indices { try settle(side) }
    }

    static func engine(
        _ peer: String, incarnation: UInt32, session: UUID, members: [SessionSource] = []
    ) -> Engine {
        Engine(
            sessionID: session, featureID: "counter", localPeerID: peer, payloadType: "counter.event",
            snapshotPayloadType: "counter.state", initialState: Counter(), reducer: CounterReducer(),
            conflictPolicy: AcceptingConflictPolicy(), incarnation: incarnation, members: members, options: options)
    }

    static func engine(restoring image: SessionEngineImage<Counter, Tap>, seed: UInt64) throws -> Engine {
        try Engine(
            restoring: image, reducer: CounterReducer(), conflictPolicy: AcceptingConflictPolicy(), seed: seed,
            options: options)
    }

    static var options: SessionEngineOptions<Counter, Tap> {
        var options = SessionEngineOptions<Counter, Tap>()
        options.keepsSideEffects = true
        return options
    }

    static func archive(in store: MemoryStore) throws -> SessionArchive<Counter, Tap> {
        try SessionArchive(store: store, sessionID: sessionID, featureID: "counter")
    }

    private mutating func upTo(_ bound: UInt64) -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state >> 33) % (bound + 1)
    }

    mutating func step() throws {
        let side = Int(upTo(1))
        now += Double(upTo(200)) / 1000
        switch upTo(99) {
        case 0..<25:
            let envelope = try sides[side].engine.submitLocal(.add(Int(upTo(9))), at: now)
            try settle(side)
            transmit(.events([envelope], to: sides[1 - side].engine.localPeerID), to: 1 - side)
        case 25..<50:
            sides[side].engine.tick(at: now)
            try settle(side)
        case 50..<93:
            guard !sides[side].inbox.isEmpty else { return }
            let index = Int(upTo(UInt64(min(3, sides[side].inbox.count) - 1)))
            try receive(sides[side].inbox.remove(at: index), at: side)
            try settle(side)
        case 93..<99: try relaunch(side)
        default: try loseStore(side)
        }
    }

    /// Loses a fifth of all messages. An inbox holds the latest thirty.
    private mutating func transmit(_ message: SessionOutgoing<Counter, Tap>, to side: Int) {
        guard upTo(4) > 0 else { return }
        sides[side].inbox = (sides[side].inbox + [message]).suffix(30)
    }

    private mutating func receive(_ message: SessionOutgoing<Counter, Tap>, at side: Int) throws {
        try Self.deliver(message, to: &sides[side].engine, at: now)
    }

    static func deliver(
        _ message: SessionOutgoing<Counter, Tap>, to engine: inout Engine, at moment: Date
    ) throws {
        switch message {
        case .control(let envelope, _): try engine.receiveControl(envelope, at: moment)
        case .events(let envelopes, _):
            for envelope in envelopes { _ = try engine.receive(envelope) }
        case .relay(let envelope, _): try engine.receiveRelay(envelope, at: moment)
        case .checkpoint(let checkpoint, let metadata, _): try engine.adopt(checkpoint, from: metadata, at: moment)
        }
    }

    private mutating func settle(_ side: Int) throws {
        while true {
            let directives = sides[side].engine.takeDirectives()
            if directives.isEmpty { return }
            if let persistence = directives.persist {
                try sides[side].archive.save(persistence, of: sides[side].engine)
            }
            if let last = directives.confirmed.last, upTo(2) > 0 {
                sides[side].engine.markSideEffects(through: last.position)
            }
            for message in directives.outgoing { transmit(message, to: 1 - side) }
        }
    }

    private mutating func relaunch(_ side: Int) throws {
        relaunchCount += 1
        sides[side].archive = try Self.archive(in: sides[side].store)
        guard let image = try sides[side].archive.load() else { return }
        sides[side].engine = try Self.engine(restoring: image, seed: upTo(.max >> 1))
        try settle(side)
    }

    private mutating func loseStore(_ side: Int) throws {
        let peer = sides[side].engine.localPeerID
        sides[side].store = MemoryStore()
        sides[side].archive = try Self.archive(in: sides[side].store)
        sides[side].engine = Self.engine(peer, incarnation: UInt32(upTo(1 << 30)) + 3, session: sessionID)
        try settle(side)
    }
}
