#if Redis
    internal import MeshBase
    internal import MeshResumeGateway

    /// Encodes questions to the script, and decodes its answers.
    struct ReplayScript: Sendable {
        enum Operation: Sendable {
            /// Asks for the store's incarnation and its count of events.
            case tail
            /// Asks for the store's list of shards.
            case list
            case append(ReplayEvent, stream: String)
            /// Appends within the sender's share of a mailbox.
            case post(ReplayEvent, stream: String)
            case standing(stream: String)
            case page(stream: String, after: ReplayPosition, limit: Int)
            case set([UInt8], name: String, stream: String)
            /// Asks for values by name; nil for all.
            case values([String]?, stream: String)
            /// Registers a mailbox with its user. The user's stream holds the mailboxes' names.
            case enrol(mailbox: String, stream: String, max: Int)
            case leave(mailbox: String, stream: String)
            /// Removes a mailbox and its contents.
            case drop(stream: String)
        }

        /// The count of events of all streams that a process has seen, and the incarnation that it belongs to.
        struct Tail: Hashable, Sendable {
            var incarnation: UInt64
            var count: UInt64
        }

        /// A message that a process has published to a stream's channel.
        enum Message: Sendable {
            case notice(ReplayNotice)
            case word(MailboxWord)
        }

        struct Answer: Sendable {
            let tail: Tail
            let standing: ReplayStanding
            let entries: [ReplayEntry]
        }

        let settings: RedisReplaySettings
        /// The number of the database. It is part of the channels' names, because all databases of a Redis server share
        /// channels, but not keys.
        let database: Int
        /// The list of shards that this process places streams by, shared by its connections.
        let list: Locked<ShardList>
        /// The time by which the store's clock is ahead. For tests.
        var skew: @Sendable () -> Duration = { .zero }

        // MARK: Channels

        private var channels: String { "\(settings.prefix):\(database):notices:" }

        /// Returns the channel on which a stream's changes are published.
        func channel(of stream: String) -> String { channels + stream }

        /// Returns the stream of a channel; nil if the channel isn't one of this store's.
        func stream(of channel: String) -> String? {
            channel.hasPrefix(channels) ? String(channel.dropFirst(channels.count)) : nil
        }

        /// The pattern of all channels, for `PSUBSCRIBE`.
        var allChannels: String {
            channels.map { "*?[]\\".contains($0) ? "\\\($0)" : String($0) }.joined() + "*"
        }

        /// Returns the command that passes bytes to a stream's processes, without the script: nothing is kept or numbered.
        func publish(_ bytes: [UInt8], to stream: String) -> [[UInt8]] {
            [Array("PUBLISH".utf8), Array(channel(of: stream).utf8), Array("0\n0\nWORD\n".utf8) + bytes]
        }

        // MARK: The script

        /// Returns the arguments that follow the script in EVAL and EVALSHA.
        func arguments(_ operation: Operation, known: Tail?) -> [[UInt8]] {
            let (limits, list) = (settings.limits, list.withLock { $0 })
            let (word, stream, operands) = Self.parts(operation)
            let keys = [
                settings.prefix + ":home", settings.prefix + ":meta:" + stream,
                settings.prefix + ":events:" + stream, settings.prefix + ":values:" + stream,
                settings.prefix + ":senders:" + stream,
            ]
            let numbers = [
                "\(UInt64.random(in: 1 ... .max))", "\(known?.incarnation ?? 0)", "\(known?.count ?? 0)",
                settings.restart == .continues ? "1" : "0", Self.milliseconds(skew()), Self.milliseconds(settings.idle),
                "\(limits.count)", "\(limits.bytes)", Self.milliseconds(limits.age), channel(of: stream),
                "\(list.id)", "\(list.before)", "\(list.digest)",
            ]
            return (["\(keys.count)"] + keys + [word] + numbers).map { Array($0.utf8) } + operands
        }

        private static func parts(_ operation: Operation) -> (word: String, stream: String, operands: [[UInt8]]) {
            switch operation {
            case .tail: ("tail", "", [])
            case .list: ("list", "", [])
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
            }
        }

        /// Returns the name of each admitted sender and the beginning of its queued messages.
        private static func senders(_ admitted: [UInt8]) -> [[UInt8]] {
            MailboxValue.ids(admitted).sorted().flatMap { name in
                [Array(name.utf8), QueuedPacket.mark(of: name)]
            }
        }

        /// Returns a duration in milliseconds, at most a hundred years, so that Lua's numbers stay exact.
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

        /// Returns values by name; nil if the mailbox is full.
        static func values(_ value: RedisValue) throws(ReplayBufferError) -> [String: [UInt8]]? {
            guard tail(value) != nil, let list = value.list, list.count == 6, let parts = list[5].list else {
                throw ReplayBufferError(.unavailable, "unexpected answer from Redis")
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

        /// Reads a message: epoch, number and kind, each ended by a line feed, and a payload. Number 0 is a change other than an
        /// event.
        ///
        /// - Returns: nil if another program has published it.
        static func message(_ bytes: [UInt8], stream: String?) -> Message? {
            let parts = bytes.split(separator: 10, maxSplits: 3, omittingEmptySubsequences: false)
            guard let stream, parts.count == 4,
                let epoch = UInt64(String(decoding: parts[0], as: UTF8.self)),
                let number = UInt64(String(decoding: parts[1], as: UTF8.self)), number < 1 << 53
            else { return nil }
            let (kind, payload) = (String(decoding: parts[2], as: UTF8.self), Array(parts[3]))
            guard number > 0 else {
                switch kind {
                case "VALUE": return .word(.changed(name: String(decoding: payload, as: UTF8.self), stream: stream))
                case "WORD": return .word(.passed(payload, stream: stream))
                default: return nil
                }
            }
            guard let event = ReplayEvent(stored: kind, json: payload) else { return nil }
            return .notice(
                ReplayNotice(stream: stream, epoch: epoch, entry: ReplayEntry(sequence: number, event: event)))
        }

        /// Reads an entry of a Redis stream: the first half of its ID, and its fields.
        private static func item(_ value: RedisValue) -> (number: UInt64, fields: [RedisValue])? {
            guard let pair = value.list, pair.count == 2, let id = pair[0].string, let fields = pair[1].list,
                let number = id.split(separator: "-").first.flatMap({ UInt64($0) })
            else { return nil }
            return (number, fields)
        }
    }
#endif
