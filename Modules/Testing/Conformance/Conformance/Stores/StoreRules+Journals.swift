import MeshStorage

extension StoreConformance {
    /// Rules about journals of numbered entries.
    static let journalRules: [ConformanceRule<StoreBench>] = [
        ConformanceRule("store.journal.order", "Entries are read in order, each with its position and bytes") {
            bench in
            try bench.withStore { store in
                try store.append(3...300)
                let entries = try store.entries(of: "log", from: 0, maxBytes: .max)
                try requireEqual(entries, (3...300).map(entry), "the entries")
                try requireEqual(store.entries(of: "other", from: 0, maxBytes: .max), [], "another journal's entries")
            }
        },
        ConformanceRule("store.journal.from", "Reading begins at the given position") { bench in
            try bench.withStore { store in
                try store.append(10...20)
                for start in [0, 9, 10, 11, 20, 21, .max] as [UInt64] {
                    let expected = (10...20).filter { $0 >= start }.map(entry)
                    try requireEqual(store.entries(of: "log", from: start, maxBytes: .max), expected, "from \(start)")
                }
            }
        },
        ConformanceRule(
            "store.journal.pages", "Reading keeps to the given number of bytes, but returns at least one entry"
        ) { bench in
            try bench.withStore { store in
                try store.commit { batch in
                    for position in 1...10 as ClosedRange<UInt64> {
                        batch.append([UInt8](repeating: 7, count: 100), to: "log", at: position)
                    }
                }
                for (limit, count) in [(0, 1), (99, 1), (100, 1), (250, 2), (300, 3), (.max, 10)] {
                    let entries = try store.entries(of: "log", from: 1, maxBytes: limit)
                    try requireEqual(entries.map(\.position), Array(1...UInt64(count)), "within \(limit) bytes")
                }
                var seen: [UInt64] = []
                try store.forEachEntry(of: "log", from: 4) { seen.append($0.position) }
                try requireEqual(seen, Array(4...10), "all from 4 on")
            }
        },
        ConformanceRule("store.journal.dense", "A gap or a repetition is refused") { bench in
            try bench.withStore { store in
                try store.append(5...7)
                for position in [0, 4, 5, 7, 9, 100] as [UInt64] {
                    try requireThrows(.outOfOrder, "an append at \(position) after 7") {
                        try store.append(position...position)
                    }
                }
                try store.append(8...8)
                try requireEqual(store.positions(), 5..<9, "the positions")
            }
        },
        ConformanceRule("store.journal.truncate", "Truncating removes the entries below the mark, and nothing else") {
            bench in
            try bench.withStore { store in
                try store.append(1...10)
                for (mark, first) in [(0, 1), (1, 1), (4, 4), (3, 4), (10, 10)] as [(UInt64, UInt64)] {
                    try store.commit { $0.truncate("log", below: mark) }
                    try requireEqual(store.positions(), first..<11, "the positions after truncating below \(mark)")
                    try requireEqual(
                        store.entries(of: "log", from: 0, maxBytes: .max), (first...10).map(entry), "the entries")
                }
            }
        },
        ConformanceRule("store.journal.numbering", "A used or skipped position isn't used again") {
            bench in
            try bench.withStore { store in
                try store.append(1...3)
                try store.commit { $0.truncate("log", below: 4) }
                try requireEqual(store.positions(), 4..<4, "the positions of an emptied journal")
                try requireThrows(.outOfOrder, "an append at a given-up position") { try store.append(3...3) }
                try store.commit { $0.truncate("log", below: 9) }
                try requireThrows(.outOfOrder, "an append at a passed-over position") { try store.append(4...4) }
                try store.append(9...9)
                try requireEqual(store.positions(), 9..<10, "the positions")
                try store.commit { $0.truncate("new", below: 6) }
                try requireThrows(.outOfOrder, "an append below the first mark") {
                    try store.commit { $0.append([], to: "new", at: 5) }
                }
            }
        },
        ConformanceRule("store.journal.erase", "An erased journal can start at any position") { bench in
            try bench.withStore { store in
                try store.append(5...9)
                try store.commit { batch in
                    batch.erase("log")
                    batch.erase("none")
                }
                try requireEqual(store.catalog(prefix: "").journals, [], "the journals")
                try requireEqual(store.entries(of: "log", from: 0, maxBytes: .max), [], "the entries")
                try store.append(2...3)
                try requireEqual(store.positions(), 2..<4, "the positions")
            }
        },
        ConformanceRule("store.journal.ends", "Positions reach from 0 to the limit") { bench in
            let last = StoreLimits.positionMax
            try bench.withStore { store in
                try store.append(0...1)
                try store.commit { $0.truncate("log", below: last) }
                try store.append(last...last)
                try requireEqual(store.entries(of: "log", from: 2, maxBytes: .max), [entry(last)], "the last entry")
                try requireThrows(.oversized, "an append beyond the limit") {
                    try store.commit { $0.append([], to: "log", at: last + 1) }
                }
            }
        },
    ]
}

/// Returns an entry whose bytes contain its position.
private func entry(_ position: UInt64) -> StoreEntry {
    StoreEntry(position: position, bytes: Array("entry \(position)".utf8))
}

extension SessionStore {
    fileprivate func append(_ positions: ClosedRange<UInt64>) throws {
        try commit { batch in
            for position in positions { batch.append(entry(position).bytes, to: "log", at: position) }
        }
    }

    fileprivate func positions() throws -> Range<UInt64>? {
        try catalog(prefix: "log").journals.first?.positions
    }
}
