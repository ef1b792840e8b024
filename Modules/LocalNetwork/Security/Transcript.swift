#if UDP || MQTT || WebSocket
    /// The input of a hash. Each field follows its length, so different lists of fields never have the same bytes. The
    /// first fields state the purpose of the hash.
    struct Transcript {
        private(set) var bytes: [UInt8] = []

        /// - Parameter purpose: A text that differs for each use of a hash or derived key.
        init(_ protocolName: String, version: UInt8, purpose: String) {
            append(protocolName.utf8)
            append([version])
            append(purpose.utf8)
        }

        /// - Parameter field: At most 65,535 bytes.
        mutating func append(_ field: some Collection<UInt8>) {
            let count = UInt16(field.count)
            bytes.append(UInt8(count >> 8))
            bytes.append(UInt8(truncatingIfNeeded: count))
            bytes.append(contentsOf: field)
        }
    }
#endif
