public import MeshFoundation
public import MeshIdentity
import MeshTransport

/// A queue of messages that were sent before a peer was known, in the order in which they came.
///
/// Envelopes wait in order, at most `envelopeLimit`; of snapshots the newest for each feature waits, at the place of the
/// newest, at most `featureLimit` of them. What is superseded goes first; what is then too much is refused with an error,
/// so that nothing that was taken is ever dropped.
public struct PendingDeliveryQueue: Sendable {
    /// An element that waits in the queue.
    public enum Element: Sendable {
        /// An envelope, with what its sender wants of it.
        case envelope(AnySessionSyncEnvelope, DeliveryOptions)
        /// A snapshot; `isLatest` tells one that a newer one replaces from one that must arrive.
        case snapshot(AnySessionSyncSnapshot, isLatest: Bool, DeliveryOptions)
    }

    fileprivate struct Entry: Sendable {
        let element: Element
        /// Milliseconds since 1970 after which nobody wants it; nil for never.
        let expiresAt: UInt64?
    }

    /// Envelopes that wait, and snapshots that must arrive.
    public let envelopeLimit: Int
    /// Features of which the newest snapshot waits.
    public let featureLimit: Int
    private var entries: [Entry] = []

    /// Creates an empty queue with bounds.
    ///
    /// - Parameter envelopeLimit: snapshots that must arrive each count as envelopes.
    public init(envelopeLimit: Int = 200, featureLimit: Int = 256) {
        self.envelopeLimit = envelopeLimit
        self.featureLimit = featureLimit
    }

    /// Whether the queue is empty.
    public var isEmpty: Bool { entries.isEmpty }
    /// The number of elements that wait.
    public var count: Int { entries.count }

    /// Appends an envelope to the queue.
    ///
    /// - Parameters:
    ///   - expiresAt: milliseconds since 1970 after which the message is worthless. See `removeExpired`.
    /// - Throws: `queueFull`; nothing was taken then.
    /// - Complexity: O(count).
    public mutating func append(
        _ envelope: AnySessionSyncEnvelope, options: DeliveryOptions = .init(), expiresAt: UInt64? = nil
    ) throws(SessionSyncError) {
        guard queuedCount < envelopeLimit else { throw .queueFull(limit: envelopeLimit) }
        entries.append(Entry(element: .envelope(envelope, options), expiresAt: expiresAt))
    }

    /// A snapshot that must arrive, as an envelope must.
    /// - Throws: `queueFull`.
    public mutating func append(
        _ snapshot: AnySessionSyncSnapshot, options: DeliveryOptions = .init(), expiresAt: UInt64? = nil
    ) throws(SessionSyncError) {
        guard queuedCount < envelopeLimit else { throw .queueFull(limit: envelopeLimit) }
        entries.append(Entry(element: .snapshot(snapshot, isLatest: false, options), expiresAt: expiresAt))
    }

    /// Takes the place of an older snapshot of the feature; one that is older itself is let go.
    /// - Throws: `queueFull` when `featureLimit` other features wait.
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

    /// Removes the messages that have expired.
    /// - Parameter now: milliseconds since 1970.
    public mutating func removeExpired(now: UInt64) -> [Element] {
        let isExpired = { (entry: Entry) in entry.expiresAt.map { $0 <= now } ?? false }
        let expired = entries.filter(isExpired).map(\.element)
        if !expired.isEmpty { entries.removeAll(where: isExpired) }
        return expired
    }

    /// Everything, in the order in which it came; nothing is left.
    public mutating func takeAll() -> [(element: Element, expiresAt: UInt64?)] {
        defer { entries.removeAll() }
        return entries.map { ($0.element, $0.expiresAt) }
    }

    /// Gives back what `takeAll` has given: it waits before everything else.
    mutating func putBack(_ elements: [(element: Element, expiresAt: UInt64?)]) {
        entries.insert(contentsOf: elements.map { Entry(element: $0.element, expiresAt: $0.expiresAt) }, at: 0)
    }

    /// Withdraws an envelope or a snapshot that must arrive.
    /// - Returns: whether it was here.
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
