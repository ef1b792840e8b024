#if SQLite
    internal import MeshIdentity
    internal import MeshStorage

    /// The checksum that every row carries, over its content and its key or position. SQLite's pages have none.
    enum RowChecksum {
        static func entry(journal: Int64, position: UInt64, bytes: UnsafeRawBufferPointer) -> UInt64 {
            StableHash(bytes, seed: seed(1, UInt64(bitPattern: journal), position)).low
        }

        static func value(key: StoreName, bytes: UnsafeRawBufferPointer) -> UInt64 {
            StableHash(bytes, seed: key.bytes.withUnsafeBytes { StableHash($0, seed: 2).low }).low
        }

        static func journal(id: Int64, name: StoreName, positions: Range<UInt64>) -> UInt64 {
            let seed = seed(UInt64(bitPattern: id), positions.lowerBound, positions.upperBound)
            return name.bytes.withUnsafeBytes { StableHash($0, seed: seed).low }
        }

        private static func seed(_ first: UInt64, _ second: UInt64, _ third: UInt64) -> UInt64 {
            withUnsafeBytes(of: (first.littleEndian, second.littleEndian, third.littleEndian)) {
                StableHash($0, seed: 3).low
            }
        }
    }
#endif
