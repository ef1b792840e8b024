import MeshStorage
import Testing

/// Stores that were written by the last version whose outboxes outlived a launch. The left side has sent messages 1 to 3 and
/// a snapshot, and accepted 4 and 5. On the right, everything that arrived still waits for a subscriber.
enum EarlierStore {
    static func left() throws -> MemoryStore { try store(leftText) }
    static func right() throws -> MemoryStore { try store(rightText) }

    private static func store(_ text: String) throws -> MemoryStore {
        let store = MemoryStore()
        var batch = StoreBatch()
        var (name, position, bytes): (String?, UInt64?, [UInt8]) = (nil, nil, [])
        func end() {
            guard let name else { return }
            if let position { batch.append(bytes, to: name, at: position) } else { batch.set(bytes, for: name) }
        }
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count > 1 {
                end()
                (name, position, bytes) = (String(words[1]), words.count > 2 ? UInt64(words[2]) : nil, [])
            } else if let hexadecimal = words.first {
                var rest = hexadecimal[...]
                while !rest.isEmpty {
                    bytes.append(try #require(UInt8(rest.prefix(2), radix: 16)))
                    rest = rest.dropFirst(2)
                }
            }
        }
        end()
        try store.commit(batch)
        return store
    }

    private static let leftText = """
        key delivery/outbox
          421efc0b
        key delivery/peer/1
          b501010000208e07726967687409756e6b6e6f776e03310a73616d65486f737400010102000000b5ea1a5e
        key delivery/published/workout
          b50103022058ae01421efc0b012000025e55100000008000800000000000000709776f726b6f7574066c6566740b74657374
          2e74657874000001000000000000000000000040f882c7410101066c65667401000006010207737461746520316e584a43
        key delivery/to/2
          01776f726b6f7574
        entry delivery/to/2 4
          b5010202204db300421efc0b04002000025e55100000008000800000000000000709776f726b6f7574066c6566740b746573
          742e74657874000004000000000000000000000040f882c741060102056576656e74427ead4a
        entry delivery/to/2 5
          b5010202204db300421efc0b05002000025e55100000008000800000000000000709776f726b6f7574066c6566740b746573
          742e74657874000005000000000000000000000040f882c741060102056576656e748c388948
        """

    private static let rightText = """
        key delivery/from/2
          01c2bcf05f04776f726b6f7574
        key delivery/newest/2
          01b50103022058ae01421efc0b012000025e55100000008000800000000000000709776f726b6f7574066c6566740b746573
          742e74657874000001000000000000000000000040f882c7410101066c65667401000006010207737461746520316e584a43
        key delivery/outbox
          89a9817b
        key delivery/peer/1
          b5010100001fb1066c65667409756e6b6e6f776e03310a73616d65486f737400010102000000f3304872
        entry delivery/inbox 0
          01b5010202204db300421efc0b01002000025e55100000008000800000000000000709776f726b6f7574066c6566740b7465
          73742e74657874000001000000000000000000000040f882c741060102056576656e7481012887
        entry delivery/inbox 1
          01b5010202204db300421efc0b02002000025e55100000008000800000000000000709776f726b6f7574066c6566740b7465
          73742e74657874000002000000000000000000000040f882c741060102056576656e74cfc2e674
        entry delivery/inbox 2
          01b5010202204db300421efc0b03002000025e55100000008000800000000000000709776f726b6f7574066c6566740b7465
          73742e74657874000003000000000000000000000040f882c741060102056576656e74a2def487
        """
}
