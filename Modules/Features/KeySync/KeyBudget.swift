import MeshRegister

/// The number of bytes that a message has left for names, versions, prints and values.
///
/// Starts with `SyncConfiguration.messageBytes`, which is at most three quarters of the transport's limit. The record and
/// the fields of constant size fit into the last quarter.
struct KeyBudget {
    static let printBytes = 6
    /// Negative if the message exceeds the budget.
    private(set) var bytes: Int
    /// The authors that the message names. It contains each one once.
    private var authors: Set<String> = []

    /// - Parameter message: the fields that the message has already.
    init(_ bytes: Int, after message: KeyMessage) {
        self.bytes = bytes - (message.prints.count + message.wantedPrints.count) * Self.printBytes
        for name in message.wants { self.bytes -= Self.size(name) }
        for name in message.versions {
            let isNew = authors.insert(name.version.author).inserted
            self.bytes -= Self.size(name.key) + (isNew ? name.version.author.utf8.count : 0)
        }
    }

    private static func size(_ name: String) -> Int { name.utf8.count + 32 }

    /// Takes the bytes of a name and its version.
    /// - Returns: false if they don't fit.
    mutating func take(_ name: KeyMessage.Version) -> Bool { take(Self.size(name.key), name.version.author) }

    /// Takes the bytes of an item.
    /// - Returns: false if they don't fit.
    mutating func take(_ item: KeyMessage.Item) -> Bool { take(item.byteCount, item.entry.version.author) }

    mutating func take(name: String) -> Bool { take(Self.size(name)) }

    mutating func take(_ count: Int, _ author: String? = nil) -> Bool {
        let newAuthor = author.flatMap { authors.contains($0) ? nil : $0 }
        let count = count + (newAuthor?.utf8.count ?? 0)
        guard count <= bytes else { return false }
        bytes -= count
        if let newAuthor { authors.insert(newAuthor) }
        return true
    }
}
