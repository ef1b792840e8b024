/// A frame from a device to the gateway that holds its mailbox. Each frame is a binary message of a WebSocket with a
/// subprotocol of `MailboxFrame`. Docs/Internals/MailboxProtocol.md has the bytes.
package enum MailboxRequest: Hashable, Sendable {
    /// The first frame, in answer to the gateway's challenge.
    case open(MailboxOpening)
    /// All devices that this one admits and wants to hear about. Replaces the earlier list.
    case follow([MailboxID])
    /// A message for another device's mailbox.
    case post(MailboxPost)
    /// The device has passed on everything on the lane `queue` up to this position.
    case taken(MailboxPosition)
    /// A sign of life.
    case heartbeat
}

/// A request to open a mailbox, with its proof.
package struct MailboxOpening: Hashable, Sendable {
    /// The token by which the app's server knows the user.
    package var token: String
    /// The SubjectPublicKeyInfo in DER, whose hash is the mailbox's ID.
    package var publicKey: [UInt8]
    /// The signature of `MailboxFrame.signed(_:server:)`: ECDSA over P-256, two numbers of 32 bytes each.
    package var signature: [UInt8]
    /// The presence that the gateway publishes once this connection has ended.
    package var will: [UInt8]
    /// The last position in the queue that this process passed on; nil for none.
    package var after: MailboxPosition?

    /// The host that the signature names; nil in the first version of the protocol.
    package var server: String?

    /// Creates a request. `after` is the last position that this device has passed on; nil for none.
    package init(
        token: String, publicKey: [UInt8], signature: [UInt8], will: [UInt8], after: MailboxPosition? = nil,
        server: String? = nil
    ) {
        (self.token, self.publicKey, self.signature) = (token, publicKey, signature)
        (self.will, self.after, self.server) = (will, after, server)
    }
}

/// A lane, which decides how the gateway keeps a message.
package enum MailboxLane: UInt8, Hashable, Sendable, CaseIterable {
    /// Key agreement of two present devices. Not kept.
    case hello = 1
    /// A packet between two present devices. Not kept.
    case datagram = 2
    /// Kept in order until the receiver has taken it, within the gateway's limits.
    case queue = 3
    /// The newest message per key and sender is kept.
    case latest = 4
    /// The sender's newest presence, posted to its own mailbox.
    case presence = 5
}

/// A message to put into a mailbox.
package struct MailboxPost: Hashable, Sendable {
    /// The number that the gateway's answer repeats; 0 for no answer. Unique per connection.
    package var number: UInt64
    /// The ID of the receiver's mailbox.
    package var to: MailboxID
    /// The lane, which decides how the gateway keeps the message.
    package var lane: MailboxLane
    /// The key on the lane `latest`; empty on other lanes.
    package var key: String
    /// The bytes, sealed for the receiver. The gateway can't read them.
    package var bytes: [UInt8]

    /// Creates a message for one mailbox.
    package init(number: UInt64, to: MailboxID, lane: MailboxLane, key: String = "", bytes: [UInt8]) {
        (self.number, self.to, self.lane, self.key, self.bytes) = (number, to, lane, key, bytes)
    }
}

/// A position in a mailbox's queue.
package struct MailboxPosition: Hashable, Sendable {
    /// The epoch, which changes when the store can't continue counting.
    package var epoch: UInt64
    /// The number of the message in its queue, from 1.
    package var sequence: UInt64

    /// Creates a position in a queue.
    package init(epoch: UInt64, sequence: UInt64) { (self.epoch, self.sequence) = (epoch, sequence) }
}
