import MeshIdentity
import MeshTransport
import MeshWire

/// What waits to be written to a link, as a value: messages in order, and of latest snapshots the newest per feature.
struct PipeOutbox {
    private struct Entry {
        let message: WireMessage
        let bytes: Int
    }

    let messageLimit: Int
    let byteLimit: Int
    let featureLimit: Int
    private var queue: [Entry] = []
    /// Payload bytes in `queue`.
    private var queuedBytes = 0
    private var latest: [String: AnySessionSyncSnapshot] = [:]
    /// Features in `latest`, the one that has waited longest first.
    private var latestOrder: [String] = []

    init(messageLimit: Int, byteLimit: Int, featureLimit: Int) {
        self.messageLimit = messageLimit
        self.byteLimit = byteLimit
        self.featureLimit = featureLimit
    }

    var isEmpty: Bool { queue.isEmpty && latestOrder.isEmpty }

    /// - Parameter bytes: of the payload.
    /// - Throws: `queueFull`; nothing has been taken then. One message passes the byte limit if nothing else waits.
    mutating func append(_ message: WireMessage, bytes: Int) throws(SessionSyncError) {
        guard queue.count < messageLimit, queue.isEmpty || queuedBytes + bytes <= byteLimit else {
            throw .queueFull(limit: messageLimit)
        }
        queue.append(Entry(message: message, bytes: bytes))
        queuedBytes += bytes
    }

    /// Replaces what waits of the same feature, unless that is newer.
    /// - Throws: `queueFull` when too many features wait.
    mutating func replaceLatest(_ snapshot: AnySessionSyncSnapshot) throws(SessionSyncError) {
        let feature = snapshot.metadata.featureID
        if let waiting = latest[feature] {
            if !waiting.isNewer(than: snapshot) { latest[feature] = snapshot }
            return
        }
        guard latest.count < featureLimit else { throw .queueFull(limit: featureLimit) }
        latest[feature] = snapshot
        latestOrder.append(feature)
    }

    /// Takes everything: the messages in order, then the snapshots.
    mutating func takeAll() -> [WireMessage] {
        var messages = queue.map(\.message)
        for feature in latestOrder {
            if let snapshot = latest[feature] { messages.append(.snapshot(snapshot)) }
        }
        queue.removeAll(keepingCapacity: true)
        queuedBytes = 0
        latest.removeAll(keepingCapacity: true)
        latestOrder.removeAll(keepingCapacity: true)
        return messages
    }
}
