/// A list of operations that a store performs in order, all or none.
public struct StoreBatch: Hashable, Sendable {
    /// An operation of a batch.
    public enum Operation: Hashable, Sendable {
        /// Sets the value of a key.
        case set(key: String, bytes: [UInt8])
        /// Removes the value of a key.
        case remove(key: String)
        /// Appends an entry to a journal.
        case append(journal: String, entry: StoreEntry)
        /// Removes the entries below a position. The next append is at this position or later.
        case truncate(journal: String, below: UInt64)
        /// Removes a journal with its numbering.
        case erase(journal: String)
    }

    /// The operations, in order.
    public private(set) var operations: [Operation] = []
    /// The number of bytes of all names, values and entries.
    public private(set) var byteCount = 0

    /// Creates an empty batch.
    public init() {}

    /// True if the batch has no operations.
    public var isEmpty: Bool { operations.isEmpty }

    /// Sets the value of a key. The key has at most `StoreLimits.nameBytesMax` bytes of UTF-8.
    public mutating func set(_ bytes: [UInt8], for key: String) {
        add(.set(key: key, bytes: bytes), byteCount: key.utf8.count + bytes.count)
    }

    /// Removes the value of a key, if there is one.
    public mutating func removeValue(for key: String) {
        add(.remove(key: key), byteCount: key.utf8.count)
    }

    /// Appends an entry to a journal.
    ///
    /// - Parameter position: the one after the journal's last; any position if the journal doesn't exist yet.
    public mutating func append(_ bytes: [UInt8], to journal: String, at position: UInt64) {
        let entry = StoreEntry(position: position, bytes: bytes)
        add(.append(journal: journal, entry: entry), byteCount: journal.utf8.count + bytes.count)
    }

    /// Removes a journal's entries below a position. Creates the journal if it doesn't exist.
    public mutating func truncate(_ journal: String, below mark: UInt64) {
        add(.truncate(journal: journal, below: mark), byteCount: journal.utf8.count)
    }

    /// Removes a journal with its numbering, if it exists.
    public mutating func erase(_ journal: String) {
        add(.erase(journal: journal), byteCount: journal.utf8.count)
    }

    package init(_ operations: some Sequence<Operation>) {
        self.init()
        append(contentsOf: operations)
    }

    /// Adds operations at the end.
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

    /// Returns the batch if it is within `StoreLimits`.
    /// - Throws: `StorageError.Code.oversized` otherwise.
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

/// The limits of every store. A batch beyond them is refused as a whole, with `StorageError.Code.oversized`.
public enum StoreLimits {
    /// Maximum number of UTF-8 bytes in the name of a key or a journal. A name has at least one byte.
    public static let nameBytesMax = 512
    /// Maximum number of bytes in an entry: 4 MiB.
    public static let entryBytesMax = 4 << 20
    /// Maximum number of bytes in a value: 64 MiB.
    public static let valueBytesMax = 64 << 20
    /// Maximum number of bytes in a batch: 128 MiB of names, values and entries.
    public static let batchBytesMax = 128 << 20
    /// Maximum number of operations in a batch: 1,048,576.
    public static let operationsMax = 1 << 20
    /// The highest position in a journal: below `Int64.max`, because SQL has only signed integers.
    public static let positionMax = UInt64(Int64.max) - 1

    static func check(_ count: Int, of subject: @autoclosure () -> String, max: Int) throws(StorageError) {
        guard count <= max else {
            throw StorageError(.oversized, "\(subject()): \(count), the limit is \(max); store less")
        }
    }

    static func check(name: String) throws(StorageError) {
        guard !name.isEmpty else { throw StorageError(.oversized, "a name is empty; it needs at least one character") }
        try check(name.utf8.count, of: "the bytes of a name", max: nameBytesMax)
    }

    static func check(position: UInt64, of journal: String) throws(StorageError) {
        guard position <= positionMax else {
            throw StorageError(
                .oversized, "position \(position) of '\(journal)', the limit is \(positionMax); start a new journal")
        }
    }
}
