import MeshBase

/// A session's ID, opaque to clients: the stream's epoch, a hash of the stream's name, and a nonce.
///
/// So any process can continue any session, a stream with a new epoch refuses earlier sessions, and a cursor of one
/// user's stream isn't accepted for another's. The ID isn't secret and grants no access: the token does.
package struct GatewaySessionID: Hashable, Sendable {
    package let epoch: UInt64
    let mark: UInt64
    let nonce: UInt64

    init(epoch: UInt64, stream: String, nonce: UInt64) {
        (self.epoch, mark, self.nonce) = (epoch, Self.mark(of: stream), nonce)
    }

    package init?(_ text: String) {
        guard text.utf8.count == 50 else { return nil }
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        let numbers = parts.compactMap { $0.utf8.count == 16 ? UInt64($0, radix: 16) : nil }
        guard parts.count == 3, numbers.count == 3 else { return nil }
        (epoch, mark, nonce) = (numbers[0], numbers[1], numbers[2])
    }

    var text: String { [epoch, mark, nonce].map(Self.hexadecimal).joined(separator: "-") }

    func isOf(_ stream: String) -> Bool { mark == Self.mark(of: stream) }

    private static func hexadecimal(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    /// FNV-1a, because `Hasher` differs between processes.
    private static func mark(of stream: String) -> UInt64 {
        stream.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}
