/// A store in which a session outlives its process: journals of numbered entries, and values by key. The plugin point
/// for stores.
///
/// ```swift
/// var batch = StoreBatch()
/// batch.append(bytes, to: "workout/log", at: 8)
/// batch.set(head, for: "workout/head")
/// try store.commit(batch)          // both or neither; what is sent now has been written
/// ```
///
/// A journal's positions follow one another without a gap. Truncating gives up its beginning and never its numbering: a
/// position that has been used or passed over is not used again until the journal is erased.
///
/// To the implementer:
/// - `commit` must do all of the batch, in order, or throw and have done nothing; what it has done survives from its
///   return on, as far as `durability` says. A reader must never see half of a batch.
/// - Stores are called from any thread, several at once, and may block; callers keep them off the main thread.
/// - Every throw is a `StorageError`; after `close` its code is `closed`. Bytes that are not what was written are
///   `damaged`, never returned.
/// - One process at a time holds what is stored: a second one is refused with `busy`.
/// - `StoreLimits` are checked by `StoreBatch.checked()`.
public protocol SessionStore: Sendable {
    /// The failure that a commit survives: none, the process's crash, or a loss of power.
    var durability: StoreDurability { get }
    /// Complexity: O(bytes of the batch), and one wait for the disk whatever the batch holds.
    func commit(_ batch: StoreBatch) throws
    /// nil when the key has none.
    func value(for key: String) throws -> [UInt8]?
    /// Returns the keys and journals whose names begin with a prefix, in ascending order of their UTF-8 bytes.
    func catalog(prefix: String) throws -> StoreCatalog
    /// Entries from a position on, in order: as many as fit into `maxBytes`, and at least one if there is one.
    /// A position before the first entry counts as the first.
    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry]
    /// Idempotent; what was committed stays.
    func close()
}

/// The failure that data survives once `commit` has returned.
public enum StoreDurability: String, Hashable, Comparable, Sendable, Codable {
    /// Gone with the object.
    case memory
    /// Survives the end of the process, however it ends; a machine that loses power may lose the latest batches.
    case process
    /// Survives a loss of power as well.
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
    /// The entry's position in its journal.
    public var position: UInt64
    /// The bytes that were appended.
    public var bytes: [UInt8]

    /// Creates an entry without checking it; a store checks when it commits.
    public init(position: UInt64, bytes: [UInt8]) {
        self.position = position
        self.bytes = bytes
    }
}

/// The names that a store knows.
public struct StoreCatalog: Hashable, Sendable {
    /// Keys that have a value.
    public var keys: [String]
    /// Journals that exist, empty ones included.
    public var journals: [Journal]

    /// A journal's name and what it holds.
    public struct Journal: Hashable, Sendable {
        /// The journal's name, as given to `append`.
        public var name: String
        /// The positions that are held; empty, with the next position, after everything was truncated.
        public var positions: Range<UInt64>

        /// A journal that holds `positions`.
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
    /// Passes all entries from a position on to `body`, a megabyte at a time.
    ///
    /// - Parameter body: may throw to end it early.
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
