/// Reads fields with errors that name the field. Foundation alone reports a number out of range as invalid JSON.
extension KeyedDecodingContainer {
    func integer(_ key: Key) throws(FrameError) -> Int { try field(Int.self, key, "a whole number") }
    func string(_ key: Key) throws(FrameError) -> String { try field(String.self, key, "a string") }
    func sequence(_ key: Key) throws(FrameError) -> UInt64 { try field(UInt64.self, key, "a number from 0 to 2^64-1") }

    /// Returns the string; nil if the field is null or missing.
    func stringIfPresent(_ key: Key) throws(FrameError) -> String? { try isPresent(key) ? string(key) : nil }

    func sequenceIfPresent(_ key: Key) throws(FrameError) -> UInt64? { try isPresent(key) ? sequence(key) : nil }

    func object<Inner: CodingKey>(
        _ key: Key, keyedBy type: Inner.Type
    ) throws(FrameError) -> KeyedDecodingContainer<Inner> {
        try read(key, "an object") { try nestedContainer(keyedBy: type, forKey: key) }
    }

    func objectIfPresent<Inner: CodingKey>(
        _ key: Key, keyedBy type: Inner.Type
    ) throws(FrameError) -> KeyedDecodingContainer<Inner>? { try isPresent(key) ? object(key, keyedBy: type) : nil }

    /// - Parameter kind: The expected type, with its article, for the error.
    func field<Value: Decodable>(_ type: Value.Type, _ key: Key, _ kind: String) throws(FrameError) -> Value {
        try read(key, kind) { try decode(type, forKey: key) }
    }

    func isPresent(_ key: Key) -> Bool { contains(key) && (try? decodeNil(forKey: key)) != true }

    private func read<Value>(_ key: Key, _ kind: String, _ body: () throws -> Value) throws(FrameError) -> Value {
        do { return try body() } catch {
            let path = (codingPath + [key]).map(\.stringValue).joined(separator: ".")
            throw FrameError(.decodeError, contains(key) ? "`\(path)` is not \(kind)" : "`\(path)` is missing")
        }
    }
}

extension FrameError {
    /// Describes invalid JSON without the decoder's message.
    init(json error: any Error) {
        if let error = error as? FrameError {
            self = error
        } else if case DecodingError.typeMismatch(_, let context) = error, context.codingPath.isEmpty {
            self.init(.decodeError, "the frame is not a JSON object")
        } else {
            self.init(.decodeError, "the frame can't be read as JSON")
        }
    }
}
