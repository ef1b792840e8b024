import Foundation
import MeshBase
import MeshIdentity
import MeshStorage
import Testing

@testable import MeshRequests

@Suite struct RequestLedgerTests {
    private let now = Locked(UInt64(1_000_000))

    private func ledger(_ store: (any SessionStore)? = nil) -> RequestLedger {
        RequestLedger(store: store) { [now] in now.withLock { $0 } }
    }

    private func loaded(_ store: (any SessionStore)?) async throws -> RequestLedger {
        let ledger = ledger(store)
        _ = try await restored(ledger)
        return ledger
    }

    private func restored(_ ledger: RequestLedger) async throws -> RequestLedger.RestoredWork {
        let restored = Locked(RequestLedger.RestoredWork())
        try await ledger.load { left in restored.withLock { $0 = left } }
        return restored.withLock { $0 }
    }

    private func request(_ number: UInt64, body: Data = Data()) -> RequestMessage {
        let bytes = withUnsafeBytes(of: (number.bigEndian, number.bigEndian)) { Array($0) }
        let id = UUID(uuid: bytes.withUnsafeBytes { $0.loadUnaligned(as: uuid_t.self) })
        var message = RequestMessage(.request, id: id, type: "Log", body: body)
        message.stamp = HybridTimestamp(milliseconds: number)
        return message
    }

    private func key(_ message: RequestMessage) -> RequestKey { RequestKey(peerID: "phone", id: message.id) }

    private func reply(to message: RequestMessage, bytes: Int = 1) -> RequestMessage {
        RequestMessage(.answer, id: message.id, type: message.type, body: Data(count: bytes))
    }

    private func name(_ status: RequestLedger.Status) -> String {
        switch status {
        case .new: "new"
        case .underWay: "under way"
        case .answered(let reply): "answered \(reply?.kind ?? "nothing")"
        case .tooOld: "too old"
        }
    }

    @Test(arguments: [false, true]) func `A request goes through its steps once`(isKept: Bool) async throws {
        for store in [nil, MemoryStore()] {
            let ledger = try await loaded(store)
            let request = request(1)
            #expect(name(try await ledger.take(request, as: key(request), isKept: isKept)) == "new")
            #expect(name(try await ledger.take(request, as: key(request), isKept: isKept)) == "under way")
            try await ledger.begin(key(request))
            #expect(name(try await ledger.take(request, as: key(request), isKept: isKept)) == "under way")
            await ledger.answer(key(request), with: reply(to: request))
            #expect(name(try await ledger.take(request, as: key(request), isKept: isKept)) == "answered answer")
            // Another peer may have generated an equal id.
            let other = RequestKey(peerID: "tablet", id: request.id)
            #expect(name(try await ledger.take(request, as: other, isKept: isKept)) == "new")
        }
    }

    /// The sender relies on the kept copy. The live copy may still wait for its handler when the process ends.
    @Test func `The stored copy of a live request survives the process`() async throws {
        let store = MemoryStore()
        let first = try await loaded(store)
        let request = request(1)
        #expect(name(try await first.take(request, as: key(request), isKept: false)) == "new")
        #expect(name(try await first.take(request, as: key(request), isKept: true)) == "under way")
        #expect(try await restored(ledger(store)).waiting.map(\.key) == [key(request)])
    }

    @Test func `A ledger continues below an earlier one's late writes`() async throws {
        let store = MemoryStore()
        let (earlier, later) = (try await loaded(store), try await loaded(store))
        let (first, second) = (request(1), request(2))
        _ = try await earlier.take(first, as: key(first), isKept: true)
        #expect(name(try await later.take(second, as: key(second), isKept: true)) == "new")
        try await later.begin(key(second))
        #expect(try await restored(ledger(store)).waiting.map(\.key) == [key(first)])
    }

    @Test func `A bounded number of requests is remembered, and none runs twice`() async throws {
        let store = MemoryStore()
        let ledger = try await loaded(store)
        let count = UInt64(RequestLedger.entriesMax * 2)
        for number in 1...count {
            let request = request(number)
            #expect(name(try await ledger.take(request, as: key(request), isKept: true)) == "new")
            try await ledger.begin(key(request))
            await ledger.answer(key(request), with: reply(to: request))
        }
        #expect(await ledger.count <= RequestLedger.entriesMax)
        for ledger in [ledger, self.ledger(store)] {
            _ = try await restored(ledger)
            #expect(await ledger.count <= RequestLedger.entriesMax)
            var standings: Set<String> = []
            for number in 1...count {
                standings.insert(name(try await ledger.take(request(number), as: key(request(number)), isKept: true)))
            }
            #expect(standings == ["too old", "answered answer"])
            #expect(
                name(try await ledger.take(request(count + 1), as: key(request(count + 1)), isKept: false)) == "new")
        }
        let journal = try #require(try store.catalog(prefix: RequestLedger.journalName).journals.first)
        #expect(journal.positions.count <= RequestLedger.entriesMax * 4)
    }

    @Test func `A request that never ends is remembered until it does`() async throws {
        let ledger = ledger()
        let stuck = request(1)
        _ = try await ledger.take(stuck, as: key(stuck), isKept: false)
        try await ledger.begin(key(stuck))
        for number in 2...UInt64(RequestLedger.entriesMax * 2) {
            _ = try await ledger.take(request(number), as: key(request(number)), isKept: false)
            await ledger.answer(key(request(number)), with: nil)
        }
        #expect(await ledger.count <= RequestLedger.entriesMax)
        #expect(name(try await ledger.take(stuck, as: key(stuck), isKept: false)) == "under way")
    }

    @Test func `After a day a request is too old`() async throws {
        let ledger = ledger()
        let old = request(5)
        _ = try await ledger.take(old, as: key(old), isKept: false)
        await ledger.answer(key(old), with: reply(to: old))
        now.withLock { $0 += UInt64(RequestLedger.ageMax) + 1 }
        _ = try await ledger.take(request(6), as: key(request(6)), isKept: false)
        #expect(name(try await ledger.take(old, as: key(old), isKept: false)) == "too old")
        #expect(name(try await ledger.take(request(7), as: key(request(7)), isKept: false)) == "new")
    }

    @Test func `Replies are kept up to a number of bytes, and requests beyond it`() async throws {
        let ledger = ledger()
        let bytes = RequestLedger.replyBytesMax / 8
        for number in 1...16 as ClosedRange<UInt64> {
            _ = try await ledger.take(request(number), as: key(request(number)), isKept: false)
            await ledger.answer(key(request(number)), with: reply(to: request(number), bytes: bytes))
        }
        var standings: [String] = []
        for number in 1...16 as ClosedRange<UInt64> {
            standings.append(name(try await ledger.take(request(number), as: key(request(number)), isKept: false)))
        }
        #expect(standings.count { $0 == "answered answer" } == 7)
        #expect(standings.count { $0 == "answered failure" } == 9)
        #expect(standings.suffix(7).allSatisfy { $0 == "answered answer" })
    }

    @Test func `Stored bytes that aren't a record are skipped`() async throws {
        let store = MemoryStore()
        let first = try await loaded(store)
        let request = request(1, body: Data([1, 2, 3]))
        _ = try await first.take(request, as: key(request), isKept: true)
        var batch = StoreBatch()
        batch.append([9, 9, 9], to: RequestLedger.journalName, at: 2)
        batch.set([7], for: RequestLedger.floorsKey)
        try store.commit(batch)
        let second = ledger(store)
        let left = try await restored(second)
        #expect(left.waiting.map(\.request.body) == [Data([1, 2, 3])])
        try await second.begin(key(request))
        let third = ledger(store)
        let cutOff = try await restored(third)
        #expect(cutOff.waiting.isEmpty)
        #expect(cutOff.replies.map(\.reply.kind) == ["failure"])
    }
}
