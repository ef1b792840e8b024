import Foundation

/// Names and headers that distinguish a link's packets from everything else on the session.
struct LinkNames: Sendable {
    /// The key of the packet in a user info. In an application context, a slash and the packet's key follow it.
    let key: String
    /// The bytes before the launch number in each message.
    private let header: [UInt8]

    /// - Parameter channel: Only its first 64 bytes are used. Their count precedes them, so that no channel's names
    ///   begin with another's.
    init(channel: String) {
        let name = Array(channel.utf8.prefix(64))
        key = WatchSessionMultiplexer.prefix + "link.\(name.count)." + String(decoding: name, as: UTF8.self)
        header = Array(WatchSessionMultiplexer.prefix.utf8) + [UInt8(name.count)] + name
    }

    /// - Parameter launch: Distinguishes the launches of a link, so that the counterpart notices a relaunch.
    func message(_ bytes: [UInt8], launch: UInt32) -> Data {
        var data = Data(capacity: header.count + 4 + bytes.count)
        data.append(contentsOf: header)
        for shift in stride(from: 0, through: 24, by: 8) { data.append(UInt8(truncatingIfNeeded: launch >> shift)) }
        data.append(contentsOf: bytes)
        return data
    }

    /// Returns nil if the message isn't from this channel.
    func packet(in message: Data) -> (bytes: [UInt8], launch: UInt32)? {
        guard message.count >= header.count + 4, message.starts(with: header) else { return nil }
        let rest = message.dropFirst(header.count)
        let launch = rest.prefix(4).reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        return ([UInt8](rest.dropFirst(4)), launch)
    }

    /// The key of the earlier packets in a user info that wakes the watch. The last packet has the usual key, where
    /// versions without wakes find it.
    var wakeKey: String { key + ".wake" }

    /// Returns a user info that wakes the watch with these packets.
    func wake(with packets: [Data]) -> [String: Any] {
        var content: [String: Any] = [wakeKey: Array(packets.dropLast())]
        content[key] = packets.last
        return content
    }

    /// Returns the packets of a user info that wakes the watch, in order; nil for other ones.
    func packets(inWake userInfo: [String: Any]) -> [Data]? {
        guard let earlier = userInfo[wakeKey] as? [Data] else { return nil }
        return earlier + [userInfo[key] as? Data].compactMap { $0 }
    }

    func contextKey(of packetKey: String) -> String { key + "/" + packetKey }

    /// Returns this channel's packets, sorted by key.
    func packets(in context: [String: Any]) -> [(key: String, data: Data)] {
        context.compactMap { key, value in
            guard key.hasPrefix(self.key + "/"), let data = value as? Data else { return nil }
            return (key, data)
        }.sorted { $0.key < $1.key }
    }
}
