/// A frame from the gateway to a device.
package enum MailboxServerFrame: Hashable, Sendable {
    /// The first frame: the bytes to sign, and the heartbeat interval in milliseconds.
    case challenge([UInt8], heartbeat: UInt64)
    /// This connection now holds the mailbox.
    case opened
    /// All gateways know the peers that this device follows.
    case following
    /// The presence of a device that this one follows, and that follows this one.
    case presence(of: MailboxID, [UInt8])
    /// A message in the device's mailbox.
    case packet(MailboxPacket)
    /// The answer to a post: it was kept, or refused for a reason that won't change.
    case posted(UInt64, refusal: String?)
    /// The answer to a device's heartbeat.
    case heartbeat
}

/// A message found in a mailbox.
package struct MailboxPacket: Hashable, Sendable {
    /// The sender according to the gateway. Only the sealed bytes prove it.
    package var from: MailboxID
    /// The lane, which decides how the message is kept.
    package var lane: MailboxLane
    /// The key on the lane `latest`; empty on other lanes.
    package var key: String
    /// The position on the lane `queue`; nil on other lanes.
    package var position: MailboxPosition?
    /// The posted bytes, sealed by the sender.
    package var bytes: [UInt8]

    /// Creates a message found in a mailbox.
    package init(
        from: MailboxID, lane: MailboxLane, key: String = "", position: MailboxPosition? = nil, bytes: [UInt8]
    ) {
        (self.from, self.lane, self.key, self.position, self.bytes) = (from, lane, key, position, bytes)
    }
}
