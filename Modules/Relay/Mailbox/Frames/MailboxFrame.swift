import MeshWire

/// Constants shared by both sides of the protocol.
package enum MailboxFrame {
    /// The value of `Sec-WebSocket-Protocol`. In this version the opening of a mailbox names the server and is signed
    /// for it.
    package static let subprotocol = "sessionmesh.mailbox.v2"
    /// The first version of the protocol, whose signature doesn't name the server.
    package static let firstSubprotocol = "sessionmesh.mailbox.v1"
    /// The supported versions, best first.
    package static let subprotocols = [subprotocol, firstSubprotocol]
    /// Maximum number of UTF-8 bytes of a server's name, as in DNS (RFC 1035, 2.3.4).
    package static let serverBytesMax = 255
    /// The number of bytes in a challenge, which a device signs.
    package static let challengeByteCount = 32
    /// Maximum number of UTF-8 bytes of the app's token.
    package static let tokenBytesMax = 4096
    /// Maximum number of devices that a device follows.
    package static let followedMax = 320
    /// Maximum number of UTF-8 bytes of a key on the lane `latest`.
    package static let keyBytesMax = 64
    /// Maximum number of bytes of a presence, a will, a public key or a signature.
    package static let smallBytesMax = 128
    /// Maximum number of bytes of a message. With base64 and its sender's ID it fits into an event of a replay buffer.
    package static let bytesMax = 48_600

    /// Clamps a heartbeat interval to the range from a second to ten minutes. Both sides use the same range, so that the
    /// gateway doesn't expect heartbeats that the device doesn't send.
    package static func heartbeatMilliseconds(_ milliseconds: UInt64) -> UInt64 {
        min(max(milliseconds, 1_000), 600_000)
    }

    /// Returns the bytes that a device signs. Their prefix differs from everything else that the key signs.
    ///
    /// - Parameter server: The host that the device dialed, in lowercase. A signature made for one server can't open
    ///   the mailbox at another. nil for the first version of the protocol.
    package static func signed(_ challenge: [UInt8], server: String?) -> [UInt8] {
        guard let server else { return Array("SessionMesh mailbox 1\0".utf8) + challenge }
        return Array("SessionMesh mailbox 2\0".utf8) + challenge + Array(server.utf8)
    }

    /// Reads a frame, and throws if bytes are left over.
    static func read<Frame>(
        _ bytes: [UInt8], _ body: (inout WireReader) throws -> Frame
    ) throws(MailboxError) -> Frame {
        do {
            return try bytes.withUnsafeBytes { bytes in
                var reader = WireReader(bytes)
                let frame = try body(&reader)
                guard reader.isAtEnd else {
                    throw MailboxError("\(reader.remaining) bytes follow a frame's last field")
                }
                return frame
            }
        } catch {
            throw error as? MailboxError ?? MailboxError((error as? WireError).frameProblem)
        }
    }
}

/// The reason why bytes aren't a valid frame.
package struct MailboxError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A description of the error, for people.
    package let message: String

    package init(_ message: String) { self.message = message }

    package var description: String { message }
}

extension WireWriter {
    mutating func write(_ id: MailboxID) { writeRaw(id.bytes) }

    mutating func write(_ position: MailboxPosition?) {
        writeVarint(position?.epoch ?? 0)
        writeVarint(position?.sequence ?? 0)
    }

    mutating func writeCounted(_ bytes: [UInt8]) {
        writeVarint(UInt64(bytes.count))
        writeRaw(bytes)
    }
}

extension WireReader {
    mutating func readMailboxID() throws -> MailboxID {
        guard let id = MailboxID(bytes: try readRaw(MailboxID.byteCount)) else { throw MailboxError("no id") }
        return id
    }

    /// Reads a position; nil if the epoch is 0, which no position has.
    mutating func readPosition() throws -> MailboxPosition? {
        let position = MailboxPosition(epoch: try readVarint(), sequence: try readVarint())
        return position.epoch == 0 ? nil : position
    }

    mutating func readText(max: Int, _ what: String) throws -> String {
        let text = try readString()
        guard text.utf8.count <= max else { throw MailboxError("a \(what) has at most \(max) bytes") }
        return text
    }

    mutating func readCounted(max: Int, _ what: String) throws -> [UInt8] {
        let count = try readLength()
        guard count <= max else { throw MailboxError("a \(what) has at most \(max) bytes") }
        return Array(try readRaw(count))
    }

    mutating func readRest(max: Int) throws -> [UInt8] {
        guard remaining <= max else { throw MailboxError("a message has at most \(max) bytes") }
        return Array(try readRaw(remaining))
    }

    mutating func readLane() throws -> MailboxLane {
        let number = try readUInt8()
        guard let lane = MailboxLane(rawValue: number) else { throw MailboxError("unknown lane \(number)") }
        return lane
    }
}
