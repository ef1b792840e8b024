/// What the gateway says to a device.
package enum MailboxNews: Hashable, Sendable {
    /// The first: what the device has to sign, and how often it is to be heard, in milliseconds.
    case challenge([UInt8], heartbeat: UInt64)
    /// The mailbox is this connection's.
    case opened
    /// Whom the device lets in is known to every gateway from now on.
    case following
    /// What that device says of itself. Told of those that are followed and follow this one.
    case presence(of: MailboxID, [UInt8])
    /// Something lies in the device's mailbox.
    case packet(MailboxPacket)
    /// A post has been kept, or was refused for a reason that another try does not change.
    case posted(UInt64, refusal: String?)
    /// The answer to a device's heartbeat.
    case heartbeat
}

/// What was found in a mailbox.
package struct MailboxPacket: Hashable, Sendable {
    /// As the gateway says. What proves it is in the bytes.
    package var from: MailboxID
    /// How the message is treated.
    package var lane: MailboxLane
    /// On the lane `latest`; empty elsewhere.
    package var key: String
    /// On the lane `queue`.
    package var position: MailboxPosition?
    /// What was posted; sealed by its sender.
    package var bytes: [UInt8]

    /// What was found in a mailbox.
    package init(
        from: MailboxID, lane: MailboxLane, key: String = "", position: MailboxPosition? = nil, bytes: [UInt8]
    ) {
        (self.from, self.lane, self.key, self.position, self.bytes) = (from, lane, key, position, bytes)
    }
}
