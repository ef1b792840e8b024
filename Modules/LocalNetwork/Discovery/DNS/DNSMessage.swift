/// A message of the domain name system (RFC 1035 section 4) as multicast DNS reads it (RFC 6762 section 18).
package struct DNSMessage: Hashable, Sendable {
    package var id: UInt16 = 0
    package var flags = DNSFlags()
    package var questions: [DNSQuestion] = []
    package var answers: [DNSRecord] = []
    package var authorities: [DNSRecord] = []
    package var additionals: [DNSRecord] = []

    package init() {}
}

package struct DNSFlags: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let response = DNSFlags(rawValue: 0x8000)
    package static let authoritative = DNSFlags(rawValue: 0x0400)
    /// More known answers follow in another packet (RFC 6762 section 7.2).
    package static let truncated = DNSFlags(rawValue: 0x0200)

    /// Zero for what multicast DNS knows.
    package var operation: UInt16 { rawValue >> 11 & 0xF }
    /// Zero for what multicast DNS knows.
    package var responseCode: UInt16 { rawValue & 0xF }
}

extension DNSMessage {
    /// More is not read, and never written (RFC 6762 section 17).
    package static let bytesMax = 9000
    /// Of all names of a message together, without compression: many times what a message of `bytesMax` says in earnest.
    package static let nameBytesMax = 65536
    static let headerBytes = 12
}
