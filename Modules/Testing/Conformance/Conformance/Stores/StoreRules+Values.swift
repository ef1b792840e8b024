import MeshStorage

extension StoreConformance {
    /// Rules about values by key.
    static let valueRules: [ConformanceRule<StoreBench>] = [
        ConformanceRule("store.value.kept", "A value is the last one set, until it is removed") { bench in
            try bench.withStore { store in
                try requireEqual(store.value(for: "head"), nil, "a value that was never set")
                for bytes in [[1, 2, 3], [], Array(0...255), [9]] as [[UInt8]] {
                    try store.commit { $0.set(bytes, for: "head") }
                    try requireEqual(store.value(for: "head"), bytes, "the value")
                }
                try store.commit { $0.removeValue(for: "head") }
                try requireEqual(store.value(for: "head"), nil, "a removed value")
                try store.commit { $0.removeValue(for: "head") }
            }
        },
        ConformanceRule("store.value.names", "Names are compared byte for byte") { bench in
            let names = ["a", "A", "a ", "a%", "a_", "ab", "a\u{0}b", "é", "e\u{301}", "日本", "'; --", "a/b", "a\\b"]
            try bench.withStore { store in
                try store.commit { batch in
                    for (index, name) in names.enumerated() { batch.set([UInt8(index)], for: name) }
                }
                for (index, name) in names.enumerated() {
                    try requireEqual(store.value(for: name), [UInt8(index)], "the value of '\(name)'")
                }
                try requireEqual(store.catalog(prefix: "").keys.count, names.count, "the number of keys")
            }
        },
        ConformanceRule("store.value.large", "A value of eight megabytes is read back completely") { bench in
            let bytes = (0..<8 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            try bench.withStore { store in
                try store.commit { $0.set(bytes, for: "large") }
                try require(store.value(for: "large") == bytes, "the value has changed")
            }
        },
        ConformanceRule("store.catalog.prefix", "The catalog lists names with the prefix, sorted by bytes") { bench in
            try bench.withStore { store in
                try store.commit { batch in
                    for name in ["b", "a/2", "a/10", "a", "A/1", "a0", "a/\u{E9}", "a%1", "%"] {
                        batch.set([], for: name)
                        batch.append([], to: name, at: 5)
                    }
                }
                let catalog = try store.catalog(prefix: "a/")
                let expected = ["a/10", "a/2", "a/\u{E9}"]
                try requireEqual(catalog.keys, expected, "the keys below a/")
                try requireEqual(
                    catalog.journals, expected.map { .init(name: $0, positions: 5..<6) }, "the journals below a/")
                try requireEqual(store.catalog(prefix: "%").keys, ["%"], "the keys below %")
                try requireEqual(store.catalog(prefix: "none"), StoreCatalog(), "the catalog below none")
                try requireEqual(store.catalog(prefix: "").keys.count, 9, "the number of all keys")
            }
        },
    ]
}
