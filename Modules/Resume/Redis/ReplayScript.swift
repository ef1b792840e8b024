#if Redis
    internal import MeshBase
    internal import MeshResumeGateway

    /// What is asked of the script, and how its answers are read.
    struct ReplayScript: Sendable {
        enum Operation: Sendable {
            /// How far all streams together have come.
            case tail
            case append(ReplayEvent, stream: String)
            /// Within the sender's share of a mailbox.
            case post(ReplayEvent, stream: String)
            case standing(stream: String)
            case page(stream: String, after: ReplayPosition, limit: Int)
            case set([UInt8], name: String, stream: String)
            /// nil for all names.
            case values([String]?, stream: String)
            case pass([UInt8], stream: String)
            /// A mailbox among those of its user, whose stream holds their names.
            case enrol(mailbox: String, stream: String, max: Int)
            case leave(mailbox: String, stream: String)
            /// All of a mailbox.
            case drop(stream: String)
        }

        /// How far a process knows the store to have come: how many events of all streams, since when.
        struct Tail: Hashable, Sendable {
            var incarnation: UInt64
            var count: UInt64
        }

        /// The id of an entry in a Redis stream: its number, and the time at which it came.
        struct EntryID: Sendable, CustomStringConvertible {
            let number: UInt64
            let rest: UInt64

            init(number: UInt64, rest: UInt64) { (self.number, self.rest) = (number, rest) }

            init?(_ text: String) {
                let halves = text.split(separator: "-", omittingEmptySubsequences: false).map { UInt64($0) }
                guard halves.count == 2, let number = halves[0], let rest = halves[1] else { return nil }
                self.init(number: number, rest: rest)
            }

            var description: String { "\(number)-\(rest)" }
        }

        /// An entry in the list of notices.
        struct NoticeEntry: Sendable {
            let id: EntryID
            /// nil where another program wrote something else.
            let content: (incarnation: UInt64, notice: ReplayNotice)?
        }

        struct Answer: Sendable {
            let tail: Tail
            let standing: ReplayStanding
            let entries: [ReplayEntry]
        }

        let settings: RedisReplaySettings
        /// What time the store's clock is ahead; for tests.
        var skew: @Sendable () -> Duration = { .zero }

        var noticesKey: String { settings.prefix + ":notices" }

        /// All that follows the script in EVAL and EVALSHA.
        func arguments(_ operation: Operation, known: Tail?) -> [[UInt8]] {
            let limits = settings.limits
            let (word, stream, operands) = Self.parts(operation)
            let keys = [
                settings.prefix + ":home", noticesKey, settings.prefix + ":meta:" + stream,
                settings.prefix + ":events:" + stream, settings.prefix + ":values:" + stream,
                settings.prefix + ":senders:" + stream,
            ]
            let numbers = [
                "\(UInt64.random(in: 1 ... .max))", "\(known?.incarnation ?? 0)", "\(known?.count ?? 0)",
                settings.restart == .continues ? "1" : "0", Self.milliseconds(skew()), Self.milliseconds(settings.idle),
                "\(limits.count)", "\(limits.bytes)", Self.milliseconds(limits.age), "\(settings.noticeCount)",
                "\(settings.noticeBytes)",
            ]
            return (["\(keys.count)"] + keys + [word] + numbers).map { Array($0.utf8) } + operands
        }

        private static func parts(_ operation: Operation) -> (word: String, stream: String, operands: [[UInt8]]) {
            switch operation {
            case .tail: ("tail", "", [])
            case .standing(let stream): ("standing", stream, [])
            case .append(let event, let stream):
                ("append", stream, [Array(stream.utf8), Array(event.type.utf8), event.json])
            case .post(let event, let stream):
                (
                    "post", stream,
                    [
                        Array(stream.utf8), Array(event.type.utf8), event.json,
                        Array("\(MailboxBounds.queueShares)".utf8),
                    ]
                )
            case .enrol(let mailbox, let stream, let max):
                ("enrol", stream, [stream, mailbox, "\(max)"].map { Array($0.utf8) })
            case .leave(let mailbox, let stream): ("leave", stream, [stream, mailbox].map { Array($0.utf8) })
            case .drop(let stream): ("drop", stream, [Array(stream.utf8)])
            case .page(let stream, let position, let limit):
                (
                    "page", stream,
                    ["\(position.epoch)", "\(position.sequence)", "\(max(0, limit))"].map { Array($0.utf8) }
                )
            case .set(let value, let name, let stream):
                (
                    "set", stream,
                    [Array(stream.utf8), Array(name.utf8), value]
                        + [
                            MailboxBounds.valuesMax, MailboxBounds.bytesMax, MailboxBounds.senderValuesMax,
                            MailboxBounds.senderBytesMax,
                        ].map { Array("\($0)".utf8) }
                        + (name == MailboxValue.admitted ? senders(value) : [])
                )
            case .values(nil, let stream): ("values", stream, [stream, "*"].map { Array($0.utf8) })
            case .values(let names?, let stream): ("values", stream, ([stream, ""] + names).map { Array($0.utf8) })
            case .pass(let bytes, let stream): ("pass", stream, [Array(stream.utf8), bytes])
            }
        }

        /// Of each admitted sender its name, and the beginning of its queued messages.
        private static func senders(_ admitted: [UInt8]) -> [[UInt8]] {
            MailboxValue.ids(admitted).sorted().flatMap { name in
                [Array(name.utf8), QueuedPacket.mark(of: name)]
            }
        }

        /// A hundred years at most: Redis counts further, Lua not exactly.
        private static func milliseconds(_ duration: Duration) -> String {
            "\(min(max(duration, .zero), .seconds(3_155_760_000)).components.seconds * 1000 + rest(duration))"
        }

        private static func rest(_ duration: Duration) -> Int64 {
            duration < .zero ? 0 : duration.components.attoseconds / 1_000_000_000_000_000
        }
    }

    extension ReplayScript {
        static func tail(_ value: RedisValue) -> Tail? {
            guard let list = value.list, list.count >= 2, let incarnation = list[0].number, let count = list[1].number
            else { return nil }
            return Tail(incarnation: incarnation, count: count)
        }

        static func answer(_ value: RedisValue) -> Answer? {
            guard let tail = tail(value), let list = value.list, list.count == 6, let epoch = list[2].number,
                let newest = list[3].number, let length = list[4].number, length <= newest, newest < 1 << 53,
                let raw = list[5].list
            else { return nil }
            let entries = raw.compactMap(entry)
            guard entries.count == raw.count else { return nil }
            return Answer(
                tail: tail, standing: ReplayStanding(epoch: epoch, oldest: newest - length + 1, newest: newest),
                entries: entries)
        }

        /// - Returns: nil where there is no room; else values by name.
        static func values(_ value: RedisValue) throws(ReplayBufferError) -> [String: [UInt8]]? {
            guard tail(value) != nil, let list = value.list, list.count == 6, let parts = list[5].list else {
                throw ReplayBufferError(.unavailable, "Redis has answered something else")
            }
            if parts.count == 1, parts[0].string == "full" { return nil }
            var values: [String: [UInt8]] = [:]
            for index in stride(from: 0, to: parts.count - 1, by: 2) {
                if let name = parts[index].string, let bytes = parts[index + 1].bytes { values[name] = bytes }
            }
            return values
        }

        private static func entry(_ value: RedisValue) -> ReplayEntry? {
            guard let (id, fields) = item(value), fields.count == 4, let type = fields[1].string,
                let json = fields[3].bytes, let event = ReplayEvent(stored: type, json: json)
            else { return nil }
            return ReplayEntry(sequence: id, event: event)
        }

        /// What XREAD says of the list of notices.
        static func notices(_ value: RedisValue) -> [NoticeEntry]? {
            guard let items = value.list?.first?.list, items.count == 2, let raw = items[1].list else { return nil }
            let entries = raw.compactMap(noticeEntry)
            return entries.count == raw.count ? entries : nil
        }

        private static func noticeEntry(_ value: RedisValue) -> NoticeEntry? {
            guard let pair = value.list, pair.count == 2, let id = pair[0].string.flatMap(EntryID.init) else {
                return nil
            }
            guard let fields = pair[1].list, fields.count == 12, let incarnation = fields[1].number,
                let stream = fields[3].string, let epoch = fields[5].number, let sequence = fields[7].number,
                let type = fields[9].string, let json = fields[11].bytes,
                let event = ReplayEvent(stored: type, json: json)
            else { return NoticeEntry(id: id, content: nil) }
            return NoticeEntry(
                id: id,
                content: (
                    incarnation,
                    ReplayNotice(stream: stream, epoch: epoch, entry: ReplayEntry(sequence: sequence, event: event))
                ))
        }

        /// - Returns: nil for an event's notice.
        static func word(_ notice: ReplayNotice) -> MailboxWord? {
            guard notice.entry.sequence == 0 else { return nil }
            let event = notice.entry.event
            return event.type == "VALUE"
                ? .changed(name: String(decoding: event.json, as: UTF8.self), stream: notice.stream)
                : .passed(event.json, stream: notice.stream)
        }

        /// An entry of a Redis stream: the first half of its id, and its fields.
        private static func item(_ value: RedisValue) -> (number: UInt64, fields: [RedisValue])? {
            guard let pair = value.list, pair.count == 2, let id = pair[0].string.flatMap(EntryID.init),
                let fields = pair[1].list
            else { return nil }
            return (id.number, fields)
        }
    }
#endif
