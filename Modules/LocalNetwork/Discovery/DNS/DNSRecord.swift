/// The type of a record.
package struct DNSType: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    package static let a = DNSType(rawValue: 1)
    package static let ptr = DNSType(rawValue: 12)
    package static let txt = DNSType(rawValue: 16)
    package static let aaaa = DNSType(rawValue: 28)
    package static let srv = DNSType(rawValue: 33)
    package static let nsec = DNSType(rawValue: 47)
    /// The type that asks for all types; only in questions.
    package static let any = DNSType(rawValue: 255)
}

/// The class of a record, without the top bit, to which multicast DNS gives another meaning.
package struct DNSClass: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue & 0x7FFF }

    package static let internet = DNSClass(rawValue: 1)
    package static let any = DNSClass(rawValue: 255)
}

/// A question (RFC 1035 section 4.1.2).
package struct DNSQuestion: Hashable, Sendable {
    package var name: DNSName
    package var type: DNSType
    package var recordClass: DNSClass
    /// True if the querier prefers a unicast answer (RFC 6762 section 5.4).
    package var wantsUnicast: Bool

    package init(_ name: DNSName, _ type: DNSType, recordClass: DNSClass = .internet, wantsUnicast: Bool = false) {
        self.name = name
        self.type = type
        self.recordClass = recordClass
        self.wantsUnicast = wantsUnicast
    }
}

/// A resource record (RFC 1035 section 4.1.3).
package struct DNSRecord: Hashable, Sendable {
    package var name: DNSName
    package var recordClass: DNSClass
    /// True if receivers should drop older records of this name and type from their caches (RFC 6762 section 10.2).
    package var flushesCache: Bool
    /// The lifetime in seconds.
    package var lifetime: UInt32
    package var data: DNSRecordData

    package init(
        _ name: DNSName, _ data: DNSRecordData, lifetime: UInt32, flushesCache: Bool = false,
        recordClass: DNSClass = .internet
    ) {
        self.name = name
        self.data = data
        self.lifetime = lifetime
        self.flushesCache = flushesCache
        self.recordClass = recordClass
    }

    package var type: DNSType { data.type }

    /// Returns true if the name, class, type and data are equal.
    package func isSame(as other: DNSRecord) -> Bool {
        recordClass == other.recordClass && data == other.data && name == other.name
    }
}

package enum DNSRecordData: Hashable, Sendable {
    /// An A or AAAA record.
    case address(IPAddress)
    case pointer(DNSName)
    case service(priority: UInt16 = 0, weight: UInt16 = 0, port: UInt16, target: DNSName)
    /// A TXT record: strings, each after its length byte.
    case text([UInt8])
    /// An NSEC record: the types up to 255 that exist at a name (RFC 6762 section 6.1).
    case negative(next: DNSName, types: [DNSType])
    /// A record of another type, with its unparsed data.
    case opaque(DNSType, [UInt8])

    package var type: DNSType {
        switch self {
        case .address(.v4): .a
        case .address(.v6): .aaaa
        case .pointer: .ptr
        case .service: .srv
        case .text: .txt
        case .negative: .nsec
        case .opaque(let type, _): type
        }
    }

    /// The data without compression, as compared for simultaneous probes (RFC 6762 section 8.2).
    package var bytes: [UInt8] {
        var writer = DNSWriter(compresses: false)
        writer.writeData(self)
        return writer.body
    }
}
