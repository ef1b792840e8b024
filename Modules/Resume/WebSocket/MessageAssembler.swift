/// Assembles the frames of one direction into messages (RFC 6455, 5.4). The fragments of a message are consecutive,
/// except for control frames between them. Holds at most `bytesMax` bytes.
struct MessageAssembler: Sendable {
    enum Kind: Sendable { case text, binary }

    struct Violation: Error, Hashable {
        let code: UInt16
        let reason: String
    }

    let bytesMax: Int
    private var kind: Kind?
    private var bytes: [UInt8] = []

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// - Parameter kind: nil for a continuation frame.
    /// - Returns: The message that this frame completes.
    mutating func take(
        _ frame: some Collection<UInt8>, kind begun: Kind?, isLast: Bool
    ) throws(Violation) -> (Kind, [UInt8])? {
        guard (begun == nil) == (kind != nil) else {
            throw Violation(code: 1002, reason: "fragments of a message follow one another")
        }
        guard frame.count <= bytesMax - bytes.count else {
            throw Violation(code: 1009, reason: "a message has at most \(bytesMax) bytes")
        }
        guard let now = begun ?? kind else { return nil }
        kind = now
        bytes += frame
        guard isLast else { return nil }
        let message = bytes
        (kind, bytes) = (nil, [])
        if now == .text, !Self.isUTF8(message) { throw Violation(code: 1007, reason: "a text message must be UTF-8") }
        return (now, message)
    }

    private static func isUTF8(_ bytes: [UInt8]) -> Bool {
        var (decoder, iterator) = (UTF8(), bytes.makeIterator())
        while true {
            switch decoder.decode(&iterator) {
            case .scalarValue: continue
            case .emptyInput: return true
            case .error: return false
            }
        }
    }
}
