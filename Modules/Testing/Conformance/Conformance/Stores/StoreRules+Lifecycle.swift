import MeshStorage

extension StoreConformance {
    /// Rules about opening and closing.
    static let lifecycleRules: [ConformanceRule<StoreBench>] = [
        ConformanceRule("store.open.empty", "A new store is empty") { bench in
            try bench.withStore { store in
                try requireEqual(store.catalog(prefix: ""), StoreCatalog(), "what is stored")
            }
        },
        ConformanceRule("store.open.independent", "Stores in two folders share nothing") { bench in
            let (first, second) = (try bench.open("first"), try bench.open("second"))
            defer {
                first.close()
                second.close()
            }
            try first.commit { $0.fillTypically() }
            try requireEqual(second.catalog(prefix: ""), StoreCatalog(), "what the second one stores")
        },
        ConformanceRule("store.reopen.kept", "Committed content is there when the store is opened again") { bench in
            let written = try bench.withStore { store in
                try store.commit { $0.fillTypically() }
                try store.commit { $0.append([4], to: "log", at: 4) }
                return try store.contents()
            }
            for _ in 1...3 {
                try bench.withStore { try requireEqual($0.contents(), written, "what is stored after opening again") }
            }
        }.unless(\.persistenceSkipReason),
        ConformanceRule("store.reopen.numbering", "Numbering survives closing, even of an emptied journal") { bench in
            try bench.withStore { store in
                try store.commit { batch in
                    batch.fillTypically()
                    batch.truncate("log", below: 4)
                }
            }
            try bench.withStore { store in
                try requireThrows(.outOfOrder, "an append at a given-up position") {
                    try store.commit { $0.append([], to: "log", at: 3) }
                }
                try store.commit { $0.append([4], to: "log", at: 4) }
                try store.commit { $0.append([6], to: "other", at: 6) }
            }
        }.unless(\.persistenceSkipReason),
        ConformanceRule("store.reopen.refused", "A refused batch isn't there after opening again either") { bench in
            let written = try bench.withStore { store in
                try store.commit { $0.fillTypically() }
                let written = try store.contents()
                try requireThrows(.outOfOrder, "a batch with a gap") {
                    try store.commit { batch in
                        batch.set([9], for: "head")
                        batch.append([], to: "log", at: 8)
                    }
                }
                return written
            }
            try bench.withStore { try requireEqual($0.contents(), written, "what is stored after opening again") }
        }.unless(\.persistenceSkipReason),
        ConformanceRule("store.open.exclusive", "Opening a store twice is refused, and the first one keeps working") {
            bench in
            let store = try bench.open()
            try store.commit { $0.fillTypically() }
            try requireThrows(.busy, "a second opening") { try bench.open().close() }
            try store.commit { $0.append([4], to: "log", at: 4) }
            store.close()
            try bench.open().close()
        }.unless(\.persistenceSkipReason),
        ConformanceRule("store.close.final", "A closed store refuses every call, and can be closed again") { bench in
            let store = try bench.open()
            store.close()
            store.close()
            try requireThrows(.closed, "a commit") { try store.commit { $0.set([], for: "head") } }
            try requireThrows(.closed, "an empty commit") { try store.commit(StoreBatch()) }
            try requireThrows(.closed, "reading a value") { _ = try store.value(for: "head") }
            try requireThrows(.closed, "reading the catalog") { _ = try store.catalog(prefix: "") }
            try requireThrows(.closed, "reading entries") {
                _ = try store.entries(of: "log", from: 0, maxBytes: 1)
            }
        },
    ]
}
