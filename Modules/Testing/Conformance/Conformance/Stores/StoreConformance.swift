public import Foundation
public import MeshBus
public import MeshStorage

/// The conformance rules for stores, and a function that runs them.
///
/// ```swift
/// let report = await StoreConformance.examine(StoreFactory { folder, _ in try MyStore(folder) }, as: "storage.mine")
/// #expect(report.failures == [])
/// ```
public enum StoreConformance {
    /// Every rule, in the order in which reports list them.
    public static let rules: [ConformanceRule<StoreBench>] = valueRules + journalRules + batchRules + lifecycleRules

    /// Checks a store against each rule. Creates a new folder in `folder` for each rule, and removes it afterwards.
    ///
    /// - Parameters:
    ///   - rules: by default all rules.
    ///   - limit: maximum real time of a rule. A rule that takes longer has failed.
    public static func examine(
        _ factory: StoreFactory, as plugin: PluginID, rules: [ConformanceRule<StoreBench>] = rules,
        in folder: URL = FileManager.default.temporaryDirectory, limit: Duration = .seconds(600)
    ) async -> ConformanceReport {
        var rows: [ConformanceReport.Row] = []
        for rule in rules {
            let verdict = await withDeadline(limit) { await judge(factory, by: rule, in: folder) }
            let (outcome, detail) = verdict ?? (.failed, "the rule didn't end within \(limit)")
            rows.append(.init(plugin: plugin, rule: rule.id, summary: rule.summary, outcome: outcome, detail: detail))
        }
        return ConformanceReport(rows: rows)
    }

    private static func judge(
        _ factory: StoreFactory, by rule: ConformanceRule<StoreBench>, in folder: URL
    ) async -> (ConformanceReport.Outcome, String) {
        let own = folder.appendingPathComponent("store-rules-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: own) }
        do {
            try FileManager.default.createDirectory(at: own, withIntermediateDirectories: true)
            let bench = StoreBench(factory: factory, folder: own)
            if let exemption = rule.exemption(bench) { return (.skipped, exemption) }
            try await rule.check(bench)
            return (.passed, "")
        } catch {
            return (.failed, "\(error)")
        }
    }
}

/// The tools with which a rule checks a store: a factory, and a folder for its stores.
public struct StoreBench: Sendable {
    let factory: StoreFactory
    let folder: URL

    /// Opens the store with this name, or creates it.
    func open(_ name: String = "store") throws -> any SessionStore {
        let folder = folder.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return try factory.open(folder.path, .process)
    }

    /// Calls `body` with an open store, and closes the store.
    func withStore<Result>(_ body: (any SessionStore) throws -> Result) throws -> Result {
        let store = try open()
        defer { store.close() }
        return try body(store)
    }

    /// The reason why rules about reopening don't apply; nil if they do.
    var persistenceSkipReason: String? {
        let store = try? open("forgets")
        defer { store?.close() }
        return store?.durability == .memory ? "it keeps nothing" : nil
    }
}

extension SessionStore {
    func commit(_ fill: (inout StoreBatch) -> Void) throws {
        var batch = StoreBatch()
        fill(&batch)
        try commit(batch)
    }

    /// Returns everything that is stored.
    func contents() throws -> StoredContents {
        let catalog = try catalog(prefix: "")
        return StoredContents(
            values: try catalog.keys.map { .init(name: $0, bytes: try value(for: $0)) },
            journals: try catalog.journals.map { journal in
                .init(
                    journal: journal,
                    entries: try entries(of: journal.name, from: 0, maxBytes: .max))
            })
    }
}

struct StoredContents: Equatable {
    struct Value: Equatable {
        var name: String
        var bytes: [UInt8]?
    }

    struct Journal: Equatable {
        var journal: StoreCatalog.Journal
        var entries: [StoreEntry]
    }

    var values: [Value]
    var journals: [Journal]
}

/// Throws `ConformanceFailure` unless `body` throws a `StorageError` with this code.
func requireThrows(_ code: StorageError.Code, _ subject: String, _ body: () throws -> Void) throws {
    do {
        try body()
    } catch let error as StorageError {
        return try requireEqual(error.code, code, "the error of \(subject)")
    }
    throw ConformanceFailure("\(subject): nothing was thrown, expected: \(code)")
}
