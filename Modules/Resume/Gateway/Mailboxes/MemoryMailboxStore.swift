import MeshBase

/// A store of mailboxes in memory. They are lost when its process ends. Copies of one store share their contents. Each
/// subscriber holds up to 4096 notices, and as many changes; beyond that the oldest are dropped.
///
/// A store that holds as many mailboxes as its limits allow refuses new users' mailboxes.
public struct MemoryMailboxStore: MailboxStore {
    private let contents: Locked<MailboxContents>
    private let notice = Topic<ReplayNotice>(bufferLimit: 4096)
    private let topic = Topic<MailboxWord>(bufferLimit: 4096)
    private let now: @Sendable () -> Duration

    /// Creates an empty store.
    public init(_ limits: ReplayLimits = MailboxBounds.queue) {
        let start = ContinuousClock.now
        self.init(limits, seed: .random(in: 0 ... .max), now: { start.duration(to: .now) })
    }

    package init(_ limits: ReplayLimits, seed: UInt64, now: @escaping @Sendable () -> Duration) {
        contents = Locked(MailboxContents(limits, seed: seed))
        self.now = now
    }

    public func append(_ event: ReplayEvent, to stream: String) async -> ReplayPosition {
        let (appended, handover) = contents.withLock { contents in
            let appended = contents.queues.append(event, to: stream, now())
            return (appended, notice.enqueue(appended))
        }
        handover.complete()
        return ReplayPosition(epoch: appended.epoch, sequence: appended.entry.sequence)
    }

    public func standing(of stream: String) async -> ReplayStanding {
        contents.withLock { $0.queues.standing(of: stream, now()) }
    }

    public func page(of stream: String, after position: ReplayPosition, limit: Int) async -> ReplayPage {
        contents.withLock { $0.queues.page(of: stream, after: position, limit: limit, now()) }
    }

    public func notices() -> AsyncStream<ReplayNotice> { notice.subscribe() }

    public func post(_ event: ReplayEvent, from sender: String, to stream: String) async -> Bool {
        change { $0.post(event, from: sender, to: stream, $1) }
    }

    public func enrol(_ mailbox: String, of user: String, max: Int) async -> Bool {
        change { $0.enrol(mailbox, of: user, max: max, $1) }
    }

    public func remove(_ mailbox: String, of user: String) async {
        _ = change { contents, _ in contents.remove(mailbox) }
    }

    public func set(_ value: [UInt8], _ name: String, of stream: String) async -> Bool {
        change { $0.set(value, name, of: stream, $1) }
    }

    public func values(_ names: [String]?, of stream: String) async -> [String: [UInt8]] {
        contents.withLock { $0.values.values(names, of: stream) }
    }

    /// Publishes the bytes to this process's subscribers. There is no other process.
    public func pass(_ bytes: [UInt8], to stream: String) async { topic.publish(.passed(bytes, stream: stream)) }

    public func words() -> AsyncStream<MailboxWord> { topic.subscribe() }

    /// Loses everything, as a restart of the process would.
    func lose() { contents.withLock { $0.removeAll() } }

    private func change(_ body: (inout MailboxContents, Duration) -> MailboxContents.Change?) -> Bool {
        let handovers = contents.withLock { contents -> [TopicHandover]? in
            guard let change = body(&contents, now()) else { return nil }
            return (change.notice.map { [notice.enqueue($0)] } ?? []) + change.words.map { topic.enqueue($0) }
        }
        for handover in handovers ?? [] { handover.complete() }
        return handovers != nil
    }
}
