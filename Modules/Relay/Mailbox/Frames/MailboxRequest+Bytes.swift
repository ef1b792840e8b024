internal import MeshWire

extension MailboxRequest {
    private enum Operation: UInt8 {
        case open = 1
        case follow, post, taken, heartbeat
    }

    /// The encoded frame.
    package var bytes: [UInt8] {
        var writer = WireWriter(capacity: 128)
        switch self {
        case .open(let opening):
            writer.write(Operation.open.rawValue)
            writer.write(opening.token)
            writer.writeCounted(opening.publicKey)
            writer.writeCounted(opening.signature)
            writer.writeCounted(opening.will)
            writer.write(opening.after)
            if let server = opening.server { writer.write(server) }
        case .follow(let ids):
            writer.write(Operation.follow.rawValue)
            for id in ids { writer.write(id) }
        case .post(let post):
            writer.write(Operation.post.rawValue)
            writer.writeVarint(post.number)
            writer.write(post.to)
            writer.write(post.lane.rawValue)
            writer.write(post.key)
            writer.writeRaw(post.bytes)
        case .taken(let position):
            writer.write(Operation.taken.rawValue)
            writer.write(position)
        case .heartbeat: writer.write(Operation.heartbeat.rawValue)
        }
        return writer.array()
    }

    /// Decodes a frame. Throws `MailboxError`, also if a field exceeds the bounds of `MailboxFrame`.
    package init(_ bytes: [UInt8]) throws(MailboxError) {
        self = try MailboxFrame.read(bytes) { (reader: inout WireReader) in try MailboxRequest(&reader) }
    }

    private init(_ reader: inout WireReader) throws {
        let number = try reader.readUInt8()
        switch Operation(rawValue: number) {
        case .open:
            self = .open(
                MailboxOpening(
                    token: try reader.readText(max: MailboxFrame.tokenBytesMax, "token"),
                    publicKey: try reader.readCounted(max: MailboxFrame.smallBytesMax, "public key"),
                    signature: try reader.readCounted(max: MailboxFrame.smallBytesMax, "signature"),
                    will: try reader.readCounted(max: MailboxFrame.smallBytesMax, "will"),
                    after: try reader.readPosition(),
                    server: reader.isAtEnd
                        ? nil : try reader.readText(max: MailboxFrame.serverBytesMax, "server's name")))
        case .follow:
            guard reader.remaining <= MailboxFrame.followedMax * MailboxID.byteCount else {
                throw MailboxError("a device follows at most \(MailboxFrame.followedMax) others")
            }
            var ids: [MailboxID] = []
            while !reader.isAtEnd { ids.append(try reader.readMailboxID()) }
            self = .follow(ids)
        case .post:
            self = .post(
                MailboxPost(
                    number: try reader.readVarint(), to: try reader.readMailboxID(), lane: try reader.readLane(),
                    key: try reader.readText(max: MailboxFrame.keyBytesMax, "key"),
                    bytes: try reader.readRest(max: MailboxFrame.bytesMax)))
        case .taken:
            guard let position = try reader.readPosition() else { throw MailboxError("no position") }
            self = .taken(position)
        case .heartbeat: self = .heartbeat
        case nil: throw MailboxError("a device doesn't send operation \(number)")
        }
    }
}
