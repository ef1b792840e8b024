/// A list of operations that a store does in order: all of them or none.
public struct StoreBatch: Hashable, Sendable {
    /// One step of a batch.
    public enum Operation: Hashable, Sendable {
        /// The key has this value, whatever it had before.
        case set(key: String, bytes: [UInt8])
        /// The key has no value.
        case remove(key: String)
        /// One more entry at the end of a journal.
        case append(journal: String, entry: StoreEntry)
        /// Positions below the mark are gone, and the next append is at the mark at the earliest.
        case truncate(journal: String, below: UInt64)
        /// The journal with its numbering.
        case erase(journal: String)
    }

    /// The operations in the order in which the store does them.
    public private(set) var operations: [Operation] = []
    /// The number of bytes of all names, values and entries.
    public private(set) var byteCount = 0

    /// A batch that does nothing yet.
    public init() {}

    /// Whether it does nothing.
    public var isEmpty: Bool { operations.isEmpty }

    /// Gives a key its value, in place of the one before. The key is a name of at most `StoreLimits.nameBytesMax`
    /// bytes.
    public mutating func set(_ bytes: [UInt8], for key: String) {
        add(.set(key: key, bytes: bytes), byteCount: key.utf8.count + bytes.count)
    }

    /// A key without a value is fine.
    public mutating func removeValue(for key: String) {
        add(.remove(key: key), byteCount: key.utf8.count)
    }

    /// Appends an entry to a journal.
    ///
    /// - Parameter position: the one after the journal's last; for a journal that does not exist yet, any.
    public mutating func append(_ bytes: [UInt8], to journal: String, at position: UInt64) {
        let entry = StoreEntry(position: position, bytes: bytes)
        add(.append(journal: journal, entry: entry), byteCount: journal.utf8.count + bytes.count)
    }

    /// Makes the journal if there is none.
    public mutating func truncate(_ journal: String, below mark: UInt64) {
        add(.truncate(journal: journal, below: mark), byteCount: journal.utf8.count)
    }

    /// A journal that does not exist is fine.
    public mutating func erase(_ journal: String) {
        add(.erase(journal: journal), byteCount: journal.utf8.count)
    }

    package init(_ operations: some Sequence<Operation>) {
        self.init()
        append(contentsOf: operations)
    }

    /// These operations after those.
    package mutating func append(contentsOf operations: some Sequence<Operation>) {
        for operation in operations {
            switch operation {
            case .set(let key, let bytes): set(bytes, for: key)
            case .remove(let key): removeValue(for: key)
            case .append(let journal, let entry): append(entry.bytes, to: journal, at: entry.position)
            case .truncate(let journal, let mark): truncate(journal, below: mark)
            case .erase(let journal): erase(journal)
            }
        }
    }

    private mutating func add(_ operation: Operation, byteCount: Int) {
        operations.append(operation)
        self.byteCount += byteCount
    }

    /// The batch, if it keeps `StoreLimits`.
    /// - Throws: `StorageError.Code.oversized`.
    public func checked() throws(StorageError) -> StoreBatch {
        try StoreLimits.check(operations.count, of: "a batch's operations", max: StoreLimits.operationsMax)
        try StoreLimits.check(byteCount, of: "a batch's bytes", max: StoreLimits.batchBytesMax)
        for operation in operations {
            switch operation {
            case .set(let key, let bytes):
                try StoreLimits.check(name: key)
                try StoreLimits.check(bytes.count, of: "the value of '\(key)'", max: StoreLimits.valueBytesMax)
            case .append(let journal, let entry):
                try StoreLimits.check(name: journal)
                try StoreLimits.check(entry.bytes.count, of: "an entry of '\(journal)'", max: StoreLimits.entryBytesMax)
                try StoreLimits.check(position: entry.position, of: journal)
            case .truncate(let journal, let mark):
                try StoreLimits.check(name: journal)
                try StoreLimits.check(position: mark, of: journal)
            case .remove(let name), .erase(let name): try StoreLimits.check(name: name)
            }
        }
        return self
    }
}

/// The bounds of every store. Beyond them a batch is refused whole, with `StorageError.Code.oversized`.
public enum StoreLimits {
    /// UTF-8 bytes of a key or of a journal's name; at least one.
    public static let nameBytesMax = 512
    /// Bytes of one entry of a journal: 4 MiB.
    public static let entryBytesMax = 4 << 20
    /// Bytes of one value: 64 MiB.
    public static let valueBytesMax = 64 << 20
    /// Bytes of a batch: 128 MiB of names, values and entries.
    public static let batchBytesMax = 128 << 20
    /// Operations of a batch: 1,048,576.
    public static let operationsMax = 1 << 20
    /// SQL knows signed integers only.
    public static let positionMax = UInt64(Int64.max) - 1

    static func check(_ count: Int, of subject: @autoclosure () -> String, max: Int) throws(StorageError) {
        guard count <= max else {
            throw StorageError(.oversized, "\(subject()): \(count), the limit is \(max); store less")
        }
    }

    static func check(name: String) throws(StorageError) {
        guard !name.isEmpty else { throw StorageError(.oversized, "a name is empty; give it a character") }
        try check(name.utf8.count, of: "the bytes of a name", max: nameBytesMax)
    }

    static func check(position: UInt64, of journal: String) throws(StorageError) {
        guard position <= positionMax else {
            throw StorageError(
                .oversized, "position \(position) of '\(journal)', the limit is \(positionMax); begin a new journal")
        }
    }
}
