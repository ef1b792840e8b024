import MeshBase

/// The rules that every `ReplayBuffer` must keep. They need no test library.
///
/// ```swift
/// for rule in ReplayBufferRules.all {
///     if let complaint = try await rule.examine({ try await makeBuffer($0) }) { print(rule.id, complaint) }
/// }
/// ```
public struct ReplayBufferRules: Sendable {
    /// Two handles of one store, as two processes would have them, and control of its clock.
    public struct Subject: Sendable {
        /// The buffer as one process sees it.
        public let first: any ReplayBuffer
        /// The buffer as another process sees it.
        public let second: any ReplayBuffer
        /// Advances the store's clock by this duration.
        public let pass: @Sendable (Duration) async throws -> Void
        /// Makes the store lose everything, as a restart without a disk would.
        public let lose: @Sendable () async throws -> Void

        /// Creates a subject from two handles of a new store.
        public init(
            first: any ReplayBuffer, second: any ReplayBuffer,
            pass: @escaping @Sendable (Duration) async throws -> Void,
            lose: @escaping @Sendable () async throws -> Void
        ) {
            (self.first, self.second, self.pass, self.lose) = (first, second, pass, lose)
        }
    }

    /// A function that makes an empty store with those limits.
    public typealias Make = @Sendable (ReplayLimits) async throws -> Subject

    /// One requirement for every buffer.
    public struct Rule: Sendable {
        /// The rule's ID, which never changes.
        public let id: String
        /// The requirement in one line.
        public let summary: String
        /// Checks the rule on a buffer that the argument makes.
        ///
        /// - Returns: a description of the violation; nil if there is none.
        public let examine: @Sendable (Make) async throws -> String?
    }

    /// The rules, each independent of the others.
    public static let all: [Rule] = [
        Rule(id: "numbers", summary: "events are numbered from 1 without a gap, in each stream separately") { make in
            let buffer = try await make(ReplayLimits()).first
            for stream in ["a", "b"] {
                for expected in 1...5 as ClosedRange<UInt64> {
                    let position = try await buffer.append(event(expected), to: stream)
                    if position.sequence != expected { return "\(position.sequence) instead of \(expected)" }
                }
            }
            return nil
        },
        Rule(id: "one-numbering", summary: "two processes that append at once share one numbering (K23)") { make in
            let subject = try await make(ReplayLimits())
            async let first = appendMany(subject.first)
            async let second = appendMany(subject.second)
            let positions = try await first + second
            let (numbers, epochs) = (Set(positions.map(\.sequence)), Set(positions.map(\.epoch)))
            if epochs.count != 1 { return "\(epochs.count) epochs" }
            if numbers != Set(1...100) { return "\(numbers.count) numbers for 100 events" }
            return try await whole(subject.second, count: 100, epoch: positions[0].epoch)
        },
        Rule(id: "range", summary: "a page begins after its position, in order, and is no larger than asked") { make in
            let buffer = try await make(ReplayLimits()).first
            let epoch = try await fill(buffer, count: 10)
            for (after, limit) in [(0, 10), (0, 3), (4, 100), (9, 1), (10, 5), (3, 0)] as [(UInt64, Int)] {
                let page = try await buffer.page(of: "s", after: .init(epoch: epoch, sequence: after), limit: limit)
                guard case .entries(let entries, let standing) = page else { return "\(page) after \(after)" }
                let expected = Array((1...10 as ClosedRange<UInt64>).filter { $0 > after }.prefix(limit))
                if entries.map(\.sequence) != expected { return "\(entries.map(\.sequence)) after \(after)" }
                if try entries.map(\.event) != expected.map(event) { return "another payload after \(after)" }
                if standing.newest != 10 { return "newest: \(standing.newest)" }
            }
            return nil
        },
        Rule(id: "newest", summary: "a stream's newest number is known before and after its first event") { make in
            let buffer = try await make(ReplayLimits()).first
            let before = try await buffer.standing(of: "s")
            if (before.oldest, before.newest) != (1, 0) { return "\(before) of an empty stream" }
            let position = try await buffer.append(event(1), to: "s")
            let after = try await buffer.standing(of: "s")
            let isRight = after == ReplayStanding(epoch: before.epoch, oldest: 1, newest: 1)
            return isRight && position.epoch == before.epoch ? nil : "\(after)"
        },
        Rule(id: "count", summary: "events beyond the limit's count are dropped and reported as gone") { make in
            let buffer = try await make(ReplayLimits(count: 5)).first
            return try await trimmed(buffer, epoch: fill(buffer, count: 12), oldest: 8, newest: 12)
        },
        Rule(id: "bytes", summary: "events beyond the limit's bytes are dropped") { make in
            let size = try event(1).byteCount
            let buffer = try await make(ReplayLimits(bytes: 3 * size)).first
            return try await trimmed(buffer, epoch: fill(buffer, count: 9), oldest: 7, newest: 9)
        },
        Rule(id: "age", summary: "events that are too old are dropped, and the numbering continues") { make in
            let subject = try await make(ReplayLimits(age: .seconds(60)))
            let epoch = try await fill(subject.first, count: 3)
            try await subject.pass(.seconds(61))
            if let wrong = try await trimmed(subject.first, epoch: epoch, oldest: 4, newest: 3) { return wrong }
            let next = try await subject.first.append(event(4), to: "s")
            return next == ReplayPosition(epoch: epoch, sequence: 4) ? nil : "\(next) after all were trimmed"
        },
        Rule(id: "epoch", summary: "a store that lost its events rejects earlier positions (K20)") {
            make in
            let subject = try await make(ReplayLimits())
            let epoch = try await fill(subject.first, count: 3)
            try await subject.lose()
            _ = try await fill(subject.second, count: 5)
            let page = try await subject.second.page(of: "s", after: .init(epoch: epoch, sequence: 3), limit: 9)
            guard case .foreign = page else { return "\(page) for a position of before" }
            return nil
        },
        Rule(id: "ahead", summary: "a position beyond the newest event is foreign") { make in
            let buffer = try await make(ReplayLimits()).first
            let epoch = try await fill(buffer, count: 3)
            let page = try await buffer.page(of: "s", after: .init(epoch: epoch, sequence: 4), limit: 9)
            guard case .foreign = page else { return "\(page)" }
            return nil
        },
        Rule(id: "notice", summary: "every process gets a notice of each append, and can then read the event") { make in
            let subject = try await make(ReplayLimits())
            return try await examine(subject.second.notices(), subject)
        },
        Rule(id: "served", summary: "a process gets a notice of each append after it asked about a served stream") {
            make in
            let subject = try await make(ReplayLimits())
            let streams = ServedStreams()
            let notices = subject.second.notices(of: streams)
            streams.add("s")
            _ = try await subject.second.standing(of: "s")
            return try await examine(notices, subject)
        },
    ]
}

extension ReplayBufferRules {
    private static func event(_ number: UInt64) throws -> ReplayEvent {
        try ReplayEvent(type: "NUMBER", json: Array("{\"n\":\(number % 10)}".utf8))
    }

    /// Appends three events at the first buffer, and expects their notices from the second one.
    private static func examine(_ stream: AsyncStream<ReplayNotice>, _ subject: Subject) async throws -> String? {
        var notices = stream.makeAsyncIterator()
        let epoch = try await fill(subject.first, count: 3)
        for expected in 1...3 as ClosedRange<UInt64> {
            guard let notice = await notices.next() else { return "the notices ended" }
            let isRight = notice.stream == "s" && notice.epoch == epoch && notice.entry.sequence == expected
            if !isRight { return "\(notice) instead of \(expected)" }
            let after = ReplayPosition(epoch: epoch, sequence: expected - 1)
            let page = try await subject.second.page(of: "s", after: after, limit: 1)
            guard case .entries([notice.entry], _) = page else { return "\(page) at the notice of \(expected)" }
        }
        return nil
    }

    private static func fill(_ buffer: any ReplayBuffer, count: UInt64) async throws -> UInt64 {
        for number in 1...count { _ = try await buffer.append(event(number), to: "s") }
        return try await buffer.standing(of: "s").epoch
    }

    private static func appendMany(_ buffer: any ReplayBuffer) async throws -> [ReplayPosition] {
        var positions: [ReplayPosition] = []
        for number in 1...50 as ClosedRange<UInt64> {
            positions.append(try await buffer.append(event(number), to: "s"))
            await Task.yield()
        }
        return positions
    }

    private static func whole(_ buffer: any ReplayBuffer, count: UInt64, epoch: UInt64) async throws -> String? {
        let page = try await buffer.page(of: "s", after: .init(epoch: epoch, sequence: 0), limit: Int(count) + 1)
        guard case .entries(let entries, _) = page, entries.map(\.sequence) == Array(1...count) else {
            return "\(page)"
        }
        return nil
    }

    private static func trimmed(
        _ buffer: any ReplayBuffer, epoch: UInt64, oldest: UInt64, newest: UInt64
    ) async throws -> String? {
        let standing = try await buffer.standing(of: "s")
        if standing != ReplayStanding(epoch: epoch, oldest: oldest, newest: newest) { return "\(standing)" }
        let before = try await buffer.page(of: "s", after: .init(epoch: epoch, sequence: oldest - 2), limit: 99)
        guard case .gone = before else { return "\(before) for what was trimmed" }
        let held = try await buffer.page(of: "s", after: .init(epoch: epoch, sequence: oldest - 1), limit: 99)
        guard case .entries(let entries, _) = held, entries.count == Int(newest - (oldest - 1)) else {
            return "\(held)"
        }
        return nil
    }
}
