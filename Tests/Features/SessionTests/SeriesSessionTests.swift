import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTestSupport
import MeshTransport
import MeshWire
import Testing

@testable import MeshSeries
@testable import MeshSession

private struct Pace: Codable, Equatable, Sendable {
    var rate: Int
    var speed: Double
    var cadence: Int?

    init(_ number: Int) {
        rate = 120 + number % 40
        speed = Double(number % 97) / 8
        cadence = number % 3 == 0 ? nil : 80 + number % 5
    }
}

extension Series<Pace> {
    fileprivate static let pace = Series("pace")
    fileprivate static let newest = Series("newest", keeping: .newest(1500))
}

/// Samples outside the order, through complete sessions.
@MainActor @Suite struct SeriesSessionTests {
    private func values(
        _ session: CounterSession, by peerID: String? = nil, _ series: Series<Pace> = .pace
    ) async throws -> [Pace] {
        try await session.samples(of: series, by: peerID).map(\.value)
    }

    @Test(arguments: 0..<10 as Range<UInt64>)
    func `Samples arrive in order, though a fifth of all messages is lost`(seed: UInt64) async throws {
        let world = VirtualWorld(seed: seed, conditions: .rough)
        let (phone, watch) = await world.pair()
        for number in 0..<150 {
            try watch.record(Pace(number), in: .pace)
            if number % 2 == 0 { try phone.record(Pace(-number), in: .pace) }
            await world.run(.seconds(1))
        }
        await world.settle { phone.summary(of: .pace).count == 225 && watch.summary(of: .pace).count == 225 }
        #expect(try await values(phone, by: "watch") == (0..<150).map(Pace.init), "seed \(seed)")
        #expect(try await values(watch, by: "phone") == (0..<75).map { Pace(-2 * $0) }, "seed \(seed)")
        #expect(try await phone.samples(of: .pace) == watch.samples(of: .pace), "seed \(seed)")
        #expect(phone.summary(of: .pace) == watch.summary(of: .pace), "seed \(seed)")
        await world.settle { watch.seriesStatuses.contains { $0.peerID == "watch" && $0.heldThrough["phone"] == 150 } }
        for session in [phone, watch] {
            #expect(session.core.engine.logCount == 0 && session.statistics.gaps == 0, "a sample was an event")
            #expect(session.statistics.rejected == 0, "seed \(seed)")
        }
    }

    @Test func `A late device gets the whole series, and a part by time`() async throws {
        let world = VirtualWorld(seed: 1)
        let there = world.session(world.transport(watch), incarnation: 2)
        there.start()
        let noon = world.now
        for number in 0..<20_000 {
            try there.record(Pace(number), in: .pace, at: noon.addingTimeInterval(Double(number)))
            if number % 5000 == 0 { await world.step() }
        }
        await world.settle()
        let here = world.session(world.transport(phone), incarnation: 1)
        await world.meet()
        here.start()
        await world.settle { here.summary(of: .pace).count == 20_000 }
        await world.settle()
        let minute = noon.addingTimeInterval(10_000)...noon.addingTimeInterval(10_059)
        let samples = try await here.samples(of: .pace, in: minute)
        #expect(samples.map(\.value) == (10_000...10_059).map(Pace.init))
        #expect(samples.first?.moment == minute.lowerBound && samples.first?.peerID == "watch")
        #expect(try await values(here) == (0..<20_000).map(Pace.init))
        let counts = Locked<[Int]>([])
        try await here.forEachSamples(of: .pace, in: minute) { samples in counts.withLock { $0.append(samples.count) } }
        #expect(counts.withLock { $0.reduce(0, +) } == 60)
        #expect(here.summary(of: .pace) == there.summary(of: .pace))
        let rates = here.summary(of: .pace)["rate"]
        #expect(rates.minimum == 120 && rates.maximum == 159 && rates.count == 20_000)
    }

    @Test func `A crash loses no written sample, and the next launch starts a series of its own`() async throws {
        let world = VirtualWorld(seed: 2)
        let store = MemoryStore()
        let here = world.session(world.transport(phone), incarnation: 1)
        here.start()
        var recorded: [Pace] = []
        let transport = world.transport(watch)
        for launch in 0..<6 {
            let there = try await world.opened(transport, incarnation: 2, store: store) {
                $0.randomSeed = { UInt64(launch) &* 0x9E37_79B9 &+ 5 }
            }
            #expect(try await values(there) == recorded, "launch \(launch)")
            there.start()
            for _ in 0..<(launch % 2 == 0 ? 37 : 1500) {
                try there.record(Pace(recorded.count), in: .pace)
                recorded.append(Pace(recorded.count))
            }
            await world.run(.milliseconds(100))
            #expect(there.seriesStatuses.reduce(0) { $0 + $1.storedCount } == recorded.count)
            // Samples that aren't written are lost with the process.
            try there.record(Pace(-1), in: .pace)
            there.stop()
        }
        let there = try await world.opened(transport, incarnation: 2, store: store)
        there.start()
        await world.settle { here.summary(of: .pace).count == recorded.count }
        #expect(try await values(here) == recorded)
    }

    @Test func `A device that lost its store gets its samples back from its peer`() async throws {
        let world = VirtualWorld(seed: 3)
        let transport = world.transport(watch)
        let here = world.session(world.transport(phone), incarnation: 1)
        here.start()
        let first = try await world.opened(transport, incarnation: 2, store: MemoryStore())
        await world.meet()
        first.start()
        try first.submit(.add(1))
        for number in 0..<3000 { try first.record(Pace(number), in: .pace) }
        await world.settle { here.summary(of: .pace).count == 3000 }
        first.stop()
        await world.run(.seconds(30))
        let second = try await world.opened(transport, incarnation: 3, store: MemoryStore())
        second.start()
        for number in 3000..<3100 { try second.record(Pace(number), in: .pace) }
        await world.settle { second.summary(of: .pace).count == 3100 && here.summary(of: .pace).count == 3100 }
        #expect(try await values(second) == (0..<3100).map(Pace.init))
        #expect(try await values(here) == (0..<3100).map(Pace.init))
    }

    @Test(arguments: [false, true])
    func `A failing store keeps samples waiting, and none is repeated`(isDone: Bool) async throws {
        let world = VirtualWorld(seed: 4)
        let store = FailingStore()
        let here = world.session(world.transport(phone), incarnation: 1)
        here.start()
        let there = try await world.opened(world.transport(watch), incarnation: 2, store: store)
        await world.meet()
        there.start()
        var count = 0
        for round in 0..<6 {
            store.isFailing.withLock { $0 = round % 2 == 1 }
            store.failsAfterwards.withLock { $0 = isDone }
            for _ in 0..<700 {
                try there.record(Pace(count), in: .pace)
                count += 1
            }
            await world.run(.seconds(3))
        }
        store.isFailing.withLock { $0 = false }
        await world.settle { here.summary(of: .pace).count == count }
        #expect(try await values(here) == (0..<count).map(Pace.init))
        #expect(try await values(there) == (0..<count).map(Pace.init))
    }

    @Test func `A session that stops using its store keeps the unwritten samples`() async throws {
        let world = VirtualWorld(seed: 5)
        let store = FailingStore()
        let here = world.session(world.transport(phone), incarnation: 1)
        here.start()
        let there = try await world.opened(world.transport(watch), incarnation: 2, store: store) {
            $0.storeFailure = .continueInMemory
        }
        await world.meet()
        there.start()
        for number in 0..<1100 { try there.record(Pace(number), in: .pace) }
        await world.settle { here.summary(of: .pace).count == 1100 }
        store.isFailing.withLock { $0 = true }
        for number in 1100..<1200 { try there.record(Pace(number), in: .pace) }
        await world.settle { here.summary(of: .pace).count == 1200 && there.durability == .memory }
        #expect(there.summary(of: .pace).count == 1200)
        #expect(try await values(there) == (1024..<1200).map(Pace.init), "the content of the store no longer used")
        #expect(try await values(here) == (0..<1200).map(Pace.init))
    }

    @Test func `Samples that their recorder drops are dropped on all devices`() async throws {
        let world = VirtualWorld(seed: 6)
        let (phone, watch) = await world.pair()
        for number in 0..<9000 {
            try watch.record(Pace(number), in: .newest)
            if number % 500 == 0 { await world.run(.seconds(1)) }
        }
        await world.settle { phone.seriesStatuses.first?.end == 9000 }
        await world.settle()
        let kept = try await values(watch, .newest)
        #expect((1500...2523).contains(kept.count) && kept.last == Pace(8999))
        let there = try await values(phone, .newest)
        #expect(there.suffix(kept.count) == kept[...] && there.count >= kept.count)
    }

    @Test func `A reducer gets samples only through an event`() async throws {
        let world = VirtualWorld(seed: 7)
        let (phone, watch) = await world.pair()
        for number in 0..<2000 { try watch.record(Pace(number), in: .pace) }
        let sum = Int(watch.summary(of: .pace)["rate"].sum)
        try watch.submit(.add(sum))
        await world.settle { phone.state.total == sum }
        await world.settle { phone.summary(of: .pace).count == 2000 }
        #expect(Int(phone.summary(of: .pace)["rate"].sum) == sum)
    }

    @Test func `An unsupported sample is refused, and an ended session accepts none`() async throws {
        let world = VirtualWorld(seed: 8)
        let (phone, watch) = await world.pair()
        #expect(throws: WireError.self) { try watch.record("text", in: Series("text")) }
        #expect(throws: WireError.self) { try watch.record(1, in: Series("")) }
        #expect(throws: WireError.self) { try watch.record(Pace(1), in: .pace, at: .distantFuture + 1e12) }
        for number in 0..<SeriesLimits.seriesMax {
            if (try? watch.record(1, in: Series("s\(number)"))) == nil { break }
        }
        #expect(throws: StorageError.self) { try watch.record(1, in: Series("one more")) }
        try watch.record(2, in: Series("s1"))
        let ending = Task { try await phone.close(with: .end) }
        await world.settle { watch.hasEnded && phone.phase == .closed }
        try await ending.value
        #expect(throws: SessionSyncError.sessionEnded) { try watch.record(1, in: Series("s1")) }
        #expect(throws: SessionSyncError.sessionClosed) { try phone.record(1, in: Series("s1")) }
    }

    @Test func `A peer's false claims about series have no effect`() async throws {
        let world = VirtualWorld(seed: 9)
        let (phone, _) = await world.pair()
        try phone.record(Pace(1), in: .pace)
        await world.settle()
        let columns = try SampleRow(Pace(0)).columns
        let own = try #require(phone.core.series.streams.first?.id)
        var forged = SampleTable(columns: columns)
        forged.append(try SampleRow(Pace(666), like: columns), at: 0)
        let bytes = SeriesBlock.bytes(of: forged)
        let other = SeriesID(peerID: "watch", incarnation: 7, name: "pace", columns: columns.digest)
        var wrongColumns = other
        wrongColumns.columns ^= 1
        typealias Piece = SeriesMessage.Piece
        let pieces = [
            // A piece in this device's own name, beyond its end.
            Piece(id: own, columns: nil, first: 1, bytes: bytes),
            Piece(id: other, columns: columns, first: .max, bytes: bytes),
            Piece(id: other, columns: columns, first: 5, bytes: bytes),
            Piece(id: wrongColumns, columns: columns, first: 0, bytes: bytes),
            Piece(id: other, columns: columns, first: 0, bytes: Array(bytes.dropLast())),
            Piece(id: other, columns: columns, first: 0, bytes: [UInt8](repeating: 0xFF, count: 40)),
            Piece(id: other, columns: Array(repeating: columns[0], count: 65), first: 0, bytes: bytes),
        ]
        for piece in pieces {
            var message = SeriesMessage()
            message.pieces = [piece]
            try receive(message, phone, world)
        }
        for (first, next) in [(0, .max), (9, 3), (.max, .max), (1, 5)] as [(UInt64, UInt64)] {
            var message = SeriesMessage()
            message.holdings = [.init(id: own, first: first, next: next), .init(id: other, first: first, next: next)]
            try receive(message, phone, world)
        }
        var request = SeriesMessage()
        request.requests = [.init(id: own, first: .max, count: .max, wantsColumns: true)]
        try receive(request, phone, world)
        request.requests = Array(repeating: .init(id: own, first: 0, count: .max, wantsColumns: true), count: 65)
        try receive(request, phone, world)
        request.requests.removeLast()
        try receive(request, phone, world)
        for number in 0..<2000 as Range<UInt64> {
            var message = SeriesMessage()
            var id = other
            id.incarnation = 100 + number
            message.pieces = [Piece(id: id, columns: columns, first: 0, bytes: bytes)]
            try receive(message, phone, world)
        }
        await world.settle()
        #expect(phone.core.series.streams.count <= SeriesLimits.seriesMax / 2)
        #expect(try await values(phone, by: "phone") == [Pace(1)])
        for number in 2...5 { try phone.record(Pace(number), in: .pace) }
        await world.settle()
        #expect(try await values(phone, by: "phone") == (1...5).map(Pace.init))
    }

    private func receive(_ message: SeriesMessage, _ session: CounterSession, _ world: VirtualWorld) throws {
        let metadata = SessionSyncMetadata(
            sessionID: sessionID, featureID: "counter", sourcePeerID: "watch", sequence: 0, causalTimestamp: world.now,
            payloadType: SeriesMessage.payloadType, incarnation: 2)
        let envelope = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: message))
        session.turn { $0.receive([envelope]) }
    }
}
