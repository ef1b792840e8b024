// Sets and dictionaries of Codable elements in the deterministic mode. Each element, or its key, is first encoded as a
// separate message. The elements are then written in the order of those bytes.

extension Set: UnorderedCollection where Element: Encodable {
    static var valuesEach: UInt8 { 1 }
    static var hasUniqueNames: Bool { true }

    func encodeSorted(in state: UnsafeMutablePointer<EncodeState>, as head: WireHead) throws {
        let elements = try state.pointee.sorted(Array(self)) { $0 }
        state.pointee.writer.openList(count: elements.count, as: head)
        for element in elements { try EncodeState.encode(element, in: state, as: .element) }
        state.pointee.writer.closeList()
    }
}

/// Writes the form that `Dictionary.encode(to:)` would choose.
extension Dictionary: UnorderedCollection where Key: Encodable, Value: Encodable {
    static var valuesEach: UInt8 { 2 }
    static var hasUniqueNames: Bool { Key.self == Int.self || Key.self == String.self }

    func encodeSorted(in state: UnsafeMutablePointer<EncodeState>, as head: WireHead) throws {
        if let names = try encodeNames(in: state, as: head) { return names }
        let pairs = try state.pointee.sorted(Array(self)) { $0.key }
        state.pointee.writer.openList(count: 2 * pairs.count, as: head)
        for (key, value) in pairs {
            try EncodeState.encode(key, in: state, as: .element)
            try EncodeState.encode(value, in: state, as: .element)
        }
        state.pointee.writer.closeList()
    }

    /// - Returns: nil if the keys aren't names.
    private func encodeNames(in state: UnsafeMutablePointer<EncodeState>, as head: WireHead) throws -> Void? {
        var named: [(name: String, value: Value)] = []
        named.reserveCapacity(count)
        for (key, value) in self {
            guard let name = codingName(of: key) else { return nil }
            named.append((name, value))
        }
        if isEmpty, codingNameIsKnown(for: Key.self) == false { return nil }
        named.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        // The `EncodedShape` of the second attempt reports the error with its path.
        if zip(named, named.dropFirst()).contains(where: { $0.name == $1.name }) { throw state.pointee.irregular() }
        state.pointee.writer.openRecord(.namedRecord, as: head)
        for (name, value) in named {
            let field = state.pointee.writer.writeName(name)
            try EncodeState.encode(value, in: state, as: field)
        }
        state.pointee.writer.closeRecord()
        return ()
    }
}

/// Returns the name that Codable gives to a dictionary's key; nil if it would write a list of keys and values.
private func codingName<Key>(of key: Key) -> String? {
    switch key {
    case let name as String: name
    case let number as Int: String(number)
    default: (key as? any CodingKeyRepresentable)?.codingKey.stringValue
    }
}

private func codingNameIsKnown<Key>(for type: Key.Type) -> Bool {
    type == String.self || type == Int.self || type is any CodingKeyRepresentable.Type
}

extension EncodeState {
    fileprivate func sorted<Element, Part: Encodable>(
        _ elements: [Element], by part: (Element) -> Part
    ) throws -> [Element] {
        let codec = CompactCodec(mode: .deterministic, depthMax: writer.depthMax, usesDirectPath: usesDirectPath)
        return try elements.map { (bytes: try codec.encode(part($0)), element: $0) }
            .sorted { $0.bytes.lexicographicallyPrecedes($1.bytes) }
            .map(\.element)
    }
}
