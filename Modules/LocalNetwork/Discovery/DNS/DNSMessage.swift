// The message format of DNS (RFC 1035 section 4), as multicast DNS uses it (RFC 6762 section 18). Terms in this folder:
// - compression (RFC 1035 section 4.1.4): the end of a name is replaced by a pointer, the offset of an earlier copy.
// - section: questions, answers, authorities or additionals, in this order in a message.
// - cache-flush bit: the top bit of a record's class. The same bit of a question requests a unicast answer.

/// A DNS message.
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
    /// Set if more known answers follow in another packet (RFC 6762 section 7.2).
    package static let truncated = DNSFlags(rawValue: 0x0200)

    /// The operation code; always zero in multicast DNS.
    package var operation: UInt16 { rawValue >> 11 & 0xF }
    /// The response code; always zero in multicast DNS.
    package var responseCode: UInt16 { rawValue & 0xF }
}

extension DNSMessage {
    /// Maximum number of bytes per message, for reading and writing (RFC 6762 section 17).
    package static let bytesMax = 9000
    /// Maximum total size of a message's names after decompression, in bytes. Real messages stay far below it.
    package static let nameBytesMax = 65536
    static let headerBytes = 12
}
