/// The mailboxes of a store in memory, as a value: queues and values.
package struct MailboxContents: Sendable {
    /// The reports that all processes get after a change.
    package struct Change: Sendable {
        package var notice: ReplayNotice?
        package var words: [MailboxWord] = []
    }

    package var queues: ReplayContents
    package var values: MailboxValues

    package init(_ limits: ReplayLimits, seed: UInt64) {
        queues = ReplayContents(limits, seed: seed)
        values = MailboxValues(streamsMax: limits.streams)
    }

    /// - Returns: nil if the store or the mailbox is full.
    package mutating func set(_ value: [UInt8], _ name: String, of stream: String, _ now: Duration) -> Change? {
        guard values.set(value, name, of: stream) else { return nil }
        if name == MailboxValue.admitted { queues.removeMessages(in: stream, notOf: MailboxValue.ids(value), now) }
        return Change(words: [.changed(name: name, stream: stream)])
    }

    /// - Returns: nil if the store or the mailbox is full.
    package mutating func post(
        _ event: ReplayEvent, from sender: String, to stream: String, _ now: Duration
    ) -> Change? {
        let taken = values.values([MailboxValue.taken], of: stream).values.first
        return queues.post(event, from: sender, to: stream, taken: taken.flatMap { StoredPosition.read($0) }, now).map {
            Change(notice: $0)
        }
    }

    /// - Returns: nil if the store or the mailbox is full.
    package mutating func enrol(_ mailbox: String, of user: String, max: Int, _ now: Duration) -> Change? {
        guard let removed = values.enrol(mailbox, of: user, max: max, now) else { return nil }
        for mailbox in removed { queues.remove(mailbox) }
        return Change(words: removed.map { .changed(name: MailboxValue.removed, stream: $0) })
    }

    package mutating func remove(_ mailbox: String) -> Change {
        values.remove(mailbox)
        queues.remove(mailbox)
        return Change(words: [.changed(name: MailboxValue.removed, stream: mailbox)])
    }

    /// Removes everything. Each queue gets a new epoch when it is next used.
    mutating func removeAll() {
        queues.removeAll()
        values.removeAll()
    }

    /// Performs a connection's write. Returns nil if the store or the mailbox is full.
    package mutating func perform(_ write: MailboxWrite, _ now: Duration) -> Change? {
        switch write {
        case .append(let event, let sender, let stream, _): post(event, from: sender, to: stream, now)
        case .set(let value, let name, let stream, _): set(value, name, of: stream, now)
        case .admit(let ids, let stream): set(ids, MailboxValue.admitted, of: stream, now)
        case .enrol(let mailbox, let user, let max): enrol(mailbox, of: user, max: max, now)
        }
    }
}
