public import MeshFoundation
public import MeshIdentity
import MeshTransport

/// A queue of messages that were sent before a peer was known, oldest first.
///
/// At most `envelopeLimit` envelopes wait. For each of at most `featureLimit` features, only the newest snapshot waits,
/// and a newer one is appended at the end. Only superseded snapshots are removed. A message that finds no space is
/// rejected with an error, so an accepted message is never dropped.
public struct PendingDeliveryQueue: Sendable {
    /// An element that waits in the queue.
    public enum Element: Sendable {
        /// An envelope with its options.
        case envelope(AnySessionSyncEnvelope, DeliveryOptions)
        /// A snapshot with its options. `isLatest` is true if a newer one may replace it, and false if it must arrive.
        case snapshot(AnySessionSyncSnapshot, isLatest: Bool, DeliveryOptions)
    }

    fileprivate struct Entry: Sendable {
        let element: Element
        /// The time of expiry, in milliseconds since 1970; nil for never.
        let expiresAt: UInt64?
    }

    /// Maximum number of envelopes and of snapshots that must arrive, together.
    public let envelopeLimit: Int
    /// Maximum number of features whose newest snapshot waits.
    public let featureLimit: Int
    private var entries: [Entry] = []

    /// Creates an empty queue with bounds.
    ///
    /// - Parameter envelopeLimit: snapshots that must arrive each count as envelopes.
    public init(envelopeLimit: Int = 200, featureLimit: Int = 256) {
        self.envelopeLimit = envelopeLimit
        self.featureLimit = featureLimit
    }

    /// True if the queue is empty.
    public var isEmpty: Bool { entries.isEmpty }
    /// The number of elements that wait.
    public var count: Int { entries.count }

    /// Appends an envelope to the queue.
    ///
    /// - Parameters:
    ///   - expiresAt: the time at which the message expires, in milliseconds since 1970. See `removeExpired`.
    /// - Throws: `queueFull`; the message wasn't accepted.
    /// - Complexity: O(count).
    public mutating func append(
        _ envelope: AnySessionSyncEnvelope, options: DeliveryOptions = .init(), expiresAt: UInt64? = nil
    ) throws(SessionSyncError) {
        guard queuedCount < envelopeLimit else { throw .queueFull(limit: envelopeLimit) }
        entries.append(Entry(element: .envelope(envelope, options), expiresAt: expiresAt))
    }

    /// Appends a snapshot that must arrive, like an envelope.
    /// - Throws: `queueFull`.
    public mutating func append(
        _ snapshot: AnySessionSyncSnapshot, options: DeliveryOptions = .init(), expiresAt: UInt64? = nil
    ) throws(SessionSyncError) {
        guard queuedCount < envelopeLimit else { throw .queueFull(limit: envelopeLimit) }
        entries.append(Entry(element: .snapshot(snapshot, isLatest: false, options), expiresAt: expiresAt))
    }

    /// Replaces the feature's older snapshot. Ignores the snapshot if the waiting one supersedes it.
    /// - Throws: `queueFull` if snapshots of `featureLimit` other features wait.
    /// - Complexity: O(count).
    public mutating func replaceLatest(_ snapshot: AnySessionSyncSnapshot) throws(SessionSyncError) {
        let feature = snapshot.metadata.featureID
        if let index = entries.firstIndex(where: { $0.latest?.metadata.featureID == feature }) {
            if snapshot.isSuperseded(by: entries[index].latest) { return }
            entries.remove(at: index)
        } else if entries.count(where: { $0.latest != nil }) >= featureLimit {
            throw .queueFull(limit: featureLimit)
        }
        entries.append(Entry(element: .snapshot(snapshot, isLatest: true, .init()), expiresAt: nil))
    }

    /// Removes the messages that have expired, and returns them.
    /// - Parameter now: milliseconds since 1970.
    public mutating func removeExpired(now: UInt64) -> [Element] {
        let isExpired = { (entry: Entry) in entry.expiresAt.map { $0 <= now } ?? false }
        let expired = entries.filter(isExpired).map(\.element)
        if !expired.isEmpty { entries.removeAll(where: isExpired) }
        return expired
    }

    /// Removes and returns all messages, oldest first.
    public mutating func takeAll() -> [(element: Element, expiresAt: UInt64?)] {
        defer { entries.removeAll() }
        return entries.map { ($0.element, $0.expiresAt) }
    }

    /// Puts the elements of `takeAll` back at the front of the queue.
    mutating func putBack(_ elements: [(element: Element, expiresAt: UInt64?)]) {
        entries.insert(contentsOf: elements.map { Entry(element: $0.element, expiresAt: $0.expiresAt) }, at: 0)
    }

    /// Removes an envelope, or a snapshot that must arrive.
    /// - Returns: true if it was in the queue.
    public mutating func cancel(eventID: UUID, featureID: String) -> Bool {
        let before = entries.count
        entries.removeAll { $0.is(eventID, featureID) }
        return entries.count < before
    }

    func holds(eventID: UUID, featureID: String) -> Bool { entries.contains { $0.is(eventID, featureID) } }

    private var queuedCount: Int { entries.count { $0.latest == nil } }
}

extension PendingDeliveryQueue.Entry {
    fileprivate var latest: AnySessionSyncSnapshot? {
        guard case .snapshot(let snapshot, isLatest: true, _) = element else { return nil }
        return snapshot
    }

    fileprivate var metadata: SessionSyncMetadata { element.metadata }

    fileprivate func `is`(_ eventID: UUID, _ featureID: String) -> Bool {
        latest == nil && metadata.eventID == eventID && metadata.featureID == featureID
    }
}

extension PendingDeliveryQueue.Element {
    var metadata: SessionSyncMetadata {
        switch self {
        case .envelope(let envelope, _): envelope.metadata
        case .snapshot(let snapshot, _, _): snapshot.metadata
        }
    }
}
