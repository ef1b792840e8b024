import MeshStorage

extension StoreConformance {
    /// Rules about batches: all or nothing.
    static let batchRules: [ConformanceRule<StoreBench>] = [
        ConformanceRule("store.batch.order", "A batch is performed in order") { bench in
            try bench.withStore { store in
                try store.commit { batch in
                    batch.set([1], for: "head")
                    batch.removeValue(for: "head")
                    batch.set([2], for: "head")
                    batch.append([1], to: "log", at: 1)
                    batch.truncate("log", below: 7)
                    batch.append([7], to: "log", at: 7)
                    batch.append([], to: "old", at: 1)
                    batch.erase("old")
                    batch.append([3], to: "old", at: 30)
                }
                try requireEqual(store.value(for: "head"), [2], "the value")
                let log = try store.entries(of: "log", from: 0, maxBytes: .max)
                try requireEqual(log, [StoreEntry(position: 7, bytes: [7])], "the entries")
                let old = try store.entries(of: "old", from: 0, maxBytes: .max)
                try requireEqual(old, [StoreEntry(position: 30, bytes: [3])], "the entries after erasing")
            }
        },
        ConformanceRule("store.batch.atomic", "A refused batch changes nothing") { bench in
            try bench.withStore { store in
                try store.commit { $0.fillTypically() }
                let before = try store.contents()
                try requireThrows(.outOfOrder, "a batch that ends with a gap") {
                    try store.commit { batch in
                        batch.set([9], for: "head")
                        batch.removeValue(for: "kept")
                        batch.set([9], for: "new")
                        batch.append([9], to: "log", at: 4)
                        batch.truncate("log", below: 3)
                        batch.erase("other")
                        batch.append([9], to: "new", at: 1)
                        batch.append([9], to: "log", at: 9)
                    }
                }
                try requireEqual(store.contents(), before, "what is stored")
                try store.commit { $0.append([4], to: "log", at: 4) }
            }
        },
        ConformanceRule("store.batch.empty", "An empty batch changes nothing") { bench in
            try bench.withStore { store in
                try store.commit(StoreBatch())
                try requireEqual(store.catalog(prefix: ""), StoreCatalog(), "what is stored")
            }
        },
        ConformanceRule(
            "store.batch.bounds", "A batch beyond a bound is refused as a whole, and one at the bound is accepted"
        ) {
            bench in
            let name = String(repeating: "n", count: StoreLimits.nameBytesMax)
            try bench.withStore { store in
                let excesses: [(String, (inout StoreBatch) -> Void)] = [
                    ("an empty name", { $0.set([1], for: "") }),
                    ("a long key", { $0.set([1], for: name + "n") }),
                    ("a long journal name", { $0.append([1], to: name + "n", at: 1) }),
                    (
                        "a large entry",
                        { $0.append([UInt8](repeating: 1, count: StoreLimits.entryBytesMax + 1), to: "log", at: 1) }
                    ),
                    (
                        "a large value",
                        { $0.set([UInt8](repeating: 1, count: StoreLimits.valueBytesMax + 1), for: "head") }
                    ),
                ]
                for (subject, exceed) in excesses {
                    try requireThrows(.oversized, subject) {
                        try store.commit { batch in
                            batch.set([1], for: "before")
                            exceed(&batch)
                        }
                    }
                }
                try requireEqual(store.catalog(prefix: ""), StoreCatalog(), "what is stored")
                let entry = [UInt8](repeating: 1, count: StoreLimits.entryBytesMax)
                try store.commit { batch in
                    batch.append(entry, to: "log", at: 1)
                    batch.set([1], for: name)
                }
                try require(
                    store.entries(of: "log", from: 0, maxBytes: 1).first?.bytes == entry, "the largest entry changed")
                try requireEqual(store.value(for: name), [1], "the value of the longest name")
            }
        },
        ConformanceRule("store.batch.whole", "Readers on other threads never see half of a batch") { bench in
            let store = try bench.open()
            defer { store.close() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for round in 1...200 as ClosedRange<UInt64> {
                        try store.commit { batch in
                            batch.append([], to: "left", at: round)
                            batch.append([], to: "right", at: round)
                        }
                    }
                }
                group.addTask {
                    for _ in 1...200 {
                        let journals = try store.catalog(prefix: "").journals
                        let positions = journals.map(\.positions)
                        try require(Set(positions).count <= 1, "a reader saw \(positions)")
                    }
                }
                try await group.waitForAll()
            }
        },
        ConformanceRule("store.batch.concurrent", "Concurrent commits of several threads all succeed") { bench in
            let store = try bench.open()
            defer { store.close() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for writer in 0..<8 {
                    group.addTask {
                        for position in 1...25 as ClosedRange<UInt64> {
                            try store.commit { $0.append([UInt8(writer)], to: "log \(writer)", at: position) }
                        }
                    }
                }
                try await group.waitForAll()
            }
            for writer in 0..<8 as Range<UInt8> {
                let entries = try store.entries(of: "log \(writer)", from: 0, maxBytes: .max)
                let expected = (1...25).map { StoreEntry(position: $0, bytes: [writer]) }
                try requireEqual(entries, expected, "the entries of writer \(writer)")
            }
        },
    ]
}

extension StoreBatch {
    /// Adds two journals and two values.
    mutating func fillTypically() {
        set([1], for: "head")
        set([2], for: "kept")
        for position in 1...3 as ClosedRange<UInt64> { append([UInt8(position)], to: "log", at: position) }
        append([5], to: "other", at: 5)
    }
}
