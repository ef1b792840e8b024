/// An IPv4 or IPv6 address, stored as integers.
public enum IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// 32 bits; the first byte is the most significant.
    case v4(UInt32)
    /// Two halves of 64 bits; the first byte is the most significant.
    case v6(UInt64, UInt64)

    /// Creates an address from its bytes.
    ///
    /// - Parameter bytes: 4 or 16 bytes in network order. For any other number the result is nil.
    public init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4: self = .v4(bytes.reduce(0) { $0 << 8 | UInt32($1) })
        case 16:
            self = .v6(
                bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
                bytes.dropFirst(8).reduce(0) { $0 << 8 | UInt64($1) })
        default: return nil
        }
    }

    /// The address's 4 or 16 bytes, in network order.
    public var bytes: [UInt8] {
        switch self {
        case .v4(let value): (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
        case .v6(let high, let low):
            (0..<8).map { UInt8(truncatingIfNeeded: high >> (56 - 8 * $0)) }
                + (0..<8).map { UInt8(truncatingIfNeeded: low >> (56 - 8 * $0)) }
        }
    }

    /// True if the address is valid only on one link: 169.254.0.0/16 or fe80::/10.
    public var isLinkLocal: Bool {
        switch self {
        case .v4(let value): value >> 16 == 0xA9FE
        case .v6(let high, _): high >> 54 == 0x3FA
        }
    }

    /// True if the address is in 127.0.0.0/8 or is ::1.
    public var isLoopback: Bool {
        switch self {
        case .v4(let value): value >> 24 == 127
        case .v6(let high, let low): high == 0 && low == 1
        }
    }

    /// True if the address is a multicast group: 224.0.0.0/4 or ff00::/8.
    var isGroup: Bool {
        switch self {
        case .v4(let value): value >> 28 == 0xE
        case .v6(let high, _): high >> 56 == 0xFF
        }
    }

    /// The address in the format of RFC 5952, except that runs of zeros in an IPv6 address aren't shortened.
    public var description: String {
        switch self {
        case .v4: bytes.map(String.init).joined(separator: ".")
        case .v6:
            stride(from: 0, to: 16, by: 2)
                .map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
                .joined(separator: ":")
        }
    }
}
