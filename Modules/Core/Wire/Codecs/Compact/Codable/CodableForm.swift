/// A type of the standard library or Foundation that this library codes itself, without the containers of the type's
/// own `encode(to:)` and `init(from:)`. The bytes are the same. This saves a container, and two indirect calls per
/// element.
protocol CodableForm {
    // No method returns an optional: for a generic type, the runtime looks the optional type up on each call.

    func encodeForm(in state: UnsafeMutablePointer<EncodeState>, as head: WireHead) throws
    /// Reads the value at the cursor. Calls the type's `init(from:)` if the kind isn't the form's.
    static func decodeForm(_ kind: WireKind, in state: UnsafeMutablePointer<DecodeState>) throws -> Self
}

extension Array: CodableForm where Element: Codable {
    func encodeForm(in state: UnsafeMutablePointer<EncodeState>, as head: WireHead) throws {
        state.pointee.writer.openList(count: count, as: head)
        try withUnsafeBufferPointer { elements in
            for index in elements.indices { try EncodeState.encode(elements[index], in: state, as: .element) }
        }
        state.pointee.writer.closeList()
    }

    static func decodeForm(_ kind: WireKind, in state: UnsafeMutablePointer<DecodeState>) throws -> [Element] {
        guard kind == .list else { return try DecodeState.decodeCodable(Self.self, kind, in: state) }
        let count = try state.pointee.reader.readCount()
        try state.pointee.reader.checkMemory(of: count, Element.self)
        try state.pointee.reader.descend()
        let elements = try [Element](unsafeUninitializedCapacity: count) { buffer, initialized in
            while initialized < count {
                do {
                    let kind = try state.pointee.reader.readKind()
                    buffer.initializeElement(
                        at: initialized, to: try DecodeState.decode(Element.self, kind, in: state))
                } catch {
                    throw (error as? WireError)?.within("\(initialized)") ?? error
                }
                initialized += 1
            }
        }
        state.pointee.reader.ascend()
        return elements
    }
}

/// Dictionaries with string keys and values without a direct path. Other keys go through `Dictionary.encode(to:)`.
extension Dictionary: CodableForm where Key == String, Value: Codable {
    func encodeForm(in state: UnsafeMutablePointer<EncodeState>, as head: WireHead) throws {
        if state.pointee.writer.isDeterministic { return try encodeSorted(in: state, as: head) }
        state.pointee.writer.openRecord(.namedRecord, as: head)
        // Two iterators: with one, the runtime would look up the generic type of each pair.
        var names = keys.makeIterator()
        var values = values.makeIterator()
        while let name = names.next(), let value = values.next() {
            let field = state.pointee.writer.writeName(name)
            try EncodeState.encode(value, in: state, as: field)
        }
        state.pointee.writer.closeRecord()
    }

    static func decodeForm(
        _ kind: WireKind, in state: UnsafeMutablePointer<DecodeState>
    ) throws -> [String: Value] {
        guard kind == .namedRecord else { return try DecodeState.decodeCodable(Self.self, kind, in: state) }
        var result: [String: Value] = [:]
        try state.pointee.reader.descend()
        while let field = try state.pointee.reader.readNamedHead() {
            if field.kind == .absent { continue }
            let name = try String(wire: field.name)
            do {
                let value = try DecodeState.decode(Value.self, field.kind, in: state)
                result[name, default: value] = value
            } catch {
                throw (error as? WireError)?.within(name) ?? error
            }
        }
        state.pointee.reader.ascend()
        return result
    }
}
