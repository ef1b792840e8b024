import Foundation
import MeshConnection
import MeshIdentity
import MeshStorage

/// A request of one peer.
struct RequestKey: Hashable, Codable, Sendable {
    let peerID: String
    let id: UUID
}

/// Which requests have come, so that each runs once, and what was answered, so that it can be said again.
///
/// With a store it outlives the process: `begin` has been written before the handler runs, so that a request whose
/// handler was cut off by the end of the process is never run again; its second copy, and whoever waits, gets
/// `remoteError`.
///
/// Bounds: 4096 requests and a day; the oldest answered one makes room, and from then on any request of that peer that is
/// not known and not newer than it is refused, so that no copy ever runs twice. Replies: 8 MiB; the oldest are forgotten,
/// their requests are not. The store is called on the actor's thread: one short write for each step.
actor RequestLedger {
    static let entriesMax = 4096
    static let replyBytesMax = 8 << 20
    static let ageMax: Int64 = 24 * 3600 * 1000
    /// Peers of whom a floor is known.
    static let floorsMax = 1024
    static let journalName = "sessionmesh.requests/ledger"
    static let floorsKey = "sessionmesh.requests/floors"

    enum Standing: Sendable {
        case new
        /// Taken or being handled.
        case underWay
        /// nil when the reply is no longer kept, or when there was none.
        case answered(RequestMessage?)
        /// Nobody can say any more whether it has run.
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
        /// The first record in the journal; nil without any.
        var position: UInt64?
    }

    /// What a process before this one has left.
    struct Leftover: Sendable {
        /// Taken and not begun, in order.
        var waiting: [(key: RequestKey, request: RequestMessage)] = []
        /// Somebody may wait for these still.
        var replies: [(peerID: String, reply: RequestMessage)] = []
    }

    private let store: (any SessionStore)?
    private let wall: @Sendable () -> UInt64
    private var entries: [RequestKey: Entry] = [:]
    /// In the order in which they came; `firstIndex` and on are alive.
    private var order: [RequestKey] = []
    private var firstIndex = 0
    private var floors: [String: HybridTimestamp] = [:]
    private var replyBytes = 0
    private var oldestReplyIndex = 0
    private var journal = StoreJournal(RequestLedger.journalName)
    private var isLoaded = false

    /// - Parameter wall: milliseconds since 1970.
    init(store: (any SessionStore)?, wall: @escaping @Sendable () -> UInt64) {
        self.store = store
        self.wall = wall
    }

    var count: Int { entries.count }

    func knows(_ key: RequestKey) -> Bool { entries[key] != nil }

    /// - Parameter isKept: written down, because nobody will send it again.
    /// - Throws: `StorageError`; then it has not been taken.
    func take(_ request: RequestMessage, as key: RequestKey, isKept: Bool) throws -> Standing {
        if let entry = entries[key] {
            switch entry.phase {
            case .taken where isKept && entry.position == nil:
                // This copy will not come again, and the one before it is in memory only.
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
        makeRoom()
        return .new
    }

    /// The handler is about to run.
    /// - Throws: `StorageError`; then it must not.
    func begin(_ key: RequestKey) throws {
        guard var entry = entries[key], case .taken(let request) = entry.phase else { return }
        var head = request
        head.body = Data()
        let position = try write(LedgerRecord(.begun, key, head, at: entry.takenAt))
        entry.position = entry.position ?? position
        entry.phase = .begun
        entries[key] = entry
    }

    /// - Parameter reply: nil for a request that has none.
    func answer(_ key: RequestKey, with reply: RequestMessage?) {
        guard var entry = entries[key] else { return }
        // What cannot be written is known to this process all the same; after its end the request counts as cut off.
        let position = entry.position == nil ? nil : try? write(LedgerRecord(.answered, key, reply, at: entry.takenAt))
        entry.position = entry.position ?? position
        if case .answered(let old) = entry.phase { replyBytes -= old?.body.count ?? 0 }
        entry.phase = .answered(reply)
        entries[key] = entry
        replyBytes += reply?.body.count ?? 0
        makeRoom()
    }
}

// MARK: - Bounds

extension RequestLedger {
    private func makeRoom() {
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
        // Several at a time, so that the journal is truncated now and then only.
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
                    // Still being handled: looked at again after all the others.
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
            .replyFailed(reason: "the reply is no longer kept"), id: reply.id, type: reply.type)
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
    /// Reads what the store holds. To be called before anything else, until it has succeeded or is given up.
    /// - Throws: `StorageError`; nothing is known then.
    func load() throws -> Leftover {
        guard !isLoaded, let store else { return Leftover() }
        do {
            if let bytes = try store.value(for: Self.floorsKey) {
                let kept = try? JSONDecoder().decode([String: HybridTimestamp].self, from: Data(bytes))
                // An earlier version believed every stamp.
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
        return settleLeftovers()
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

    private func settleLeftovers() -> Leftover {
        var left = Leftover()
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
        makeRoom()
        return left
    }

    /// - Returns: the record's position; nil without a store.
    private func write(_ record: LedgerRecord) throws -> UInt64? {
        guard let store else { return nil }
        let bytes = Array(try JSONEncoder().encode(record))
        do {
            return try journal.append(bytes, to: store)
        } catch let error as StorageError where error.code == .outOfOrder {
            // A ledger before this one has finished something late.
            let end = journal.next
            try journal.load(from: store)
            guard journal.next > end else { throw error }
            return try journal.append(bytes, to: store)
        }
    }

    /// Gives up what lies before the oldest request that is known.
    private func truncate() {
        guard let store else { return }
        var (journal, batch) = (journal, StoreBatch())
        journal.truncate(below: entries.values.compactMap(\.position).min() ?? journal.next, in: &batch)
        if let bytes = try? JSONEncoder().encode(floors) { batch.set(Array(bytes), for: Self.floorsKey) }
        // The next one does it if this one fails.
        if (try? store.commit(batch)) != nil { self.journal = journal }
    }
}

/// One step of a request, as the journal has it.
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
    /// What is remembered of a request.
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
