/// The values of all mailboxes in memory. Setting and reading are O(what they touch), beside an O(streams) search for the one
/// to drop when there are too many.
package struct MailboxValues: Sendable {
    private struct Box: Sendable {
        var values: [String: [UInt8]] = [:]
        var bytes = 0
        var usedAt: UInt64 = 0
    }

    private let streamsMax: Int
    private var boxes: [String: Box] = [:]
    private var useCount: UInt64 = 0

    package init(streamsMax: Int) { self.streamsMax = streamsMax }

    package mutating func set(_ value: [UInt8], _ name: String, of stream: String) -> Bool {
        if boxes[stream] == nil, boxes.count >= streamsMax,
            let least = boxes.min(by: { $0.value.usedAt < $1.value.usedAt })
        {
            boxes[least.key] = nil
        }
        useCount += 1
        var box = boxes.removeValue(forKey: stream) ?? Box()
        defer { boxes[stream] = box }
        let former = box.values[name]
        let bytes = box.bytes + value.count - (former?.count ?? 0)
        guard bytes <= MailboxBounds.bytesMax, former != nil || box.values.count < MailboxBounds.valuesMax else {
            return false
        }
        box.values[name] = value
        (box.bytes, box.usedAt) = (bytes, useCount)
        return true
    }

    package func values(_ names: [String]?, of stream: String) -> [String: [UInt8]] {
        guard let box = boxes[stream] else { return [:] }
        guard let names else { return box.values }
        return Dictionary(names.compactMap { name in box.values[name].map { (name, $0) } }) { first, _ in first }
    }
}
