import MeshMailbox

/// The rules that every `MailboxStore` must keep, in addition to `ReplayBufferRules`. They need no test library.
public enum MailboxStoreRules {
    /// The rules, each independent of the others. The buffers that their argument makes must be mailbox stores.
    public static let all: [ReplayBufferRules.Rule] = [
        rule("mailbox-values", "every process returns a value that was set") { first, second in
            guard try await first.set([1], "a", of: "s"), try await second.set([], "b", of: "s") else { return "full" }
            let values = try await second.values(nil, of: "s")
            return values == ["a": [1], "b": []] ? nil : "\(values)"
        },
        rule("mailbox-share", "a sender is limited to its share of a mailbox, and can't use up the capacity of others")
        {
            first, second in
            let value = [UInt8](repeating: 7, count: MailboxBounds.senderBytesMax / 4)
            for key in 0..<4 where try await !first.set(value, "latest/\(sender(1))/\(key)", of: "s") {
                return "value \(key) of 4 that fit is refused"
            }
            if try await second.set([1], "latest/\(sender(1))/more", of: "s") { return "a fifth is taken" }
            if try await !second.set([1], "latest/\(sender(2))/a", of: "s") { return "another sender's is refused" }
            for number in 0..<MailboxBounds.senderValuesMax {
                guard try await first.set([], "latest/\(sender(3))/\(number)", of: "s") else {
                    return "\(number) are full"
                }
            }
            if try await first.set([], "latest/\(sender(3))/more", of: "s") { return "one value too many is taken" }
            for number in 4..<7 {
                for key in 0..<4 { _ = try await first.set(value, "latest/\(sender(number))/\(key)", of: "s") }
            }
            let isOwnersTaken = try await first.set(value, "presence", of: "s")
            return isOwnersTaken ? nil : "the owner's value is refused"
        },
        rule("mailbox-queue-share", "a sender beyond its share of a full queue removes no other sender's message") {
            first, second in
            guard try await post(0, from: 2, in: first) else { return "the first is refused" }
            for number in 1..<8 where try await !post(number, from: 1, in: second) {
                return "\(number) of 8 is refused"
            }
            if try await post(8, from: 1, in: first) { return "a message of another sender was removed" }
            guard try await post(9, from: 2, in: first) else { return "a sender within its share is refused" }
            // The only sender of a mailbox keeps its newest messages.
            for number in 10..<30 where try await !post(number, from: 1, in: first, to: "t") {
                return "\(number) is refused"
            }
            // Messages that the owner has taken are removed first.
            for number in 0..<8 {
                guard try await post(number, from: number < 2 ? 2 : 1, in: first, to: "u") else {
                    return "\(number) is refused"
                }
            }
            let standing = try await first.standing(of: "u")
            let taken = StoredPosition.bytes(MailboxPosition(epoch: standing.epoch, sequence: 2))
            guard try await first.set(taken, "taken", of: "u") else { return "full" }
            for number in 8..<10 where try await !post(number, from: 1, in: first, to: "u") {
                return "taken messages stay"
            }
            return nil
        },
        rule(
            "mailbox-refusal", "a refused message removes none that was accepted",
            ReplayLimits(count: 8, bytes: 4000)
        ) { first, second in
            for (number, (sender, byteCount)) in [(1, 300), (2, 600), (1, 1500)].enumerated() {
                guard try await post(number, from: sender, byteCount: byteCount, in: first) else {
                    return "\(number) of 3 is refused"
                }
            }
            // The sender's oldest message could go, but not the one after it, which is another sender's.
            if try await post(3, from: 1, byteCount: 900, in: second) { return "another sender's message was removed" }
            let standing = try await first.standing(of: "s")
            return standing.oldest == 1 && standing.newest == 3 ? nil : "\(standing) are left"
        },
        rule("mailbox-admitted", "a sender that is no longer admitted has nothing left in a mailbox") { first, second in
            _ = try await first.set(ids(1) + ids(2), "admitted", of: "s")
            for number in 1...2 {
                _ = try await first.set([9], "latest/\(sender(number))/k", of: "s")
                for count in 0..<2 { _ = try await post(count, from: number, in: first) }
            }
            _ = try await second.set(ids(2), "admitted", of: "s")
            let values = try await first.values(nil, of: "s")
            if Set(values.keys) != ["admitted", "latest/\(sender(2))/k"] { return "\(values.keys.sorted())" }
            let standing = try await first.standing(of: "s")
            let page = try await first.page(of: "s", after: .init(epoch: standing.epoch, sequence: 0), limit: 9)
            guard case .entries(let entries, _) = page else { return "\(page)" }
            let left = entries.map { QueuedPacket.read($0.event)?.from.description }
            return left == [nil, nil, sender(2), sender(2)] ? nil : "\(left)"
        },
        rule("mailbox-enrol", "a user can't exceed the number of mailboxes, even if all are opened at once") {
            first, second in
            var enrolled = 0
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        try await (number % 2 == 0 ? first : second).enrol(sender(number), of: "anna", max: 3)
                    }
                }
                for try await isEnrolled in group where isEnrolled { enrolled += 1 }
            }
            if enrolled != 3 { return "\(enrolled) instead of 3" }
            return try await first.enrol(sender(50), of: "bert", max: 3) ? nil : "another user's is refused"
        },
        rule("mailbox-remove", "a mailbox that was removed is empty, and its place is free") { first, second in
            guard try await first.enrol(sender(1), of: "anna", max: 1) else { return "refused" }
            _ = try await first.set([1], "latest/\(sender(2))/k", of: sender(1))
            _ = try await post(1, from: 2, in: first, to: sender(1))
            var words = second.words().makeAsyncIterator()
            try await second.remove(sender(1), of: "anna")
            while let word = await words.next() {
                if word == .changed(name: MailboxValue.removed, stream: sender(1)) { break }
            }
            let (values, standing) = (
                try await first.values(nil, of: sender(1)), try await first.standing(of: sender(1))
            )
            if !values.isEmpty || standing.newest != 0 { return "\(values.keys) and \(standing) are left" }
            return try await first.enrol(sender(3), of: "anna", max: 1) ? nil : "the place is not free"
        },
    ]
}

extension MailboxStoreRules {
    private typealias Examination =
        @Sendable (_ first: any MailboxStore, _ second: any MailboxStore) async throws -> String?

    private static func rule(
        _ id: String, _ summary: String, _ limits: ReplayLimits = ReplayLimits(count: 8),
        _ examine: @escaping Examination
    ) -> ReplayBufferRules.Rule {
        ReplayBufferRules.Rule(id: id, summary: summary) { make in
            let subject = try await make(limits)
            guard let first = subject.first as? any MailboxStore, let second = subject.second as? any MailboxStore
            else {
                return "the buffer isn't a MailboxStore"
            }
            return try await examine(first, second)
        }
    }

    private static func ids(_ number: Int) -> [UInt8] {
        [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: MailboxID.byteCount)
    }

    private static func sender(_ number: Int) -> String { MailboxID(bytes: ids(number))?.description ?? "" }

    private static func post(
        _ number: Int, from: Int, byteCount: Int = 1, in store: any MailboxStore, to stream: String = "s"
    ) async throws -> Bool {
        let packet = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: byteCount)
        guard let id = MailboxID(bytes: ids(from)), let event = QueuedPacket.event(from: id, packet)
        else { return false }
        return try await store.post(event, from: id.description, to: stream)
    }
}
