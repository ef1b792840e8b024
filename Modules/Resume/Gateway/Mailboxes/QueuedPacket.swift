import Foundation
package import MeshMailbox

/// The encoding of a message as an event of its receiver's stream: the sender's ID and the bytes, in base64 as a JSON string.
package enum QueuedPacket {
    private static let type = "PACKET"
    /// Replaces a message whose sender is no longer admitted.
    static let removed = ReplayEvent(stored: "REMOVED", json: [])

    static func event(from sender: MailboxID, _ bytes: [UInt8]) -> ReplayEvent? {
        let text = Data(sender.bytes + bytes).base64EncodedData()
        let quote = UInt8(ascii: "\"")
        return ReplayEvent(stored: type, json: [quote] + text + [quote])
    }

    /// Returns the base64 digits with which every message of that sender begins, after the opening quote. They depend
    /// only on the sender's ID.
    package static func mark(of sender: String) -> [UInt8] {
        guard let id = MailboxID(sender) else { return [] }
        return Array(Data(id.bytes).base64EncodedData().prefix(42))
    }

    /// - Returns: nil if the event isn't a message: its contents were removed, or another program has written to the
    ///   store.
    package static func read(_ event: ReplayEvent) -> (from: MailboxID, bytes: [UInt8])? {
        guard event.type == type, event.json.count >= 2,
            let bytes = Data(base64Encoded: Data(event.json[1..<(event.json.count - 1)])),
            let from = MailboxID(bytes: bytes.prefix(MailboxID.byteCount))
        else { return nil }
        return (from, Array(bytes.dropFirst(MailboxID.byteCount)))
    }
}

enum StoredPosition {
    static func bytes(_ position: MailboxPosition) -> [UInt8] {
        [position.epoch, position.sequence].flatMap { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } }
    }

    static func read(_ bytes: [UInt8]) -> MailboxPosition? {
        guard bytes.count == 16 else { return nil }
        func number(_ part: ArraySlice<UInt8>) -> UInt64 { part.reduce(0) { $0 << 8 | UInt64($1) } }
        return MailboxPosition(epoch: number(bytes[..<8]), sequence: number(bytes[8...]))
    }
}
