package import MeshMailbox

/// What passes at a gateway, for whoever runs it to look at: who, when and how much. What devices say to each other is sealed.
package enum MailboxActivity: Hashable, Sendable {
    /// A device holds its mailbox here.
    case opened(MailboxID)
    /// Its connection has ended.
    case closed(MailboxID)
    /// A message of a device for another's mailbox, and why it was refused.
    case posted(from: MailboxID, to: MailboxID, lane: MailboxLane, byteCount: Int, refusal: String?)
}
