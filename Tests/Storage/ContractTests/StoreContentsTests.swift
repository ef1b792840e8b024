import MeshStorage
import Testing

/// Compares the contract's value type with a model too simple to be wrong: dictionaries of dictionaries.
@Suite struct StoreContentsTests {
    @Test(arguments: 0..<200 as Range<UInt64>)
    func `Random batches change the contents like the model`(seed: UInt64) throws {
        var random = Steps(seed: seed)
        var contents = StoreContents()
        var model = Model()
        for step in 0..<60 {
            let batch = random.batch(around: model)
            let before = contents
            var next = model
            let isAccepted = batch.operations.allSatisfy { next.apply($0) }
            do {
                try contents.commit(batch)
                #expect(isAccepted, "seed \(seed), step \(step): \(batch) was accepted")
                model = next
            } catch {
                #expect(error.code == .outOfOrder, "seed \(seed), step \(step)")
                #expect(!isAccepted, "seed \(seed), step \(step): \(batch) was refused: \(error)")
                #expect(contents == before, "seed \(seed), step \(step)")
            }
            #expect(Model(contents) == model, "seed \(seed), step \(step)")
        }
    }

    @Test func `Contents with different removed prefixes are equal`() throws {
        var (cut, never) = (StoreContents(), StoreContents())
        try cut.commit(
            batch { for position in 1...9 { $0.append([UInt8(position)], to: "log", at: UInt64(position)) } })
        try cut.commit(batch { $0.truncate("log", below: 3) })
        try never.commit(
            batch { for position in 3...9 { $0.append([UInt8(position)], to: "log", at: UInt64(position)) } })
        #expect(cut == never)
        try cut.commit(batch { $0.truncate("log", below: 4) })
        #expect(cut != never)
    }

    @Test func `A batch counts the bytes of names, values and entries`() {
        let batch = batch {
            $0.set([1, 2], for: "key")
            $0.append([1, 2, 3], to: "log", at: 1)
            $0.removeValue(for: "k")
            $0.truncate("log", below: 1)
            $0.erase("log")
        }
        #expect(batch.byteCount == 5 + 6 + 1 + 3 + 3)
    }

    private func batch(_ fill: (inout StoreBatch) -> Void) -> StoreBatch {
        var batch = StoreBatch()
        fill(&batch)
        return batch
    }
}

private struct Model: Equatable {
    struct Journal: Equatable {
        var next: UInt64
        var entries: [UInt64: [UInt8]] = [:]
    }

    var values: [String: [UInt8]] = [:]
    var journals: [String: Journal] = [:]

    init() {}

    init(_ contents: StoreContents) {
        let catalog = contents.catalog(prefix: "")
        for key in catalog.keys { values[key] = contents.value(for: key) }
        for journal in catalog.journals {
            let entries = contents.entries(of: journal.name, from: 0, maxBytes: .max)
            journals[journal.name] = Journal(
                next: journal.positions.upperBound,
                entries: Dictionary(uniqueKeysWithValues: entries.map { ($0.position, $0.bytes) }))
        }
    }

    /// - Returns: false if the store must reject the operation.
    mutating func apply(_ operation: StoreBatch.Operation) -> Bool {
        switch operation {
        case .set(let key, let bytes): values[key] = bytes
        case .remove(let key): values[key] = nil
        case .append(let name, let entry):
            var journal = journals[name] ?? Journal(next: entry.position)
            guard entry.position == journal.next else { return false }
            journal.entries[entry.position] = entry.bytes
            journal.next += 1
            journals[name] = journal
        case .truncate(let name, let mark):
            var journal = journals[name] ?? Journal(next: mark)
            journal.entries = journal.entries.filter { $0.key >= mark }
            journal.next = max(journal.next, mark)
            journals[name] = journal
        case .erase(let name): journals[name] = nil
        }
        return true
    }
}

/// Generates batches from a seed.
private struct Steps {
    private var state: UInt64

    init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

    mutating func upTo(_ bound: UInt64) -> UInt64 {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return (state >> 33) % (bound + 1)
    }

    mutating func batch(around model: Model) -> StoreBatch {
        var batch = StoreBatch()
        var next = model.journals.mapValues(\.next)
        for _ in 0...upTo(6) {
            let name = "name \(upTo(3))"
            let expected = next[name]
            switch upTo(9) {
            case 0: batch.set([UInt8(upTo(255))], for: name)
            case 1: batch.removeValue(for: name)
            case 2: batch.erase(name)
            case 3, 4: batch.truncate(name, below: (expected ?? 3) &- min(expected ?? 3, upTo(4)) + upTo(4))
            // Mostly the right position, sometimes another.
            default: batch.append([UInt8(upTo(255))], to: name, at: (expected ?? upTo(5)) + (upTo(40) == 0 ? 1 : 0))
            }
            if let operation = batch.operations.last, case .append(_, let entry) = operation {
                next[name] = entry.position + 1
            } else if case .erase = batch.operations.last {
                next[name] = nil
            } else if case .truncate(_, let mark) = batch.operations.last {
                next[name] = max(mark, expected ?? mark)
            }
        }
        return batch
    }
}
