/// A selection of our own record sets. A record set is all records of one name and type, which are sent together or not
/// at all (RFC 6762 section 10.2).
struct RecordSets: OptionSet, Hashable, Sendable {
    let rawValue: UInt8

    /// The pointer that lists our service type (RFC 6763 section 9).
    static let meta = RecordSets(rawValue: 1)
    static let pointer = RecordSets(rawValue: 2)
    static let service = RecordSets(rawValue: 4)
    static let text = RecordSets(rawValue: 8)
    static let addressesV4 = RecordSets(rawValue: 16)
    static let addressesV6 = RecordSets(rawValue: 32)
    /// The NSEC record of the instance, which lists its types (RFC 6762 section 6.1).
    static let instanceNegative = RecordSets(rawValue: 64)
    /// The NSEC record of the host.
    static let hostNegative = RecordSets(rawValue: 128)

    /// The sets in which other hosts have records too.
    static let shared: RecordSets = [.meta, .pointer]
    static let addresses: RecordSets = [.addressesV4, .addressesV6]
    static let announced: RecordSets = [.meta, .pointer, .service, .text, .addressesV4, .addressesV6]
    static let count = 8

    /// The single sets, in the order in which they are sent.
    var each: [RecordSets] {
        (0..<Self.count).compactMap { contains(RecordSets(rawValue: 1 << $0)) ? RecordSets(rawValue: 1 << $0) : nil }
    }

    /// The position of a single set among all.
    var place: Int { rawValue.trailingZeroBitCount }
}

/// The DNS names that follow from a service type.
struct ServiceNames: Sendable {
    let type: DNSName
    let domain: DNSName
    let meta: DNSName

    /// - Throws: `DiscoveryError` with `invalidName`.
    init(_ type: ServiceType) throws(DiscoveryError) {
        do {
            let labels = type.name.split(separator: ".", omittingEmptySubsequences: false)
            guard labels.count == 2, ["_tcp", "_udp"].contains(labels[1].lowercased()), labels[0].first == "_",
                (2...16).contains(labels[0].utf8.count)
            else { throw DNSError(.badName) }
            self.domain = try DNSName(type.domain)
            self.type = try DNSName(type.description)
            self.meta = try DNSName("_services._dns-sd._udp.\(type.domain)")
        } catch {
            throw DiscoveryError(.invalidName, "'\(type)' isn't a valid service type")
        }
    }
}

/// The data of our own service, and the records built from it.
struct OwnRecords: Sendable {
    let names: ServiceNames
    var instance: DNSName
    var host: DNSName
    var port: UInt16
    var text: [UInt8]
    /// The lifetimes in seconds of records that contain the host's name, and of all other records.
    let hostLifetime: UInt32
    let serviceLifetime: UInt32

    func lifetime(of set: RecordSets) -> UInt32 {
        RecordSets([.service, .addressesV4, .addressesV6, .hostNegative]).contains(set) ? hostLifetime : serviceLifetime
    }

    /// Returns the sets that aren't empty on that interface.
    func present(on interface: NetworkInterface) -> RecordSets {
        var sets: RecordSets = [.meta, .pointer, .service, .text, .instanceNegative, .hostNegative]
        for address in interface.addresses { sets.insert(address.ip.family == .v4 ? .addressesV4 : .addressesV6) }
        return sets
    }

    func records(of sets: RecordSets, on interface: NetworkInterface) -> [DNSRecord] {
        sets.each.flatMap { set in
            data(of: set, on: interface).map { name, data in
                DNSRecord(
                    name, data, lifetime: lifetime(of: set), flushesCache: !RecordSets.shared.contains(set))
            }
        }
    }

    private func data(of set: RecordSets, on interface: NetworkInterface) -> [(DNSName, DNSRecordData)] {
        func addresses(_ family: IPAddress.Family) -> [(DNSName, DNSRecordData)] {
            interface.addresses.filter { $0.ip.family == family }.map { (host, .address($0.ip)) }
        }
        switch set {
        case .meta: return [(names.meta, .pointer(names.type))]
        case .pointer: return [(names.type, .pointer(instance))]
        case .service: return [(instance, .service(port: port, target: host))]
        case .text: return [(instance, .text(text))]
        case .addressesV4: return addresses(.v4)
        case .addressesV6: return addresses(.v6)
        case .instanceNegative: return [(instance, .negative(next: instance, types: [.txt, .srv]))]
        case .hostNegative:
            let present = present(on: interface)
            let types =
                (present.contains(.addressesV4) ? [DNSType.a] : []) + (present.contains(.addressesV6) ? [.aaaa] : [])
            return [(host, .negative(next: host, types: types))]
        default: return []
        }
    }
}

// MARK: - Questions

extension OwnRecords {
    /// Returns the sets that answer a question. A name of ours without records of the requested type has the NSEC set.
    func sets(answering question: DNSQuestion, on interface: NetworkInterface) -> RecordSets {
        guard question.recordClass == .internet || question.recordClass == .any else { return [] }
        let type = question.type
        if question.name == names.type { return type == .ptr || type == .any ? .pointer : [] }
        if question.name == names.meta { return type == .ptr || type == .any ? .meta : [] }
        if question.name == instance {
            switch type {
            case .srv: return .service
            case .txt: return .text
            case .any: return [.service, .text]
            default: return .instanceNegative
            }
        }
        guard question.name == host else { return [] }
        let addresses = present(on: interface).intersection(.addresses)
        let asked: RecordSets =
            switch type {
            case .a: .addressesV4
            case .aaaa: .addressesV6
            case .any: .addresses
            default: []
            }
        let found = addresses.intersection(asked)
        return found.isEmpty ? .hostNegative : found
    }

    /// Returns the additional records that a querier would ask for next (RFC 6763 section 12, RFC 6762 section 6.2).
    func supplements(to sets: RecordSets, on interface: NetworkInterface) -> RecordSets {
        var more: RecordSets = []
        if sets.contains(.pointer) { more.formUnion([.service, .text]) }
        if !sets.union(more).isDisjoint(with: [.service, .addressesV4, .addressesV6]) {
            more.formUnion(.addresses)
            // Saves the querier the question for the other family.
            if !present(on: interface).isSuperset(of: .addresses) { more.insert(.hostNegative) }
        }
        return more.intersection(present(on: interface)).subtracting(sets)
    }

    /// Returns the sets whose records are all in the list, with at least the lifetime that `least` returns for ours.
    func sets(
        listedIn records: [DNSRecord], on interface: NetworkInterface, lifetime least: (UInt32) -> UInt32
    ) -> RecordSets {
        guard !records.isEmpty else { return [] }
        var listed: RecordSets = []
        for set in RecordSets.announced.each {
            let own = self.records(of: set, on: interface)
            let enough = least(lifetime(of: set))
            let isListed = own.allSatisfy { own in records.contains { $0.lifetime >= enough && $0.isSame(as: own) } }
            if isListed, !own.isEmpty { listed.insert(set) }
        }
        return listed
    }
}
