/// The values of all mailboxes in memory, and the users that they belong to. Setting and reading are O(values touched). Enrolling
/// is O(mailboxes) if the store is full and some may be idle.
package struct MailboxValues: Sendable {
    fileprivate struct Box: Sendable {
        var values: [String: [UInt8]] = [:]
        var bytes = 0
        /// The user that has enrolled it; nil for a mailbox without a registration.
        var user: String?
        var openedAt = Duration.zero
    }

    private let streamsMax: Int
    private var boxes: [String: Box] = [:]
    /// The mailboxes of each user. A user without one has no entry.
    private(set) var mailboxes: [String: Set<String>] = [:]
    /// The earliest time at which a mailbox may be idle.
    private var idleAt = Duration.zero

    package init(streamsMax: Int) { self.streamsMax = streamsMax }

    package mutating func set(_ value: [UInt8], _ name: String, of stream: String) -> Bool {
        let isNew = boxes[stream] == nil
        guard !isNew || boxes.count < streamsMax else { return false }
        var box = boxes.removeValue(forKey: stream) ?? Box()
        let isSet = box.set(value, name)
        guard isSet || !isNew else { return false }
        boxes[stream] = box
        // A mailbox without a registration is idle at once.
        if isNew { idleAt = .zero }
        return isSet
    }

    package func values(_ names: [String]?, of stream: String) -> [String: [UInt8]] {
        guard let box = boxes[stream] else { return [:] }
        guard let names else { return box.values }
        return Dictionary(names.compactMap { name in box.values[name].map { (name, $0) } }) { first, _ in first }
    }

    /// Registers a user's mailbox.
    ///
    /// - Returns: the mailboxes that were removed to make this one fit; nil if the user or the store has too many.
    package mutating func enrol(
        _ mailbox: String, of user: String, max: Int, _ now: Duration
    ) -> [String]? {
        var removed: [String] = []
        if mailboxes[user]?.contains(mailbox) != true {
            let own = mailboxes[user] ?? []
            let idle = own.filter { isIdle($0, now) }.sorted()
            guard own.count - idle.count < max else { return nil }
            removed = idle.flatMap { remove($0) }
            if boxes[mailbox] == nil, boxes.count >= streamsMax {
                guard let evicted = evictMailboxes(for: user, now) else { return nil }
                removed += evicted
            }
        }
        var box = boxes.removeValue(forKey: mailbox) ?? Box()
        if let former = box.user, former != user { leave(mailbox, former) }
        (box.user, box.openedAt) = (user, now)
        boxes[mailbox] = box
        mailboxes[user, default: []].insert(mailbox)
        return removed
    }

    /// - Returns: the mailbox, if it existed.
    @discardableResult
    package mutating func remove(_ mailbox: String) -> [String] {
        guard let box = boxes.removeValue(forKey: mailbox) else { return [] }
        if let user = box.user { leave(mailbox, user) }
        return [mailbox]
    }

    private mutating func leave(_ mailbox: String, _ user: String) {
        mailboxes[user]?.remove(mailbox)
        if mailboxes[user]?.isEmpty == true { mailboxes[user] = nil }
    }

    mutating func removeAll() { (boxes, mailboxes) = ([:], [:]) }

    private func isIdle(_ mailbox: String, _ now: Duration) -> Bool {
        guard let box = boxes[mailbox] else { return true }
        return box.user == nil || now - box.openedAt > MailboxBounds.idle
    }

    private mutating func evictMailboxes(for user: String, _ now: Duration) -> [String]? {
        if now >= idleAt {
            let idle = boxes.keys.filter { isIdle($0, now) }.sorted()
            idleAt = (boxes.values.map(\.openedAt).min() ?? now) + MailboxBounds.idle
            for mailbox in idle { remove(mailbox) }
            if !idle.isEmpty { return idle }
        }
        let own = (mailboxes[user] ?? []).sorted()
        let oldest = own.min { (boxes[$0]?.openedAt ?? .zero) < (boxes[$1]?.openedAt ?? .zero) }
        return oldest.map { remove($0) }
    }
}

extension MailboxValues.Box {
    /// - Returns: false if the value doesn't fit. Nothing has changed then.
    fileprivate mutating func set(_ value: [UInt8], _ name: String) -> Bool {
        let former = values[name]
        let added = value.count - (former?.count ?? 0)
        if let sender = MailboxValue.sender(of: name) {
            guard bytes + added <= MailboxBounds.bytesMax, former != nil || values.count < MailboxBounds.valuesMax,
                hasRoom(for: sender, added, isNew: former == nil)
            else { return false }
        } else {
            guard hasRoomForOwner(added, isNew: former == nil) else { return false }
        }
        values[name] = value
        bytes += added
        if name == MailboxValue.admitted { removeValues(notOf: MailboxValue.ids(value)) }
        return true
    }

    fileprivate func hasRoom(for sender: String, _ added: Int, isNew: Bool) -> Bool {
        guard values.count >= MailboxBounds.senderValuesMax || bytes + added > MailboxBounds.senderBytesMax else {
            return true
        }
        let own = values.filter { MailboxValue.sender(of: $0.key) == sender }
        let held = own.values.reduce(added) { $0 + $1.count }
        return held <= MailboxBounds.senderBytesMax && own.count + (isNew ? 1 : 0) <= MailboxBounds.senderValuesMax
    }

    /// Returns true if the owner's value fits. Values of senders don't count, so they can't use up the owner's capacity.
    fileprivate func hasRoomForOwner(_ added: Int, isNew: Bool) -> Bool {
        if bytes + added <= MailboxBounds.bytesMax, !isNew || values.count < MailboxBounds.valuesMax { return true }
        let own = values.filter { MailboxValue.sender(of: $0.key) == nil }
        let held = own.values.reduce(added) { $0 + $1.count }
        return held <= MailboxBounds.bytesMax && own.count + (isNew ? 1 : 0) <= MailboxBounds.valuesMax
    }

    fileprivate mutating func removeValues(notOf senders: Set<String>) {
        for (name, value) in values {
            guard let sender = MailboxValue.sender(of: name), !senders.contains(sender) else { continue }
            values[name] = nil
            bytes -= value.count
        }
    }
}
