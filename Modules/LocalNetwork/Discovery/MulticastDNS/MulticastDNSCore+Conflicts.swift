extension MulticastDNSCore {
    /// Looks for records of other hosts under our names (RFC 6762 sections 8.1 and 9). While we probe, we give up the
    /// name at once. If we already hold it, we probe again, and give it up only if the other host defends it.
    mutating func findConflicts(_ message: DNSMessage, _ index: Int) {
        guard let own, interfaces[index].claim != .none else { return }
        let isHeld = interfaces[index].claim.isHeld
        let records = (message.answers + message.additionals).filter {
            $0.lifetime > 0 && $0.recordClass == .internet && $0.type != .nsec
        }
        let takenInstance = records.contains {
            $0.name == own.instance && (!isHeld || [.srv, .txt].contains($0.type)) && !isOwn($0, own)
        }
        let takenHost = records.contains {
            $0.name == own.host && (!isHeld || [.a, .aaaa].contains($0.type)) && !isOwn($0, own)
        }
        guard takenInstance || takenHost else { return }
        noteConflict()
        if isHeld { return startProbing(index) }
        statistics.conflicts += 1
        if takenInstance { renameInstance(own.instance) }
        if takenHost { renameHost(own.host) }
        restartProbing()
    }

    /// Returns true if we would send the same record, on this interface or another.
    private func isOwn(_ record: DNSRecord, _ own: OwnRecords) -> Bool {
        interfaces.contains { state in
            own.records(of: RecordSets.announced, on: state.interface).contains { $0.isSame(as: record) }
        }
    }

    private mutating func renameInstance(_ instance: DNSName) {
        let label = InstanceLabel.next(after: String(decoding: instance.firstLabel, as: UTF8.self))
        guard let name = try? names.type.prefixed(by: Array(label.utf8)) else { return }
        own?.instance = name
        retiredInstances.removeAll { $0.name == instance }
        noteChanged(instance: instance)
        noteChanged(instance: name)
        directives.events.append(.renamed(to: label))
    }

    private mutating func renameHost(_ taken: DNSName) {
        var label = Self.randomLabel(&random)
        if let chosen = configuration.host {
            label = Array(
                InstanceLabel.next(after: String(decoding: taken.firstLabel, as: UTF8.self), for: chosen).utf8)
        }
        guard let name = try? names.domain.prefixed(by: label) else { return }
        host = name
        own?.host = name
    }

    /// Resolves simultaneous probes for the same name (RFC 6762 section 8.2). The host whose records sort later wins;
    /// the other probes again after a second.
    mutating func breakTies(_ message: DNSMessage, _ index: Int) {
        guard let own, case .probing = interfaces[index].claim, !message.authorities.isEmpty else { return }
        let ours = own.records(of: [.service, .text, .addressesV4, .addressesV6], on: interfaces[index].interface)
        for name in [own.instance, own.host] {
            let theirs = message.authorities.filter { $0.name == name }
            guard !theirs.isEmpty else { continue }
            let (left, right) = (Self.sorted(ours.filter { $0.name == name }), Self.sorted(theirs))
            if left.lexicographicallyPrecedes(right, by: { $0.lexicographicallyPrecedes($1) }) {
                return startProbing(index, after: .seconds(1))
            }
        }
    }

    /// The class, type and data of each record, sorted as unsigned bytes.
    private static func sorted(_ records: [DNSRecord]) -> [[UInt8]] {
        records.map { record in
            [record.recordClass.rawValue, record.type.rawValue]
                .flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] } + record.data.bytes
        }
        .sorted { $0.lexicographicallyPrecedes($1) }
    }
}

/// Creates instance and host labels.
enum InstanceLabel {
    /// Shortens a label to the maximum size, without splitting a character.
    static func fitting(_ label: String, bytesMax: Int = DNSName.labelBytesMax) -> String {
        var label = label
        while label.utf8.count > bytesMax { label.removeLast() }
        return label
    }

    /// Returns the next label for people: `Name`, `Name (2)`, `Name (3)`, …
    static func next(after label: String) -> String {
        let (base, number) = parts(of: label, from: " (", to: ")")
        let suffix = " (\(number + 1))"
        return fitting(base, bytesMax: DNSName.labelBytesMax - suffix.utf8.count) + suffix
    }

    /// Returns the next label for hosts: `name`, `name-2`, `name-3`, …
    static func next(after label: String, for base: String) -> String {
        let number = label == base ? 1 : parts(of: label, from: "-", to: "").number
        let suffix = "-\(number + 1)"
        return fitting(base, bytesMax: DNSName.labelBytesMax - suffix.utf8.count) + suffix
    }

    /// Splits a label into its base and its number, which is 1 if the label has none.
    private static func parts(of label: String, from open: String, to close: String) -> (base: String, number: Int) {
        guard label.hasSuffix(close) else { return (label, 1) }
        let end = label.dropLast(close.count)
        let digits = end.reversed().prefix { $0.isASCII && $0.isNumber }.reversed()
        let base = end.dropLast(digits.count)
        guard let number = Int(String(digits)), number > 1, number < Int(Int32.max), base.hasSuffix(open) else {
            return (label, 1)
        }
        return (String(base.dropLast(open.count)), number)
    }
}
