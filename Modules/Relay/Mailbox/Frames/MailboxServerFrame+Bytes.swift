internal import MeshWire

extension MailboxServerFrame {
    private enum Operation: UInt8 {
        case challenge = 0x81
        case opened, following, presence, packet, posted, heartbeat
    }
    private static let refusalBytesMax = 256

    /// The encoded frame.
    package var bytes: [UInt8] {
        var writer = WireWriter(capacity: 128)
        switch self {
        case .challenge(let challenge, let heartbeat):
            writer.write(Operation.challenge.rawValue)
            writer.writeVarint(heartbeat)
            writer.writeRaw(challenge)
        case .opened: writer.write(Operation.opened.rawValue)
        case .following: writer.write(Operation.following.rawValue)
        case .presence(let id, let bytes):
            writer.write(Operation.presence.rawValue)
            writer.write(id)
            writer.writeRaw(bytes)
        case .packet(let packet):
            writer.write(Operation.packet.rawValue)
            writer.write(packet.from)
            writer.write(packet.lane.rawValue)
            writer.write(packet.key)
            writer.write(packet.position)
            writer.writeRaw(packet.bytes)
        case .posted(let number, let refusal):
            writer.write(Operation.posted.rawValue)
            writer.writeVarint(number)
            if let refusal { writer.write(refusal) }
        case .heartbeat: writer.write(Operation.heartbeat.rawValue)
        }
        return writer.array()
    }

    /// Decodes a frame. Throws `MailboxError`.
    package init(_ bytes: [UInt8]) throws(MailboxError) {
        self = try MailboxFrame.read(bytes) { (reader: inout WireReader) in try MailboxServerFrame(&reader) }
    }

    private init(_ reader: inout WireReader) throws {
        let number = try reader.readUInt8()
        switch Operation(rawValue: number) {
        case .challenge:
            let heartbeat = try reader.readVarint()
            self = .challenge(Array(try reader.readRaw(MailboxFrame.challengeByteCount)), heartbeat: heartbeat)
        case .opened: self = .opened
        case .following: self = .following
        case .presence:
            self = .presence(of: try reader.readMailboxID(), try reader.readRest(max: MailboxFrame.smallBytesMax))
        case .packet:
            self = .packet(
                MailboxPacket(
                    from: try reader.readMailboxID(), lane: try reader.readLane(),
                    key: try reader.readText(max: MailboxFrame.keyBytesMax, "key"),
                    position: try reader.readPosition(), bytes: try reader.readRest(max: MailboxFrame.bytesMax)))
        case .posted:
            self = .posted(
                try reader.readVarint(),
                refusal: reader.isAtEnd ? nil : try reader.readText(max: Self.refusalBytesMax, "refusal"))
        case .heartbeat: self = .heartbeat
        case nil: throw MailboxError("a gateway doesn't send operation \(number)")
        }
    }
}
