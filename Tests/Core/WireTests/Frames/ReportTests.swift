import MeshIdentity
import Testing

@testable import MeshWire

@Suite("Reports")
struct ReportTests {
    typealias Receipt = WireReport.Receipt

    private static func read(_ body: [UInt8]) throws -> WireReport? {
        var decoder = FrameDecoder(codecs: Sample.codecs)
        let message = try decoder.decode(Sample.frame(kind: FrameKind.report.rawValue, codec: 0, body: body))
        guard case .report(let report)? = message else { return nil }
        return report
    }

    private static func roundTrip(_ report: WireReport) throws -> WireReport? {
        var encoder = FrameEncoder(codec: Sample.codec)
        var decoder = FrameDecoder(codecs: Sample.codecs)
        let frame = try encoder.encode(.report(report))
        #expect(frame[2...4] == [7, 0, 0], "kind 7, no codec, not to be skipped")
        guard case .report(let read)? = try decoder.decode(frame) else { return nil }
        return read
    }

    @Test("reports come back as they were", arguments: Sample.reports)
    func roundTrip(report: WireReport) throws {
        #expect(try Self.roundTrip(report) == report)
    }

    @Test("all sets of numbers within eight come back as they were")
    func everySet() throws {
        for set in 0..<256 {
            let numbers = (1...8 as ClosedRange<UInt64>).filter { set >> ($0 - 1) & 1 == 1 }
            let upTo = (0...8 as ClosedRange<UInt64>).last { end in (1..<end + 1).allSatisfy(numbers.contains) } ?? 0
            var beyond: [ClosedRange<UInt64>] = []
            for number in numbers where number > upTo {
                if let last = beyond.last, last.upperBound + 1 == number {
                    beyond[beyond.count - 1] = last.lowerBound...number
                } else {
                    beyond.append(number...number)
                }
            }
            let report = WireReport(receipts: [Receipt(featureID: "f", outbox: 1, upTo: upTo, beyond: beyond)])
            #expect(try Self.roundTrip(report) == report, "\(numbers)")
        }
    }

    @Test("the stated maxima fit, and one more does not")
    func maxima() throws {
        func report(receipts: Int, floors: Int, ranges: Int) -> WireReport {
            let beyond: [ClosedRange<UInt64>] = (0..<UInt64(ranges)).map { index in (2 + 2 * index)...(2 + 2 * index) }
            let receipt = Receipt(featureID: "f", outbox: 1, upTo: 0, beyond: beyond)
            let floor = WireReport.Floor(featureID: "f", outbox: 1, first: 1)
            return WireReport(
                receipts: Array(repeating: receipt, count: receipts), floors: Array(repeating: floor, count: floors))
        }
        let largest = report(
            receipts: WireReport.entriesMax, floors: WireReport.entriesMax, ranges: Receipt.rangesMax)
        #expect(try Self.roundTrip(largest) == largest)
        let surplus = [
            report(receipts: 257, floors: 0, ranges: 0), report(receipts: 0, floors: 257, ranges: 0),
            report(receipts: 1, floors: 0, ranges: 65),
        ]
        for report in surplus {
            let error = #expect(throws: WireError.self) { try Self.roundTrip(report) }
            #expect(error?.code == .oversized)
        }
    }

    @Test("an invalid report is not written, and leaves no trace")
    func refusedToWrite() throws {
        func receipt(_ upTo: UInt64, _ beyond: [ClosedRange<UInt64>], isLatest: Bool = false) -> WireReport {
            WireReport(
                receipts: [Receipt(featureID: "f", outbox: 1, upTo: upTo, beyond: beyond, isLatest: isLatest)])
        }
        let impossible = [
            receipt(5, [6...7]), receipt(5, [5...7]), receipt(5, [2...3]), receipt(5, [8...9, 10...11]),
            receipt(5, [8...9, 9...11]), receipt(5, [18...19, 8...9]), receipt(.max, [3...4]),
            receipt(.max - 1, [UInt64.max...UInt64.max]), receipt(5, [8...9], isLatest: true),
            WireReport(floors: [WireReport.Floor(featureID: "f", outbox: 1, first: 0)]),
        ]
        var encoder = FrameEncoder(codec: Sample.codec)
        var writer = WireWriter()
        for report in impossible {
            let error = #expect(throws: WireError.self, "\(report)") {
                try encoder.append(.report(report), to: &writer)
            }
            #expect(error?.code == .invalidValue)
        }
        #expect(writer.count == 0)
    }

    @Test("a range never yields a number beyond 64 bits")
    func overflow() throws {
        let head: [UInt8] = [0, 0, 1, 2, 1, 2, 3, 4]
        func varint(_ value: UInt64) -> [UInt8] {
            var writer = WireWriter()
            writer.writeVarint(value)
            return writer.array()
        }
        let impossible: [(upTo: UInt64, gap: UInt64, length: UInt64)] = [
            (.max, 0, 0), (.max - 1, 0, 0), (.max - 2, 1, 0), (.max - 2, 0, 1), (0, .max - 1, 0), (0, 0, .max),
            (.max, .max, .max),
        ]
        for (upTo, gap, length) in impossible {
            let body = head + varint(upTo) + [1] + varint(gap) + varint(length) + [0, 0]
            let error = #expect(throws: WireError.self) { try Self.read(body) }
            #expect(error?.code == .invalidValue, "\(upTo), \(gap), \(length)")
        }
        let last = head + varint(.max - 2) + [1, 0, 0, 0, 0]
        #expect(try Self.read(last)?.receipts.first?.beyond == [UInt64.max...UInt64.max])
    }

    @Test(
        "an announcement of silence is read, and an older reader skips it",
        arguments: [0, 1, 20_000, .max] as [UInt64])
    func silence(milliseconds: UInt64) throws {
        var report = WireReport()
        report.silence = milliseconds
        var writer = WireWriter()
        writer.write(report)
        let body = writer.array()
        #expect(try Self.read(body) == report)
        try body.withUnsafeBytes { bytes in
            var reader = WireReader(UnsafeRawBufferPointer(rebasing: bytes[4...]))
            try reader.skipExtensions()
            #expect(reader.isAtEnd)
        }
    }

    @Test("later fields are skipped")
    func laterFields() throws {
        #expect(try Self.read([0, 0, 0, 0, 4, 9, 2, 0xAA, 0xBB]) == WireReport())
    }

    @Test("a body that ends early says so")
    func cut() throws {
        var writer = WireWriter()
        writer.write(Sample.reports[1])
        let body = writer.array()
        for length in 0..<body.count {
            let error = #expect(throws: WireError.self) { try Self.read(Array(body[..<length])) }
            #expect(error?.code == .truncated, "cut at \(length)")
        }
    }
}
