import MeshBase
import MeshStorage
import MeshWire
import Testing

@testable import MeshSeries

/// Series that devices hold and announce, without a session.
@Suite struct ShelfTests {
    private func replica(_ peerID: String, byteCountMax: Int = .max, launch: UInt64 = 1) -> SeriesReplica {
        SeriesReplica(peerID: peerID, prefix: "series/", byteCountMax: byteCountMax, makeIncarnation: { launch })
    }

    private func write(_ replica: inout SeriesReplica, to store: MemoryStore, operationsMax: Int = 100) throws {
        while replica.hasUnwritten {
            let batch = try replica.nextBatch()
            #expect(batch.operations.count < operationsMax, "a burst in one batch")
            try store.commit(batch)
            replica.batchCommitted()
        }
    }

    private func exchange(_ replica: inout SeriesReplica, with peers: Set<String>) -> [SeriesMessage] {
        replica.expireFetch(reachable: peers)
        return replica.messages(
            reachable: peers, scope: .all, pushesSamples: false, answers: true, limit: 32_000)
    }

    /// Requests everything that the first replica lacks, until it lacks nothing.
    /// - Returns: the number of requests.
    @discardableResult
    private func catchUp(
        _ replica: inout SeriesReplica, from other: SeriesReplica, in store: MemoryStore, limit: Int = 32_000
    ) throws -> Int {
        var count = 0
        while let request = replica.nextRequest(limit: limit) {
            count += 1
            #expect(try CompactCodec().encode(request).count <= limit)
            var other = other
            let serving = try other.receive(request.checked(), from: replica.peerID, isMember: true)
            for answer in try serving?.messages(from: store, limit: limit) ?? [] {
                #expect(try CompactCodec().encode(answer).count <= limit + 100)
                _ = try replica.receive(answer.checked(), from: other.peerID, isMember: true)
            }
        }
        return count
    }

    /// Otherwise a session that waits until all samples are sent would wake again and again.
    @Test func `Announced samples aren't unsent any more, even if they weren't sent`() throws {
        let store = MemoryStore()
        var watch = replica("watch")
        for number in 0..<100 { try watch.record(number, in: Series("a", keeping: .newest(1)), at: Int64(number)) }
        #expect(watch.unsentCount == 0, "nothing is written")
        try write(&watch, to: store)
        #expect(watch.unsentCount == 100)
        #expect(exchange(&watch, with: ["phone"]).flatMap(\.pieces).isEmpty)
        #expect(watch.unsentCount == 0)
        try watch.record(100, in: Series("a", keeping: .newest(1)), at: 100)
        try write(&watch, to: store)
        #expect(watch.unsentCount == 101)
    }

    @Test func `A digest names only series that each reachable peer has named, and never in a repetition`() throws {
        let store = MemoryStore()
        var (watch, phone) = (replica("watch"), replica("phone"))
        try watch.record(1, in: Series("a"), at: 1)
        try write(&watch, to: store)
        let id = try #require(watch.ownID(of: "a"))
        for message in exchange(&watch, with: ["phone"]) {
            _ = try phone.receive(message.checked(), from: "watch", isMember: true)
        }
        #expect(phone.id(of: id.digest, of: "watch") == nil, "it was announced and hasn't arrived")
        try catchUp(&phone, from: watch, in: store)
        try write(&phone, to: MemoryStore())
        #expect(phone.id(of: id.digest, of: "watch") == id && phone.id(of: id.digest, of: "phone") == nil)
        #expect(!watch.isKnown(id, by: ["phone"]))
        for message in exchange(&phone, with: ["watch"]) {
            _ = try watch.receive(message.checked(), from: "phone", isMember: true)
        }
        #expect(watch.isKnown(id, by: ["phone"]) && !watch.isKnown(id, by: ["phone", "tablet"]))
        #expect(!watch.isKnown(id, by: []))
        try watch.record(2, in: Series("a"), at: 2)
        try write(&watch, to: store)
        let scopes: [(SeriesReplica.AnnouncementScope, Bool)] = [
            (.unannounced, true), (.unacknowledged, false), (.all, false),
        ]
        for (scope, isBrief) in scopes {
            var watch = watch
            let messages = watch.messages(
                reachable: ["phone"], scope: scope, pushesSamples: true, answers: true, limit: 32_000)
            #expect(messages.map(\.canUseDigests) == [isBrief], "\(scope)")
        }
    }

    @Test func `A device that repeats its holdings is owed an acknowledgement until it gets one`() throws {
        let store = MemoryStore()
        var watch = replica("watch")
        var phone = replica("phone")
        for number in 0..<10 { try watch.record(number, in: Series("a"), at: Int64(number)) }
        try write(&watch, to: store)
        let announcements = exchange(&watch, with: ["phone"])
        for message in announcements { _ = try phone.receive(message.checked(), from: "watch", isMember: true) }
        try catchUp(&phone, from: watch, in: store)
        try write(&phone, to: MemoryStore())
        _ = exchange(&phone, with: ["watch"])
        #expect(!phone.owesRepeatedAcknowledgement && !phone.owesAcknowledgement)
        for message in announcements { _ = try phone.receive(message.checked(), from: "watch", isMember: true) }
        #expect(phone.owesRepeatedAcknowledgement)
        let silent = phone.messages(
            reachable: ["watch"], scope: .unannounced, pushesSamples: true, answers: false, limit: 32_000)
        #expect(silent.isEmpty && phone.owesRepeatedAcknowledgement)
        let answer = phone.messages(
            reachable: ["watch"], scope: .unannounced, pushesSamples: true, answers: true, limit: 32_000)
        #expect(answer.flatMap(\.holdings).map(\.next) == [10])
        #expect(!phone.owesRepeatedAcknowledgement)
    }

    @Test(arguments: [1, 1023, 1024, 1025, 40_000])
    func `A peer gets all samples, inside and outside of complete blocks`(count: Int) throws {
        let (store, other) = (MemoryStore(), MemoryStore())
        var watch = replica("watch")
        for number in 0..<count { try watch.record(number, in: Series("a"), at: Int64(number)) }
        try write(&watch, to: store)
        var phone = replica("phone")
        for message in exchange(&watch, with: ["phone"]) {
            _ = try phone.receive(message.checked(), from: "watch", isMember: true)
        }
        try catchUp(&phone, from: watch, in: store)
        try write(&phone, to: other)
        #expect(phone.summary(named: "a", by: nil) == watch.summary(named: "a", by: nil))
        var loaded = replica("phone")
        try loaded.load(from: other)
        #expect(loaded.summary(named: "a", by: "watch") == watch.summary(named: "a", by: "watch"))
        #expect(loaded.summary(named: "a", by: nil).count == count)
    }

    @Test(arguments: [(32_000, 2), (1_000, 0)])
    func `Many short series are asked for at once`(limit: Int, exchanges: Int) throws {
        let (store, count) = (MemoryStore(), 2 * SeriesMessage.requestsMax)
        var watch = replica("watch")
        for number in 0..<count * 100 { try watch.record(number, in: Series("\(number % count)"), at: Int64(number)) }
        try write(&watch, to: store, operationsMax: 3 * count)
        var phone = replica("phone")
        for message in exchange(&watch, with: ["phone"]) {
            _ = try phone.receive(message.checked(), from: "watch", isMember: true)
        }
        let asked = try catchUp(&phone, from: watch, in: store, limit: limit)
        #expect(exchanges == 0 || asked == exchanges)
        for number in 0..<count { #expect(phone.summary(named: "\(number)", by: "watch").count == 100) }
    }

    /// Each write of one sample adds a piece, with its own time and position.
    @Test func `Pieces of a block become one while it grows`() throws {
        let store = MemoryStore()
        var watch = replica("watch")
        for number in 0..<1000 {
            try watch.record(number % 7, in: Series("a"), at: Int64(number) * 1_000_000)
            try write(&watch, to: store)
        }
        let tail = try store.entries(of: "series/0/tail", from: 0, maxBytes: .max)
        #expect(tail.count <= 33)
        #expect(tail.reduce(0) { $0 + $1.bytes.count } < 1000)
        var loaded = replica("watch")
        try loaded.load(from: store)
        #expect(loaded.summary(named: "a", by: nil) == watch.summary(named: "a", by: nil))
    }

    @Test func `A peer that doesn't deliver the samples it announced delays no other peer's`() throws {
        let store = MemoryStore()
        var watch = replica("watch")
        try watch.record(1, in: Series("z"), at: 0)
        try write(&watch, to: store)
        var phone = replica("phone")
        var lie = SeriesMessage()
        for number in 0..<100 as Range<UInt64> {
            let id = SeriesID(peerID: "liar", incarnation: number, name: "a", columns: number)
            lie.holdings.append(.init(id: id, first: 0, next: SeriesMessage.highest))
        }
        var asked: [String] = []
        for _ in 0..<300 {
            _ = try phone.receive(lie.checked(), from: "liar", isMember: true)
            for message in exchange(&watch, with: ["phone"]) {
                _ = try phone.receive(message.checked(), from: "watch", isMember: true)
            }
            asked += exchange(&phone, with: ["watch", "liar"]).flatMap(\.requests).map(\.id.name)
            if asked.contains("z") { break }
        }
        #expect(asked.contains("z"), "asked \(asked.count) times, but never the peer that has samples")
    }

    @Test func `A device without free space requests no samples`() throws {
        let (store, other) = (MemoryStore(), MemoryStore())
        var watch = replica("watch")
        for number in 0..<5000 { try watch.record(number &* 7919, in: Series("a"), at: Int64(number)) }
        try write(&watch, to: store)
        var phone = replica("phone", byteCountMax: 100)
        for _ in 0..<3 {
            for message in exchange(&watch, with: ["phone"]) {
                _ = try phone.receive(message.checked(), from: "watch", isMember: true)
            }
            try catchUp(&phone, from: watch, in: store)
            try write(&phone, to: other)
        }
        #expect(phone.nextRequest(limit: 32_000) == nil && phone.summary(named: "a", by: nil).count <= 5000)
        #expect(throws: StorageError.self) {
            for number in 0..<5000 {
                try phone.record(number &* 7919, in: Series("b"), at: Int64(number))
                try write(&phone, to: other)
            }
        }
    }

    @Test func `Samples whose batch the store refuses can be read, and have no hole`() throws {
        let store = MemoryStore()
        var watch = replica("watch")
        for number in 0..<500 { try watch.record(number, in: Series("a"), at: Int64(number)) }
        try write(&watch, to: store)
        for number in 500..<2500 { try watch.record(number, in: Series("a"), at: Int64(number)) }
        _ = try watch.nextBatch()
        watch.batchFailed()
        var times: [Int64] = []
        try watch.streams(named: "a", by: nil)[0].forEachTable(in: 0...3000, of: store) { table in
            times += table.times
        }
        #expect(times == Array(0..<2500))
        while watch.isRetry || watch.hasUnwritten {
            var batch = StoreBatch()
            let next = try watch.nextBatch()
            batch.append(contentsOf: next.removingCommitted(in: try store.catalog(prefix: "")).operations)
            try store.commit(batch)
            watch.batchCommitted()
        }
        #expect(watch.summary(named: "a", by: nil).count == 2500)
    }

    /// A lying member names series of this device that it never recorded.
    @Test func `Series that a member gives back leave this device space to record`() throws {
        let store = MemoryStore()
        let columns = [SeriesColumn(name: "", kind: .integer)]
        let id = SeriesID(peerID: "phone", incarnation: 7, name: "a", columns: columns.digest)
        var table = SampleTable(columns: columns)
        for number in 0..<UInt64(1024) {
            table.append(
                SampleRow(columns: columns, bits: [number &* 0x9e37_79b9_7f4a_7c15], presence: 1), at: Int64(number))
        }
        let bytes = SeriesBlock.bytes(of: table)
        var phone = replica("phone", byteCountMax: 40_000)
        func giveBack(_ number: Int) throws {
            var message = SeriesMessage()
            message.pieces = [
                .init(id: id, columns: columns, first: UInt64(number * table.count), bytes: bytes)
            ]
            _ = try phone.receive(message.checked(), from: "watch", isMember: true)
        }
        // While the store can't be written, and then while it can.
        for number in 0..<200 { try giveBack(number) }
        let waiting = phone.summary(named: "a", by: nil).count
        #expect(waiting <= UInt64(SeriesLimits.unwrittenMax + table.count))
        try write(&phone, to: store)
        for number in Int(waiting) / table.count..<400 {
            try giveBack(number)
            try write(&phone, to: store)
        }
        #expect(phone.refusedCount > 0)
        try phone.record(1, in: Series("b"), at: 1)
        try write(&phone, to: store)
        try phone.record(2, in: Series("b"), at: 2)
    }

    @Test(arguments: [false, true])
    func `A batch with an unknown outcome is committed once`(isDone: Bool) throws {
        let (store, wanted) = (MemoryStore(), MemoryStore())
        var before = StoreBatch()
        before.append([1], to: "a", at: 0)
        before.append([2], to: "b", at: 0)
        var batch = StoreBatch()
        batch.erase("a")
        batch.append([3], to: "a", at: 7)
        batch.append([4], to: "b", at: 1)
        batch.truncate("b", below: 1)
        batch.set([5], for: "c")
        for store in [store, wanted] { try store.commit(before) }
        try wanted.commit(batch)
        if isDone { try store.commit(batch) }
        batch.append([6], to: "a", at: 8)
        try wanted.commit(StoreBatch(batch.operations.suffix(1)))
        try store.commit(batch.removingCommitted(in: store.catalog(prefix: "")))
        for journal in ["a", "b"] {
            #expect(
                try store.entries(of: journal, from: 0, maxBytes: .max)
                    == wanted.entries(of: journal, from: 0, maxBytes: .max))
        }
    }

    @Test func `Retention covers the series of earlier launches`() throws {
        let store = MemoryStore()
        let series = Series<Int>("a", keeping: .newest(1500))
        for launch in 1...20 as ClosedRange<UInt64> {
            var watch = replica("watch", launch: launch)
            try watch.load(from: store)
            for number in 0..<700 { try watch.record(number, in: series, at: Int64(launch) * 700 + Int64(number)) }
            try watch.record(1, in: Series("b"), at: 0)
            try write(&watch, to: store)
            let held = watch.extents.filter { $0.id.name == "a" }
            let count = held.reduce(0) { $0 + ($1.next - $1.first) }
            #expect((min(1500, 700 * launch)...1500 + 1023).contains(count), "launch \(launch)")
            #expect(held.map(\.id.incarnation).min() == max(3, launch) - 2, "the oldest are removed")
        }
        var loaded = replica("watch", launch: 21)
        try loaded.load(from: store)
        #expect(loaded.summary(named: "a", by: nil).count == 2100)
        #expect(loaded.summary(named: "b", by: nil).count == 20, "a series that keeps all samples")
        let catalog = try store.catalog(prefix: "series/")
        #expect(catalog.keys.count == 3 + 20 + 1, "nothing of a removed series stays in the store")
        #expect(catalog.journals.allSatisfy { journal in catalog.keys.contains { journal.name.hasPrefix($0 + "/") } })
    }

    @Test func `A new launch replaces the oldest one's series if there are as many series as there may be`() throws {
        let store = MemoryStore()
        let series = Series<Int>("a", keeping: .newest(100_000))
        var watch = replica("watch")
        try watch.record(0, in: series, at: 0)
        for number in 1..<SeriesLimits.seriesMax { try watch.record(number, in: Series("\(number)"), at: 0) }
        try write(&watch, to: store, operationsMax: 4 * SeriesLimits.seriesMax)
        for launch in 2...4 as ClosedRange<UInt64> {
            watch = replica("watch", launch: launch)
            try watch.load(from: store)
            #expect(throws: StorageError.self) { try watch.record(1, in: Series("b"), at: 1) }
            try watch.record(1, in: series, at: Int64(launch))
            try write(&watch, to: store)
            #expect(watch.extents.filter { $0.id.name == "a" }.map(\.id.incarnation) == [launch])
            #expect(watch.extents.count == SeriesLimits.seriesMax)
        }
    }

    /// Otherwise peers would offer the removed series for ever.
    @Test func `A series that retention removed is acknowledged, and isn't taken back`() throws {
        let (store, other) = (MemoryStore(), MemoryStore())
        var (watch, phone) = (replica("watch"), replica("phone"))
        let series = Series<Int>("a", keeping: .newest(1000))
        for number in 0..<10 { try watch.record(number, in: series, at: Int64(number)) }
        try write(&watch, to: store)
        let id = try #require(watch.ownID(of: "a"))
        for message in exchange(&watch, with: ["phone"]) {
            _ = try phone.receive(message.checked(), from: "watch", isMember: true)
        }
        try catchUp(&phone, from: watch, in: store)
        try write(&phone, to: other)

        watch = replica("watch", launch: 2)
        try watch.load(from: store)
        for number in 0..<2000 { try watch.record(number, in: series, at: 10 + Int64(number)) }
        try write(&watch, to: store)
        #expect(watch.places[id] == nil)
        for isRelaunched in [false, true] {
            if isRelaunched {
                watch = replica("watch", launch: 3)
                try watch.load(from: store)
            }
            phone.forgetKnowledge(of: "watch")
            #expect(phone.hasUnacknowledgedSamples(for: ["watch"]))
            for message in exchange(&phone, with: ["watch"]) {
                _ = try watch.receive(message.checked(), from: "phone", isMember: true)
            }
            #expect(watch.owesRepeatedAcknowledgement && watch.nextRequest(limit: 32_000) == nil)
            let answers = exchange(&watch, with: ["phone"])
            #expect(!watch.owesRepeatedAcknowledgement)
            let holdings = answers.flatMap(\.holdings).filter { $0.id == id }
            #expect(holdings == [SeriesMessage.Holding(id: id, first: 10, next: 10)])
            for message in answers + answers {
                _ = try phone.receive(message.checked(), from: "watch", isMember: true)
            }
            #expect(!phone.hasUnacknowledgedSamples(for: ["watch"]) && !phone.owesRepeatedAcknowledgement)
        }
        var request = SeriesMessage(receiver: "phone")
        request.requests = [.init(id: id, first: 0, count: 10, wantsColumns: true)]
        let serving = try #require(try phone.receive(request.checked(), from: "watch", isMember: true))
        for message in try serving.messages(from: other, limit: 32_000) {
            #expect(!message.pieces.isEmpty)
            _ = try watch.receive(message.checked(), from: "phone", isMember: true)
        }
        #expect(watch.places[id] == nil)
    }

    /// Regression: a piece that was accepted, but couldn't be loaded again, made the complete session unreadable.
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `Every piece accepted from a peer can be stored and loaded again`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let kinds: [SeriesColumn.Kind] = [.integer, .unsigned, .bool, .float, .date]
        let columns = (0..<Int.random(in: 0...3, using: &random)).map {
            SeriesColumn(name: "\($0)", kind: kinds.randomElement(using: &random) ?? .integer)
        }
        let id = SeriesID(peerID: "liar", incarnation: random.next(), name: "a", columns: columns.digest)
        let store = MemoryStore()
        var phone = replica("phone")
        let blockSamples = SeriesStream.blockSamples
        let blocks = [0, 1, SeriesMessage.highest / blockSamples - 1, SeriesMessage.highest / blockSamples]
        var next = (blocks.randomElement(using: &random) ?? 0) * blockSamples
        for _ in 0..<4 {
            let count = [1, 2, Int(blockSamples) - 1, Int(blockSamples)].randomElement(using: &random) ?? 1
            var table = SampleTable(columns: columns)
            for _ in 0..<count {
                let bits = columns.map { extremes(of: $0.kind).randomElement(using: &random) ?? 0 }
                let row = SampleRow(columns: columns, bits: bits, presence: random.next() & table.wholePresence)
                table.append(row, at: [0, -1, SampleTime.max, -SampleTime.max].randomElement(using: &random) ?? 0)
            }
            var message = SeriesMessage()
            message.pieces = [.init(id: id, columns: columns, first: next, bytes: SeriesBlock.bytes(of: table))]
            guard let checked = try? message.checked(),
                (try? phone.receive(checked, from: "liar", isMember: false)) != nil
            else { break }
            next += UInt64(count)
            if Bool.random(using: &random) { try write(&phone, to: store) }
        }
        try write(&phone, to: store)
        var loaded = replica("phone")
        try loaded.load(from: store)
        #expect(loaded.damage == nil)
        #expect(content(of: loaded) == content(of: phone), "seed \(seed)")
    }

    /// The content as text, in which NaN equals itself.
    private func content(of replica: SeriesReplica) -> [String] {
        let extents = replica.extents.map { "\($0.id) \($0.first) \($0.written) \($0.next)" }
        let summary = replica.summary(named: "a", by: nil)
        let columns = summary.columns.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }
        return extents + columns + ["\(summary.count) \(String(describing: [summary.earliest, summary.latest]))"]
    }

    private func extremes(of kind: SeriesColumn.Kind) -> [UInt64] {
        switch kind {
        case .integer, .unsigned: [0, 1, .max, 1 << 63, 1 << 63 - 1]
        case .bool: [0, 1]
        case .float, .date: [0, 1, -0.0, .infinity, -.infinity, .nan, .greatestFiniteMagnitude].map(\.bitPattern)
        }
    }

    @Test func `A damaged series is set aside, and the others are loaded`() throws {
        let store = MemoryStore()
        var watch = replica("watch")
        for name in ["a", "b", "c"] { try watch.record(1, in: Series(name), at: 0) }
        try write(&watch, to: store)
        var batch = StoreBatch()
        batch.set([7], for: "series/1")
        try store.commit(batch)
        var loaded = replica("watch")
        try loaded.load(from: store)
        #expect(loaded.damage?.code == .damaged)
        #expect(["a", "b", "c"].map { loaded.summary(named: $0, by: nil).count } == [1, 0, 1])
        // Its number isn't assigned again.
        try loaded.record(2, in: Series("b"), at: 1)
        try write(&loaded, to: store)
        #expect(try store.value(for: "series/1") == [7])
    }
}
