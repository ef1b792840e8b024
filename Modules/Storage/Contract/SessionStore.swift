/// A store in which a session outlives its process: journals of numbered entries, and values by key. Implement it to add
/// another kind of store.
///
/// ```swift
/// var batch = StoreBatch()
/// batch.append(bytes, to: "workout/log", at: 8)
/// batch.set(head, for: "workout/head")
/// try store.commit(batch)          // both or neither; send only what has been written
/// ```
///
/// A journal's positions have no gaps. Truncating removes its beginning and keeps its numbering: a position that was used or
/// skipped isn't used again until the journal is erased.
///
/// For implementers:
/// - `commit` must perform all of the batch in order, or throw and change nothing. A committed batch must survive as
///   `durability` says. A reader must never see half of a batch.
/// - Stores are called on any thread, by several threads at once, and may block. Callers keep them off the main thread.
/// - Every error is a `StorageError`; after `close` its code is `closed`. If stored bytes have changed, throw `damaged` and
///   never return them.
/// - One process at a time may hold the stored data. A second one must get `busy`.
/// - `StoreBatch.checked()` checks `StoreLimits`.
public protocol SessionStore: Sendable {
    /// The failure that a commit survives: none, a crash of the process, or a loss of power.
    var durability: StoreDurability { get }
    /// Performs all of a batch or nothing. Complexity: O(bytes of the batch), and a single wait for the disk.
    func commit(_ batch: StoreBatch) throws
    /// Returns the value of a key; nil if it has none.
    func value(for key: String) throws -> [UInt8]?
    /// Returns the keys and journals whose names begin with a prefix, in ascending order of their UTF-8 bytes.
    func catalog(prefix: String) throws -> StoreCatalog
    /// Returns entries from a position on, in order: as many as fit into `maxBytes`, but at least one if there is one. A
    /// position before the first entry counts as the first.
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry]
    /// Closes the store for good. Everything committed stays. May be called more than once.
    func close()
}

/// The failure that data survives once `commit` has returned.
public enum StoreDurability: String, Hashable, Comparable, Sendable, Codable {
    /// Data ends with the object.
    case memory
    /// Data survives the end of the process. A loss of power may cost the latest batches.
    case process
    /// Data also survives a loss of power.
    case machine

    private var rank: Int {
        switch self {
        case .memory: 0
        case .process: 1
        case .machine: 2
        }
    }

    public static func < (left: StoreDurability, right: StoreDurability) -> Bool { left.rank < right.rank }
}

/// One entry of a journal.
public struct StoreEntry: Hashable, Sendable {
    /// The position in the journal.
    public var position: UInt64
    /// The bytes that were appended.
    public var bytes: [UInt8]

    /// Creates an entry of a journal. A store checks it at the commit.
    public init(position: UInt64, bytes: [UInt8]) {
        self.position = position
        self.bytes = bytes
    }
}

/// The names of a store's keys and journals.
public struct StoreCatalog: Hashable, Sendable {
    /// The keys that have a value.
    public var keys: [String]
    /// The journals, including empty ones.
    public var journals: [Journal]

    /// A journal's name and positions.
    public struct Journal: Hashable, Sendable {
        /// The journal's name, as given to `append`.
        public var name: String
        /// The positions of its entries. If all were truncated, an empty range at the next position.
        public var positions: Range<UInt64>

        /// Creates an entry for a journal.
        public init(name: String, positions: Range<UInt64>) {
            self.name = name
            self.positions = positions
        }
    }

    /// Creates a catalog, empty by default.
    public init(keys: [String] = [], journals: [Journal] = []) {
        self.keys = keys
        self.journals = journals
    }
}

extension SessionStore {
    /// Passes all entries from a position on to `body`. Reads a megabyte at a time.
    ///
    /// - Parameter body: may throw to stop early.
    public func forEachEntry(
        of journal: String, from position: UInt64 = 0, _ body: (StoreEntry) throws -> Void
    ) throws {
        var next = position
        while true {
            let entries = try entries(of: journal, from: next, maxBytes: 1 << 20)
            guard let last = entries.last else { return }
            for entry in entries { try body(entry) }
            guard last.position < StoreLimits.positionMax else { return }
            next = last.position + 1
        }
    }
}
