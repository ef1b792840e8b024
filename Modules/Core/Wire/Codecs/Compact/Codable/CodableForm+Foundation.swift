import MeshFoundation

extension Decimal: CodableForm {
    func encodeForm(in state: UnsafeMutablePointer<EncodeState>, as head: WireHead) throws {
        // Equal numbers can differ in their trailing zeros. Parsed numbers have none.
        let isParsed = state.pointee.writer.isDeterministic && !isNaN
        try EncodeState.encodeCodable(isParsed ? Decimal(string: "\(self)") ?? self : self, in: state, as: head)
    }

    static func decodeForm(_ kind: WireKind, in state: UnsafeMutablePointer<DecodeState>) throws -> Decimal {
        try DecodeState.decodeCodable(Decimal.self, kind, in: state)
    }
}
