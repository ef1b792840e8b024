import MeshBase

/// Mailboxes that are gone with their process. Copies of one store share what they hold. Words: 4096 for each subscriber, of
/// more the oldest go.
public struct MemoryMailboxStore: MailboxStore {
    private let buffer: MemoryReplayBuffer
    private let contents: Locked<MailboxValues>
    private let topic = Topic<MailboxWord>(bufferLimit: 4096)

    /// Creates an empty store.
    public init(_ limits: ReplayLimits = MailboxBounds.queue) {
        buffer = MemoryReplayBuffer(limits)
        contents = Locked(MailboxValues(streamsMax: limits.streams))
    }

    public func append(_ event: ReplayEvent, to stream: String) async -> ReplayPosition {
        await buffer.append(event, to: stream)
    }

    public func standing(of stream: String) async -> ReplayStanding { await buffer.standing(of: stream) }

    public func page(of stream: String, after position: ReplayPosition, limit: Int) async -> ReplayPage {
        await buffer.page(of: stream, after: position, limit: limit)
    }

    public func notices() -> AsyncStream<ReplayNotice> { buffer.notices() }

    public func set(_ value: [UInt8], _ name: String, of stream: String) async -> Bool {
        let handover = contents.withLock { contents -> TopicHandover? in
            guard contents.set(value, name, of: stream) else { return nil }
            return topic.enqueue(.changed(name: name, stream: stream))
        }
        handover?.complete()
        return handover != nil
    }

    public func values(_ names: [String]?, of stream: String) async -> [String: [UInt8]] {
        contents.withLock { $0.values(names, of: stream) }
    }

    /// Does nothing: there is no other process to tell.
    public func pass(_ bytes: [UInt8], to stream: String) async { topic.publish(.passed(bytes, stream: stream)) }

    public func words() -> AsyncStream<MailboxWord> { topic.subscribe() }
}
