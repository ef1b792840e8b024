#if SQLite
    /// The first 100 bytes of a database file (SQLite, "Database File Format", section 1.3).
    struct SQLiteHeader {
        static let byteCount = 100
        private static let magic = Array("SQLite format 3\0".utf8)
        private let bytes: [UInt8]

        /// Returns nil if the header is too short or has another signature.
        init?(_ bytes: [UInt8]) {
            guard bytes.count >= Self.byteCount, bytes.starts(with: Self.magic) else { return nil }
            self.bytes = bytes
        }

        /// Returns true if a file of only these bytes may be the beginning of a database that was cut.
        static func isBeginning(_ bytes: [UInt8]) -> Bool {
            bytes.count < byteCount && bytes.prefix(magic.count).elementsEqual(magic.prefix(bytes.count))
        }

        var pageSize: Int { big16(16) == 1 ? 65536 : big16(16) }
        var byteCount: Int64 { Int64(big32(28)) * Int64(pageSize) }
        var schemaVersion: UInt32 { big32(60) }
        var applicationID: Int32 { Int32(bitPattern: big32(68)) }

        /// A description of the damage; nil if the header is one that a store can have.
        var damage: String? {
            if pageSize < 512 || pageSize.nonzeroBitCount != 1 { return "its pages have \(pageSize) bytes" }
            if bytes[18] != 2 || bytes[19] != 2 { return "it isn't in WAL mode" }
            if bytes[20] != 0 || bytes[21..<24] != [64, 32, 32] { return "its header has been changed" }
            if big32(24) != big32(92) { return "its header has been changed" }
            return nil
        }

        private func big16(_ offset: Int) -> Int { Int(bytes[offset]) << 8 | Int(bytes[offset + 1]) }

        private func big32(_ offset: Int) -> UInt32 {
            bytes[offset..<offset + 4].reduce(0) { $0 << 8 | UInt32($1) }
        }
    }
#endif
