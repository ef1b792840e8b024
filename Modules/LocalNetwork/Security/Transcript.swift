#if UDP || MQTT || WebSocket
    /// The bytes that are hashed: every field with its length in front, so that no two lists of fields are the same bytes.
    /// The first ones say what the hash is for.
    struct Transcript {
        private(set) var bytes: [UInt8] = []

        /// - Parameter purpose: differs for every use of a hash or a derived key.
        init(_ protocolName: String, version: UInt8, purpose: String) {
            append(protocolName.utf8)
            append([version])
            append(purpose.utf8)
        }

        /// - Parameter field: at most 65,535 bytes.
        mutating func append(_ field: some Collection<UInt8>) {
            let count = UInt16(field.count)
            bytes.append(UInt8(count >> 8))
            bytes.append(UInt8(truncatingIfNeeded: count))
            bytes.append(contentsOf: field)
        }
    }
#endif
