/// What a device says to the gateway that holds its mailbox (Docs/Internals/MailboxProtocol.md has it byte by byte). Each is a binary message
/// of a WebSocket with the subprotocol `MailboxFrame.subprotocol`.
package enum MailboxRequest: Hashable, Sendable {
    /// The first, in answer to the gateway's challenge.
    case open(MailboxOpening)
    /// Whom this device lets in and wants to hear of: all of them, in the place of those before.
    case follow([MailboxID])
    /// Something for another device's mailbox.
    case post(MailboxPost)
    /// What came on the lane `queue` up to there has been handed on.
    case taken(MailboxPosition)
    /// A sign of life.
    case heartbeat
}

/// Who wants its mailbox, and what proves it.
package struct MailboxOpening: Hashable, Sendable {
    /// What the app's server knows the user by.
    package var token: String
    /// SubjectPublicKeyInfo in DER, which hashes to the mailbox's id.
    package var publicKey: [UInt8]
    /// Over `MailboxFrame.signed(_:server:)`: ECDSA over P-256, both numbers in 32 bytes.
    package var signature: [UInt8]
    /// What the gateway says of this device once its connection has gone.
    package var will: [UInt8]
    /// Where this process is in its queue; nil where it does not know.
    package var after: MailboxPosition?

    /// The name of the server for which it's signed; nil in the first version of the protocol.
    package var server: String?

    /// `after` is the last position that this device has handed on; nil for none.
    package init(
        token: String, publicKey: [UInt8], signature: [UInt8], will: [UInt8], after: MailboxPosition? = nil,
        server: String? = nil
    ) {
        (self.token, self.publicKey, self.signature) = (token, publicKey, signature)
        (self.will, self.after, self.server) = (will, after, server)
    }
}

/// How a message is treated.
package enum MailboxLane: UInt8, Hashable, Sendable, CaseIterable {
    /// Now or never: how two that are present agree on keys.
    case hello = 1
    /// Now or never.
    case datagram = 2
    /// Kept in order until it was taken, within the gateway's limits.
    case queue = 3
    /// The newest of its key and sender is kept.
    case latest = 4
    /// The newest, of what the sender says of itself; to its own mailbox.
    case presence = 5
}

/// What is put into a mailbox.
package struct MailboxPost: Hashable, Sendable {
    /// The gateway's answer names it; 0 where none is wanted. Of one connection each number is another.
    package var number: UInt64
    /// Whose mailbox it is for.
    package var to: MailboxID
    /// How the message is treated.
    package var lane: MailboxLane
    /// On the lane `latest`; empty elsewhere.
    package var key: String
    /// Sealed for the receiver: the gateway reads nothing of it.
    package var bytes: [UInt8]

    /// A message for one mailbox.
    package init(number: UInt64, to: MailboxID, lane: MailboxLane, key: String = "", bytes: [UInt8]) {
        (self.number, self.to, self.lane, self.key, self.bytes) = (number, to, lane, key, bytes)
    }
}

/// A place in a mailbox's queue.
package struct MailboxPosition: Hashable, Sendable {
    /// Another one where the store could not go on counting.
    package var epoch: UInt64
    /// Counts the messages of one queue, from 1.
    package var sequence: UInt64

    /// A place in one queue.
    package init(epoch: UInt64, sequence: UInt64) { (self.epoch, self.sequence) = (epoch, sequence) }
}
