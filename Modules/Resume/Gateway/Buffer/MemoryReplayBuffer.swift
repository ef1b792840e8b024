import MeshBase

/// A buffer in memory. When its process ends, the events are lost and every stream gets a new epoch. Copies of one buffer share
/// their contents. Each subscriber holds up to 4096 notices; beyond that the oldest are dropped.
public struct MemoryReplayBuffer: ReplayBuffer {
    private let contents: Locked<ReplayContents>
    private let topic = Topic<ReplayNotice>(bufferLimit: 4096)
    private let now: @Sendable () -> Duration

    /// Creates an empty buffer.
    public init(_ limits: ReplayLimits = ReplayLimits()) {
        let start = ContinuousClock.now
        self.init(limits, seed: .random(in: 0 ... .max), now: { start.duration(to: .now) })
    }

    package init(_ limits: ReplayLimits, seed: UInt64, now: @escaping @Sendable () -> Duration) {
        contents = Locked(ReplayContents(limits, seed: seed))
        self.now = now
    }

    public func append(_ event: ReplayEvent, to stream: String) async -> ReplayPosition {
        let (notice, handover) = contents.withLock { contents in
            let notice = contents.append(event, to: stream, now())
            return (notice, topic.enqueue(notice))
        }
        handover.complete()
        return ReplayPosition(epoch: notice.epoch, sequence: notice.entry.sequence)
    }

    public func standing(of stream: String) async -> ReplayStanding {
        contents.withLock { $0.standing(of: stream, now()) }
    }

    public func page(of stream: String, after position: ReplayPosition, limit: Int) async -> ReplayPage {
        contents.withLock { $0.page(of: stream, after: position, limit: limit, now()) }
    }

    /// Loses everything, as a restart of the process would.
    func lose() { contents.withLock { $0.removeAll() } }

    public func notices() -> AsyncStream<ReplayNotice> { topic.subscribe() }
}
