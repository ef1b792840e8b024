import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshScenarioTransport
import MeshSeries
import MeshTransport
import MeshWire
import Testing

@testable import MeshSession

extension EphemeralKey<Int> { fileprivate static let rate = EphemeralKey("rate") }

/// Messages without names, and peers that can't read them.
@MainActor @Suite struct ShortFormTests {
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `Reports about series are restored unchanged`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        var message = SeriesMessage(receiver: random.below(2) == 0 ? nil : "tablet")
        for _ in 0..<random.below(4) {
            let id = SeriesID(
                peerID: ["phone", "watch"][random.below(2)], incarnation: random.next(),
                name: ["rate", "pace"][random.below(2)],
                columns: random.next() % 3)
            let first = random.next() >> UInt64(20 + random.below(44))
            switch random.below(3) {
            case 0: message.holdings.append(.init(id: id, first: first, next: first + 7))
            case 1: message.requests.append(.init(id: id, first: first, count: 9, wantsColumns: random.below(2) == 0))
            default:
                let columns = random.below(2) == 0 ? nil : [SeriesColumn(name: "x", kind: .float)]
                let bytes = (0..<random.below(40)).map { UInt8(truncatingIfNeeded: $0) }
                message.pieces.append(.init(id: id, columns: columns, first: first, bytes: bytes))
            }
        }
        let ids = Set(message.holdings.map(\.id) + message.requests.map(\.id) + message.pieces.map(\.id))
        let known = Dictionary(ids.filter { $0.columns != 0 }.map { ($0.digest, $0) }) { first, _ in first }
        let short = try ShortForm(message, of: "phone") { known[$0.digest] == $0 }
        let read = try short.seriesMessage(of: "phone") { known[$0] }
        #expect(read.receiver == message.receiver && read.holdings == message.holdings, "seed \(seed)")
        #expect(read.requests == message.requests && read.pieces == message.pieces, "seed \(seed)")
        // A device that has lost its series omits those that it doesn't know.
        let rest = try short.seriesMessage(of: "phone") { _ in nil }
        #expect(rest.holdings == message.holdings.filter { known[$0.id.digest] != $0.id }, "seed \(seed)")
        #expect(rest.requests == message.requests.filter { known[$0.id.digest] != $0.id }, "seed \(seed)")
        #expect(rest.pieces == message.pieces.filter { known[$0.id.digest] != $0.id }, "seed \(seed)")
    }

    @Test(arguments: 0..<200 as Range<UInt64>)
    func `Any control is read as written, and a truncated one is rejected`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let control = SessionControl.random(&random)
        let sender = SessionSource.random(&random)
        let short = try ShortForm(control, of: sender)
        #expect(try short.control(of: sender) == control, "seed \(seed)")
        for length in short.bytes.indices {
            var part = short
            part.bytes.removeLast(short.bytes.count - length)
            #expect(throws: (any Error).self, "seed \(seed), \(length) bytes") { try part.control(of: sender) }
        }
    }

    @Test func `Any bytes are read or refused`() throws {
        var random = SplitMix64(seed: 7)
        let sender = SessionSource(peerID: "phone", incarnation: 1)
        var short = try ShortForm(SessionControl.random(&random), of: sender)
        let whole = short.bytes
        for _ in 0..<20_000 {
            short.bytes = whole
            for _ in 0...random.below(3) {
                short.bytes[random.below(whole.count)] = UInt8(truncatingIfNeeded: random.next())
            }
            _ = try? short.control(of: sender)
            _ = try? short.samples(of: sender, at: .zero)
            _ = try? short.seriesMessage(of: sender.peerID) { _ in nil }
        }
    }

    @Test func `A control with little news takes 120 bytes at most, and a shown number 60 with its metadata`() throws {
        let (phone, watch) = (
            SessionSource(peerID: "phone", incarnation: 1), SessionSource(peerID: "watch", incarnation: 2)
        )
        var control = SessionControl(
            group: phone, members: [phone, watch],
            held: SequenceVector([phone, watch].map { SourceSequence(source: $0, sequence: 20) }), isDigest: true,
            position: 40, chain: 1 << 60,
            clockEchoes: [ClockEcho(source: watch, sentAt: Date(), receivedAt: Date())])
        control.view = ViewStatement()
        (control.silence, control.reads) = (300_000, 1)
        #expect(try ShortForm(control, of: phone).bytes.count <= 64)
    }

    @Test(arguments: [[true, true], [true, false], [false, true], [false, false]])
    func `Devices of this and the previous version hold the same and see each other's values`(
        versions: [Bool]
    ) async throws {
        let world = VirtualWorld(seed: 61)
        let sessions = zip([phone, watch], versions).map { peer, isNew in
            world.session(world.transport(peer), incarnation: peer == phone ? 1 : 2) { $0.usesShortForms = isNew }
        }
        await world.meet()
        for session in sessions { session.start() }
        await world.settle(until: { sessions.allSatisfy(\.isMember) })
        let types = Locked<Set<String>>([])
        let listening = sessions.map { session in
            let envelopes = session.transport.receiveEnvelopes()
            return Task {
                for await envelope in envelopes { types.withLock { _ = $0.insert(envelope.metadata.payloadType) } }
            }
        }
        try sessions[0].show(61, as: .rate)
        try sessions[1].show(72, as: .rate)
        for number in 1...5 {
            try sessions[0].submit(.add(number))
            try sessions[1].submit(.add(number))
            await world.run(.seconds(1))
        }
        await world.settle(until: {
            sessions.allSatisfy { $0.confirmedCount == 10 && $0.values(of: .rate) == ["phone": 61, "watch": 72] }
        })
        let areBothNew = versions == [true, true]
        #expect(types.withLock { $0.contains(ShortForm.controlType) } == areBothNew)
        #expect(types.withLock { $0.contains(ShortForm.shownType) } == areBothNew)
        for task in listening { task.cancel() }
    }
}

extension SplitMix64 {
    fileprivate mutating func below(_ limit: Int) -> Int { Int(upTo(UInt64(limit - 1))) }
}

extension SessionSource {
    fileprivate static func random(_ random: inout SplitMix64) -> SessionSource {
        SessionSource(
            peerID: ["phone", "watch", "tablet", ""][random.below(4)], incarnation: UInt32(random.below(3)))
    }
}

extension SessionControl {
    fileprivate static func random(_ generator: inout SplitMix64) -> SessionControl {
        var random = generator
        defer { generator = random }
        func list<Element>(_ most: Int, _ element: () -> Element) -> [Element] {
            (0..<random.below(most + 1)).map { _ in element() }
        }
        func number() -> UInt64 { random.next() >> UInt64(random.below(64)) }
        func moment() -> Date { Date(timeIntervalSinceReferenceDate: Double(number() >> 20) / 1_000) }
        var control = SessionControl(
            group: random.below(3) == 0 ? nil : .random(&random), members: list(3) { .random(&random) },
            firstSequence: number(),
            held: SequenceVector(list(4) { SourceSequence(source: .random(&random), sequence: number()) }),
            asks: list(2) { LivenessToken(source: .random(&random), value: UInt32(truncatingIfNeeded: number())) },
            echoes: list(2) { LivenessToken(source: .random(&random), value: UInt32(truncatingIfNeeded: number())) },
            wants: random.below(4) > 0 ? [] : [SessionRange(source: .random(&random), first: 1, last: number())],
            isDigest: random.below(2) == 0, position: number(), chain: random.below(2) == 0 ? 0 : number(),
            clockEchoes: list(2) {
                ClockEcho(source: .random(&random), sentAt: moment(), receivedAt: moment())
            },
            forked: random.below(4) > 0 ? [] : [SourceSequence(source: .random(&random), sequence: number())])
        control.hasEnded = random.below(2) == 0
        switch random.below(3) {
        case 0: control.view = ViewStatement(number: number())
        case 1: control.view = ViewStatement(number: number(), isLeaving: true)
        default: break
        }
        if random.below(2) == 0 { control.silence = number() }
        if random.below(2) == 0 { control.reads = number() }
        if random.below(4) == 0 { control.relays = [SessionRange(source: .random(&random), first: 2, last: number())] }
        return control
    }
}
