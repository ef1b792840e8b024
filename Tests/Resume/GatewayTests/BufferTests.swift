import MeshBase
import Testing

@testable import MeshResumeGateway

/// A clock that a test advances.
final class MovableTime: Sendable {
    private let state = Locked(Duration.zero)

    var now: Duration { state.withLock { $0 } }
    func pass(_ time: Duration) { state.withLock { $0 += time } }
}

/// A store behind a lock, which can lose its contents.
final class LosableBuffer: ReplayBuffer {
    private let buffer: Locked<MemoryReplayBuffer>
    private let make: @Sendable (UInt64) -> MemoryReplayBuffer
    private let epochs = Locked(UInt64(1))

    init(_ limits: ReplayLimits, _ time: MovableTime) {
        let make: @Sendable (UInt64) -> MemoryReplayBuffer = { seed in
            MemoryReplayBuffer(limits, seed: seed, now: { time.now })
        }
        self.make = make
        buffer = Locked(make(1))
    }

    private var current: MemoryReplayBuffer { buffer.withLock { $0 } }

    /// - Parameter keepsEpoch: True for a server that counts from 1 again in the same epoch.
    func lose(keepsEpoch: Bool = false) {
        let seed = epochs.withLock { epoch in
            if !keepsEpoch { epoch += 1 }
            return epoch
        }
        buffer.withLock { $0 = make(seed) }
    }

    func append(_ event: ReplayEvent, to stream: String) async -> ReplayPosition {
        await current.append(event, to: stream)
    }
    func standing(of stream: String) async -> ReplayStanding { await current.standing(of: stream) }
    func page(of stream: String, after position: ReplayPosition, limit: Int) async -> ReplayPage {
        await current.page(of: stream, after: position, limit: limit)
    }
    func notices() -> AsyncStream<ReplayNotice> { current.notices() }
}

/// A buffer with one rule broken.
struct BrokenBuffer: ReplayBuffer {
    enum Fault: String, CaseIterable {
        case numbersFromZero = "numbers"
        /// K23: each process numbers its own events.
        case numbersByItself = "one-numbering"
        case rangeIncludesItsBegin = "range"
        case saysOneTooMany = "newest"
        case keepsEverything = "count"
        case weighsNothing = "bytes"
        case forgetsNothing = "age"
        /// K20: a buffer that lost its events keeps its epoch.
        case keepsEpoch = "epoch"
        case answersTheFuture = "ahead"
        case noticesOnlyItself = "notice"
        case servesNothing = "served"
    }

    let whole: any ReplayBuffer
    let fault: Fault
    let own: any ReplayBuffer

    func append(_ event: ReplayEvent, to stream: String) async throws -> ReplayPosition {
        var position = try await whole.append(event, to: stream)
        if fault == .numbersFromZero { position.sequence -= 1 }
        if fault == .numbersByItself || fault == .noticesOnlyItself {
            let epoch = position.epoch
            let by = try await own.append(event, to: stream)
            if fault == .numbersByItself { position = ReplayPosition(epoch: epoch, sequence: by.sequence) }
        }
        return position
    }

    func standing(of stream: String) async throws -> ReplayStanding {
        var standing = try await whole.standing(of: stream)
        if fault == .saysOneTooMany { standing.newest += 1 }
        return standing
    }

    func page(of stream: String, after position: ReplayPosition, limit: Int) async throws -> ReplayPage {
        var position = position
        if fault == .rangeIncludesItsBegin, position.sequence > 0 { position.sequence -= 1 }
        let page = try await whole.page(of: stream, after: position, limit: limit)
        if fault == .answersTheFuture, case .foreign(let standing) = page { return .entries([], standing) }
        return page
    }

    func notices() -> AsyncStream<ReplayNotice> { fault == .noticesOnlyItself ? own.notices() : whole.notices() }

    func notices(of streams: ServedStreams) -> AsyncStream<ReplayNotice> {
        fault == .servesNothing ? AsyncStream { $0.finish() } : whole.notices(of: streams)
    }
}

@Suite struct BufferTests {
    private func subject(_ limits: ReplayLimits, fault: BrokenBuffer.Fault? = nil) -> ReplayBufferRules.Subject {
        let time = MovableTime()
        var kept = limits
        switch fault {
        case .keepsEverything: kept.count = 1000
        case .weighsNothing: kept.bytes = .max
        case .forgetsNothing: kept.age = .seconds(1_000_000)
        default: break
        }
        let store = LosableBuffer(kept, time)
        let faces = (0..<2).map { _ -> any ReplayBuffer in
            guard let fault else { return store }
            let own = MemoryReplayBuffer(kept)
            // A stream without a publisher ends, so that the check doesn't wait for it.
            if fault == .noticesOnlyItself {
                return BrokenBuffer(whole: store, fault: fault, own: SilentBuffer(buffer: own))
            }
            return BrokenBuffer(whole: store, fault: fault, own: own)
        }
        return ReplayBufferRules.Subject(
            first: faces[0], second: faces[1], pass: { time.pass($0) },
            lose: { store.lose(keepsEpoch: fault == .keepsEpoch) })
    }

    @Test(arguments: ReplayBufferRules.all.map(\.id))
    func `The buffer in memory keeps every rule, including K20 and K23`(id: String) async throws {
        let rule = try #require(ReplayBufferRules.all.first { $0.id == id })
        #expect(try await rule.examine { subject($0) } == nil)
    }

    @Test(arguments: ReplayBufferRules.all.map(\.id))
    func `Each rule detects a buffer that breaks it`(id: String) async throws {
        let rule = try #require(ReplayBufferRules.all.first { $0.id == id })
        let fault = try #require(BrokenBuffer.Fault(rawValue: id), "no broken buffer for \(id)")
        #expect(try await rule.examine { subject($0, fault: fault) } != nil)
    }

    @Test func `Beyond the maximum, the least recently used stream starts over`() async throws {
        let buffer = MemoryReplayBuffer(ReplayLimits(streams: 2))
        let event = try ReplayEvent(type: "E", json: Array("1".utf8))
        let first = await buffer.append(event, to: "a")
        let second = await buffer.append(event, to: "b")
        _ = await buffer.standing(of: "a")
        _ = await buffer.append(event, to: "c")
        #expect(await buffer.standing(of: "a").epoch == first.epoch)
        let third = await buffer.standing(of: "b")
        #expect(third.epoch != second.epoch)
        #expect(third.newest == 0)
    }

    @Test func `Invalid JSON and invalid event names are refused`() {
        for (type, json) in [
            ("", "1"), ("READY", "1"), ("A B", "1"), ("A\"", "1"), ("A", "{"), ("A", "1,2"), ("A", ""),
        ] {
            #expect(throws: ReplayBufferError.self) { try ReplayEvent(type: type, json: Array(json.utf8)) }
        }
        let long = "\"" + String(repeating: "x", count: ReplayEvent.jsonBytesMax) + "\""
        for json in [[0x31, 0], [0, 0x31], [0xef, 0xbb, 0xbf, 0x31], [0x22, 0xff, 0x22], Array(long.utf8)] as [[UInt8]]
        {
            #expect(throws: ReplayBufferError.self) { try ReplayEvent(type: "E", json: json) }
        }
    }
}

/// A buffer without notices.
private struct SilentBuffer: ReplayBuffer {
    let buffer: MemoryReplayBuffer

    func append(_ event: ReplayEvent, to stream: String) async -> ReplayPosition {
        await buffer.append(event, to: stream)
    }
    func standing(of stream: String) async -> ReplayStanding { await buffer.standing(of: stream) }
    func page(of stream: String, after position: ReplayPosition, limit: Int) async -> ReplayPage {
        await buffer.page(of: stream, after: position, limit: limit)
    }
    func notices() -> AsyncStream<ReplayNotice> { AsyncStream { $0.finish() } }
}
