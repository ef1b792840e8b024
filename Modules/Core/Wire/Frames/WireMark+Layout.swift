import MeshIdentity

// The bytes of marks and reports. Writers and readers reject the same values. See `WireMark`.

// MARK: - Marks

private struct MarkFlags: OptionSet {
    let rawValue: UInt8

    static let latest = MarkFlags(rawValue: 1 << 0)
    static let expires = MarkFlags(rawValue: 1 << 1)
    /// Fields of later versions follow.
    static let extensions = MarkFlags(rawValue: 1 << 2)
    static let all: MarkFlags = [.latest, .expires, .extensions]
}

extension WireMark {
    /// - Throws: `invalidValue` for a mark that readers reject.
    func check() throws(WireError) {
        guard sequence > 0, isLatest || (1...sequence).contains(first) else {
            throw WireError(
                .invalidValue, "a mark has the number \(sequence), but \(first) as the lowest offered number")
        }
    }
}

extension WireWriter {
    mutating func write(_ mark: WireMark) {
        var flags: MarkFlags = mark.isLatest ? .latest : []
        if mark.expiresAt != nil { flags.insert(.expires) }
        write(flags.rawValue)
        write(mark.outbox)
        writeVarint(mark.sequence)
        if !mark.isLatest { writeVarint(mark.sequence - mark.first) }
        if let expiresAt = mark.expiresAt { writeVarint(expiresAt) }
    }
}

extension WireReader {
    mutating func readMark() throws(WireError) -> WireMark {
        let flags = MarkFlags(rawValue: try readUInt8())
        guard flags.isSubset(of: .all) else {
            throw WireError(
                .unsupportedVersion, "a mark has flags \(flags.rawValue), but this reader knows only those in 7")
        }
        let outbox = try readUInt32()
        let sequence = try readVarint()
        let distance = flags.contains(.latest) ? 0 : try readVarint()
        guard distance < sequence else {
            throw WireError(
                .invalidValue, "a mark has the number \(sequence), but a lowest offered number \(distance) below it")
        }
        let expiresAt = flags.contains(.expires) ? try readVarint() : nil
        if flags.contains(.extensions) { try skipExtensions() }
        return WireMark(
            outbox: outbox, sequence: sequence, first: sequence - distance, isLatest: flags.contains(.latest),
            expiresAt: expiresAt)
    }
}

// MARK: - Writing reports

extension WireReport {
    fileprivate static let silenceTag: UInt64 = 1
    fileprivate static let identitiesTag: UInt64 = 2

    /// - Throws: `oversized` beyond a maximum, `invalidValue` for a report that readers reject.
    func check() throws(WireError) {
        guard receipts.count <= Self.entriesMax, floors.count <= Self.entriesMax else {
            throw WireError(
                .oversized,
                "a report has \(receipts.count) receipts and \(floors.count) floors, but the limit of each is \(Self.entriesMax)"
            )
        }
        for receipt in receipts { try receipt.check() }
        guard floors.allSatisfy({ $0.first > 0 }) else { throw WireError(.invalidValue, "a floor must be at least 1") }
    }
}

extension WireReport.Receipt {
    fileprivate func check() throws(WireError) {
        guard beyond.count <= Self.rangesMax else {
            throw WireError(.oversized, "a receipt has \(beyond.count) ranges, but the limit is \(Self.rangesMax)")
        }
        guard !isLatest || beyond.isEmpty else {
            throw WireError(.invalidValue, "a receipt of latest snapshots has ranges")
        }
        var end = upTo
        for range in beyond {
            // A range that touches the end would belong to the one before it.
            guard range.lowerBound > end, range.lowerBound - end >= 2 else {
                throw WireError(
                    .invalidValue,
                    "a receipt has the range \(range) after \(end), which must be higher and not adjacent")
            }
            end = range.upperBound
        }
    }

    /// Replaces the number of ranges in a receipt of latest snapshots.
    fileprivate static let latest: UInt8 = .max
}

extension WireWriter {
    mutating func write(_ report: WireReport) {
        write(report.probe == nil ? 0 : 1 as UInt8)
        if let probe = report.probe { write(probe) }
        write(report.echo == nil ? 0 : 1 as UInt8)
        if let echo = report.echo {
            write(echo.probe)
            writeVarint(echo.answeredAt)
        }
        writeVarint(UInt64(report.receipts.count))
        for receipt in report.receipts { write(receipt) }
        writeVarint(UInt64(report.floors.count))
        for floor in report.floors {
            write(identifier: floor.featureID)
            write(floor.outbox)
            writeVarint(floor.first)
        }
        var fields = WireWriter(capacity: 32)
        if let silence = report.silence { fields.write(extension: WireReport.silenceTag, number: silence) }
        if let identities = report.identities {
            var field = WireWriter(capacity: 16)
            field.write(identities.epoch)
            field.writeVarint(identities.numbers)
            fields.writeVarint(WireReport.identitiesTag)
            fields.write(region: field)
        }
        write(region: fields)
    }

    private mutating func write(_ probe: WireReport.Probe) {
        write(probe.number)
        writeVarint(probe.sentAt)
    }

    private mutating func write(_ receipt: WireReport.Receipt) {
        write(identifier: receipt.featureID)
        write(receipt.outbox)
        writeVarint(receipt.upTo)
        write(receipt.isLatest ? WireReport.Receipt.latest : UInt8(truncatingIfNeeded: receipt.beyond.count))
        var end = receipt.upTo
        for range in receipt.beyond {
            writeVarint(range.lowerBound - end - 2)
            writeVarint(range.upperBound - range.lowerBound)
            end = range.upperBound
        }
    }
}

// MARK: - Reading reports

extension WireReader {
    mutating func readReport() throws(WireError) -> WireReport {
        var report = WireReport()
        if try readPresence() { report.probe = try readProbe() }
        if try readPresence() { report.echo = WireReport.Echo(probe: try readProbe(), answeredAt: try readVarint()) }
        for _ in 0..<(try readEntryCount()) { report.receipts.append(try readReceipt()) }
        for _ in 0..<(try readEntryCount()) { report.floors.append(try readFloor()) }
        var fields = try readRegion()
        while !fields.isAtEnd {
            let tag = try fields.readVarint()
            var field = try fields.readRegion()
            switch tag {
            case WireReport.silenceTag: report.silence = try field.readVarint()
            case WireReport.identitiesTag:
                report.identities = KnownIdentities(epoch: try field.readUInt16(), numbers: try field.readVarint())
            default: break
            }
        }
        return report
    }

    private mutating func readEntryCount() throws(WireError) -> UInt64 {
        let count = try readVarint()
        guard count <= UInt64(WireReport.entriesMax) else {
            throw WireError(.oversized, "\(count) entries exceed the limit of \(WireReport.entriesMax) a report")
        }
        return count
    }

    private mutating func readProbe() throws(WireError) -> WireReport.Probe {
        WireReport.Probe(number: try readUInt32(), sentAt: try readVarint())
    }

    private mutating func readFloor() throws(WireError) -> WireReport.Floor {
        let floor = WireReport.Floor(
            featureID: try readIdentifier(), outbox: try readUInt32(), first: try readVarint())
        guard floor.first > 0 else { throw WireError(.invalidValue, "a floor must be at least 1") }
        return floor
    }

    private mutating func readReceipt() throws(WireError) -> WireReport.Receipt {
        var receipt = WireReport.Receipt(
            featureID: try readIdentifier(), outbox: try readUInt32(), upTo: try readVarint())
        let count = try readUInt8()
        receipt.isLatest = count == WireReport.Receipt.latest
        guard !receipt.isLatest else { return receipt }
        guard count <= UInt8(WireReport.Receipt.rangesMax) else {
            throw WireError(
                .oversized, "a receipt has \(count) ranges, but the limit is \(WireReport.Receipt.rangesMax)")
        }
        var end = receipt.upTo
        for _ in 0..<count {
            let lower = try addingChecked(try addingChecked(end, 2), try readVarint())
            end = try addingChecked(lower, try readVarint())
            receipt.beyond.append(lower...end)
        }
        return receipt
    }
}

private func addingChecked(_ left: UInt64, _ right: UInt64) throws(WireError) -> UInt64 {
    let (sum, overflows) = left.addingReportingOverflow(right)
    guard !overflows else { throw WireError(.invalidValue, "a range of numbers exceeds 64 bits") }
    return sum
}
