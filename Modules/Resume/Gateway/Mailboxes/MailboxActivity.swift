package import MeshMailbox

/// An activity of a mailbox, for the gateway's operator: devices, lanes and sizes. The messages themselves are sealed.
package enum MailboxActivity: Hashable, Sendable {
    /// A device has opened its mailbox here.
    case opened(MailboxID)
    /// The device's connection has ended.
    case closed(MailboxID)
    /// A device has posted a message to another's mailbox, with the reason if it was refused.
    case posted(from: MailboxID, to: MailboxID, lane: MailboxLane, byteCount: Int, refusal: String?)
}
