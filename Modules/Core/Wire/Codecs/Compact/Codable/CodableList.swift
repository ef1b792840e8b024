/// Arrays of Codable elements, read and written here rather than through an unkeyed container: the bytes are the same, and
/// two indirect calls an element are saved.
protocol CodableList {
    func encodeElements(in state: UnsafeMutablePointer<EncodeState>, as head: WireHead) throws
    /// The cursor is at the list's count.
    static func decodeElements(in state: UnsafeMutablePointer<DecodeState>) throws -> Self
}

extension Array: CodableList where Element: Codable {
    func encodeElements(in state: UnsafeMutablePointer<EncodeState>, as head: WireHead) throws {
        state.pointee.writer.openList(count: count, as: head)
        try withUnsafeBufferPointer { elements in
            for index in elements.indices { try EncodeState.encode(elements[index], in: state, as: .element) }
        }
        state.pointee.writer.closeList()
    }

    static func decodeElements(in state: UnsafeMutablePointer<DecodeState>) throws -> [Element] {
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
