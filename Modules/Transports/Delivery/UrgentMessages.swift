import MeshIdentity
import MeshTransport

/// The messages that are worth waking a suspended receiver for. The mark isn't part of the message, because the
/// receiver doesn't need it. It lasts as long as the message may still move from a live lane to a kept one.
struct UrgentMessages: Sendable {
    private struct Mark {
        var until: UInt64
        /// Addresses to which the message has left as urgent. A repetition isn't urgent any more.
        var served: Set<LinkAddress> = []
    }

    private var marks: [MessageID: Mark] = [:]
    private var order = FirstInFirstOut<MessageID>()

    /// Maximum number of marked messages. The oldest mark makes space.
    static let countMax = 256
    /// Nanoseconds for which a mark lasts: twice the five minutes of silence after which a link over WatchConnectivity
    /// probes a peer that may be suspended.
    static let lifetime: UInt64 = 600_000_000_000

    var isEmpty: Bool { marks.isEmpty }

    mutating func mark(_ id: MessageID, now: UInt64) {
        if marks.updateValue(Mark(until: now + Self.lifetime), forKey: id) == nil { order.append(id) }
        while let oldest = order.first, order.count > Self.countMax || marks[oldest].map({ $0.until < now }) ?? true {
            _ = order.takeFirst()
            marks[oldest] = nil
        }
    }

    /// Returns true the first time that a marked message leaves to an address on a kept lane.
    mutating func take(_ id: MessageID, to address: LinkAddress, now: UInt64) -> Bool {
        guard let mark = marks[id], now <= mark.until else { return false }
        return marks[id]?.served.insert(address).inserted ?? false
    }
}
