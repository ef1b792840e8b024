import Foundation
import MeshConnection
import MeshIdentity
import MeshStorage

// The ledger makes each request run at most once. It records three steps: taken, begun (before the handler runs) and
// answered. A duplicate gets the stored reply or a receipt. With a store the steps go to a journal, so the guarantee holds
// across launches: a request that was begun but not answered when the process ended is never run again and gets
// `remoteError`. Forgotten requests leave a floor for each peer: the highest stamp that was forgotten. A request that is
// unknown and not above the floor may have run before, so it is refused. Docs/Guides/Requests.md, "Guarantees", has more.

/// The identity of a peer's request.
struct RequestKey: Hashable, Codable, Sendable {
    let peerID: String
    let id: UUID
}

/// The requests that have arrived, so that each runs once, and their replies, so that duplicates can be answered.
///
/// Remembers 4096 requests for up to a day. Beyond that, the oldest answered requests are forgotten and raise their
/// peers' floors. Keeps 8 MiB of replies. Beyond that, the oldest replies are dropped, but not their requests. Each step
/// is one short write to the store, on the actor's thread.
actor RequestLedger {
    static let entriesMax = 4096
    static let replyBytesMax = 8 << 20
    static let ageMax: Int64 = 24 * 3600 * 1000
    /// Maximum number of peers with a floor.
    static let floorsMax = 1024
    static let journalName = "sessionmesh.requests/ledger"
    static let floorsKey = "sessionmesh.requests/floors"

    enum Status: Sendable {
        case new
        /// The request waits or is being handled.
        case underWay
        /// The request was answered. The reply is nil if it is no longer kept, or if there was none.
        case answered(RequestMessage?)
        /// The request is not above the floor, so it may have run.
        case tooOld
    }

    fileprivate enum Phase {
        case taken(RequestMessage)
        case begun
        case answered(RequestMessage?)
    }

    fileprivate struct Entry {
        var phase: Phase
        let request: RequestMessage.Head
        /// Milliseconds since 1970.
        let takenAt: UInt64
        /// The position of the first record in the journal. Nil if there is none.
        var position: UInt64?
    }

    /// Requests and replies that an earlier process has left.
    struct RestoredWork: Sendable {
        /// Requests that were taken but not begun, in order.
        var waiting: [(key: RequestKey, request: RequestMessage)] = []
        /// Replies that the peer may still wait for.
        var replies: [(peerID: String, reply: RequestMessage)] = []
    }

    private let store: (any SessionStore)?
    private let wall: @Sendable () -> UInt64
    private var entries: [RequestKey: Entry] = [:]
    /// Keys in the order of arrival. Those before `firstIndex` are removed.
    private var order: [RequestKey] = []
    private var firstIndex = 0
    private var floors: [String: HybridTimestamp] = [:]
    private var replyBytes = 0
    private var oldestReplyIndex = 0
    private var journal = StoreJournal(RequestLedger.journalName)
    /// True once the store was read. True at once if there is none.
    private(set) var isLoaded: Bool

    /// - Parameter wall: returns milliseconds since 1970.
    init(store: (any SessionStore)?, wall: @escaping @Sendable () -> UInt64) {
        self.store = store
        self.wall = wall
        isLoaded = store == nil
    }

    var count: Int { entries.count }

    /// - Throws: `StorageError` before `load` has succeeded.
    func knows(_ key: RequestKey) throws -> Bool {
        try checkIsLoaded()
        return entries[key] != nil
    }

    /// Takes a request if it is new, and returns its status.
    /// - Parameter isKept: true to write the request to the store, because the peer won't send it again.
    /// - Throws: `StorageError`, always before `load` has succeeded. Then the request wasn't taken.
    func take(_ request: RequestMessage, as key: RequestKey, isKept: Bool) throws -> Status {
        try checkIsLoaded()
        if let entry = entries[key] {
            switch entry.phase {
            case .taken where isKept && entry.position == nil:
                // The earlier copy is only in memory, and this one won't be sent again.
                entries[key]?.position = try write(LedgerRecord(.taken, key, request, at: entry.takenAt))
                return .underWay
            case .taken, .begun: return .underWay
            case .answered(let reply): return .answered(reply)
            }
        }
        if let floor = floors[key.peerID], request.stamp ?? .zero <= floor { return .tooOld }
        var entry = Entry(phase: .taken(request), request: request.head, takenAt: wall())
        if isKept { entry.position = try write(LedgerRecord(.taken, key, request, at: entry.takenAt)) }
        entries[key] = entry
        order.append(key)
        evictIfNeeded()
        return .new
    }

    /// An unread ledger would take a duplicate for a new request, and later truncate records that it hasn't read.
    private func checkIsLoaded() throws {
        guard isLoaded else { throw StorageError(.unavailable, "the requests of earlier launches can't be read") }
    }

    /// Records that the handler is about to run.
    /// - Throws: `StorageError`. Then the handler must not run.
    func begin(_ key: RequestKey) throws {
        guard var entry = entries[key], case .taken(let request) = entry.phase else { return }
        var head = request
        head.body = Data()
        let position = try write(LedgerRecord(.begun, key, head, at: entry.takenAt))
        entry.position = entry.position ?? position
        entry.phase = .begun
        entries[key] = entry
    }

    /// Records the reply.
    /// - Parameter reply: nil for a request that has none.
    func answer(_ key: RequestKey, with reply: RequestMessage?) {
        guard var entry = entries[key] else { return }
        // If the write fails, only this process knows the reply. The next one treats the request as interrupted.
        let position = entry.position == nil ? nil : try? write(LedgerRecord(.answered, key, reply, at: entry.takenAt))
        entry.position = entry.position ?? position
        if case .answered(let old) = entry.phase { replyBytes -= old?.body.count ?? 0 }
        entry.phase = .answered(reply)
        entries[key] = entry
        replyBytes += reply?.body.count ?? 0
        evictIfNeeded()
    }
}

// MARK: - Bounds

extension RequestLedger {
    private func evictIfNeeded() {
        dropOldest()
        oldestReplyIndex = max(oldestReplyIndex, firstIndex)
        while replyBytes > Self.replyBytesMax, oldestReplyIndex < order.count {
            forgetReply(of: order[oldestReplyIndex])
            oldestReplyIndex += 1
        }
        guard firstIndex > order.count / 2, firstIndex > 64 else { return }
        order.removeFirst(firstIndex)
        oldestReplyIndex -= firstIndex
        firstIndex = 0
    }

    private func dropOldest() {
        // Drops several at a time, so that the journal is truncated less often.
        let most = entries.count > Self.entriesMax ? Self.entriesMax - Self.entriesMax / 16 : Self.entriesMax
        var isTruncated = false
        for _ in firstIndex..<order.count {
            let key = order[firstIndex]
            if let entry = entries[key] {
                guard entries.count > most || wall().millisecondsSince(entry.takenAt) > Self.ageMax else { break }
                if case .answered(let reply) = entry.phase {
                    replyBytes -= reply?.body.count ?? 0
                    entries[key] = nil
                    raiseFloor(of: key.peerID, to: entry.request.stamp)
                    isTruncated = isTruncated || entry.position != nil
                } else {
                    // Still being handled. Moves it behind all others.
                    order.append(key)
                }
            }
            firstIndex += 1
        }
        if isTruncated { truncate() }
    }

    private func forgetReply(of key: RequestKey) {
        guard let entry = entries[key], case .answered(let reply?) = entry.phase else { return }
        replyBytes -= reply.body.count
        var outcome = RequestMessage.failure(
            .replyFailed(reason: "the receiver no longer has the reply"), id: reply.id, type: reply.type)
        outcome.method = reply.method
        entries[key]?.phase = .answered(outcome)
        replyBytes += outcome.body.count
    }

    private func raiseFloor(of peerID: String, to stamp: HybridTimestamp) {
        if floors[peerID] == nil, floors.count >= Self.floorsMax,
            let lowest = floors.min(by: { ($0.value, $0.key) < ($1.value, $1.key) })
        {
            floors[lowest.key] = nil
        }
        floors[peerID] = max(floors[peerID] ?? .zero, stamp)
    }
}

// MARK: - The store

extension RequestLedger {
    /// Reads the store. Call it before anything else, until it succeeds. Later calls return.
    /// - Parameter body: receives the work of an earlier process, before any other request can be taken.
    /// - Throws: `StorageError`. The ledger is then empty.
    func load(_ body: @Sendable (RestoredWork) -> Void) throws {
        guard !isLoaded, let store else { return }
        do {
            if let bytes = try store.value(for: Self.floorsKey) {
                let kept = try? JSONDecoder().decode([String: HybridTimestamp].self, from: Data(bytes))
                // An earlier version accepted implausible stamps.
                floors = (kept ?? [:]).filter { $0.value.isPlausible }
            }
            try journal.load(from: store)
            try store.forEachEntry(of: journal.name) { entry in
                if let record = try? JSONDecoder().decode(LedgerRecord.self, from: Data(entry.bytes)) {
                    restore(record, at: entry.position)
                }
            }
        } catch {
            (entries, order, replyBytes) = ([:], [], 0)
            throw error
        }
        isLoaded = true
        body(resolveInterrupted())
    }

    private func restore(_ record: LedgerRecord, at position: UInt64) {
        switch record.step {
        case .taken, .begun:
            guard let request = record.message else { return }
            if entries[record.key] == nil { order.append(record.key) }
            let phase: Phase = record.step == .taken ? .taken(request) : .begun
            let first = entries[record.key]?.position ?? position
            entries[record.key] = Entry(
                phase: phase, request: request.head, takenAt: record.takenAt, position: first)
        case .answered:
            guard let entry = entries[record.key] else { return }
            if case .answered(let old) = entry.phase { replyBytes -= old?.body.count ?? 0 }
            entries[record.key]?.phase = .answered(record.message)
            replyBytes += record.message?.body.count ?? 0
        }
    }

    private func resolveInterrupted() -> RestoredWork {
        var left = RestoredWork()
        let now = wall()
        for key in order {
            guard let entry = entries[key] else { continue }
            switch entry.phase {
            case .taken(let request): left.waiting.append((key, request))
            case .begun:
                var reply = RequestMessage.failure(
                    .remoteError(description: "the app ended while it handled the request"), id: key.id,
                    type: entry.request.type)
                reply.method = entry.request.method
                answer(key, with: reply)
                if !entry.request.isFireAndForget { left.replies.append((key.peerID, reply)) }
            case .answered(let reply?) where entry.request.expiresAt > now:
                left.replies.append((key.peerID, reply))
            case .answered: break
            }
        }
        evictIfNeeded()
        return left
    }

    /// - Returns: the record's position; nil without a store.
    private func write(_ record: LedgerRecord) throws -> UInt64? {
        guard let store else { return nil }
        let bytes = Array(try JSONEncoder().encode(record))
        do {
            return try journal.append(bytes, to: store)
        } catch let error as StorageError where error.code == .outOfOrder {
            // The ledger of an earlier launch has written to the journal in the meantime.
            let end = journal.next
            try journal.load(from: store)
            guard journal.next > end else { throw error }
            return try journal.append(bytes, to: store)
        }
    }

    /// Truncates the journal before the oldest remembered request.
    private func truncate() {
        guard let store else { return }
        var (journal, batch) = (journal, StoreBatch())
        journal.truncate(below: entries.values.compactMap(\.position).min() ?? journal.next, in: &batch)
        if let bytes = try? JSONEncoder().encode(floors) { batch.set(Array(bytes), for: Self.floorsKey) }
        // If this fails, the next call truncates the journal.
        if (try? store.commit(batch)) != nil { self.journal = journal }
    }
}

/// One step of a request in the journal.
private struct LedgerRecord: Codable {
    enum Step: String, Codable { case taken, begun, answered }

    let step: Step
    let key: RequestKey
    /// The request, or the reply.
    let message: RequestMessage?
    let takenAt: UInt64

    init(_ step: Step, _ key: RequestKey, _ message: RequestMessage?, at takenAt: UInt64) {
        self.step = step
        self.key = key
        self.message = message
        self.takenAt = takenAt
    }
}

extension RequestMessage {
    /// The part of a request that is remembered.
    struct Head: Sendable {
        let type: String
        let method: DeliveryMethod?
        let isFireAndForget: Bool
        let stamp: HybridTimestamp
        let expiresAt: UInt64
    }

    var head: Head {
        Head(
            type: type, method: method, isFireAndForget: isFireAndForget == true, stamp: stamp ?? .zero,
            expiresAt: expiresAt ?? .max)
    }
}
