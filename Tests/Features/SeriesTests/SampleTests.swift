import Foundation
import MeshBase
import MeshWire
import Testing

@testable import MeshSeries

/// Conversion of samples to numbers, and back.
@Suite struct SampleTests {
    private struct Everything: Codable, Equatable, Sendable {
        enum Zone: Int, Codable {
            case easy = 1
            case hard = 5
        }
        struct Place: Codable, Equatable, Sendable { var latitude: Double, longitude: Float }

        var whole = Int.min
        var small: Int8 = -128
        var wide = UInt64.max
        var byte: UInt8 = 255
        var fraction = -0.0
        var single: Float = 1.5
        var isMoving = true
        var date = Date(timeIntervalSinceReferenceDate: 785_412_345.25)
        var zone = Zone.hard
        var place = Place(latitude: 45.772175035, longitude: 14.25)
        var maybe: Double?
        var other: Int? = 3
        var later: Date?
    }

    private func rowTable(_ samples: [some Encodable]) throws -> SampleTable {
        var columns: [SeriesColumn] = []
        var table: SampleTable?
        for (index, sample) in samples.enumerated() {
            let row = try SampleRow(sample, like: columns)
            columns = row.columns
            if table == nil { table = SampleTable(columns: columns) }
            #expect(table?.columns == columns)
            table?.append(row, at: Int64(index))
        }
        return try #require(table)
    }

    @Test func `Fields of every kind come back, absent ones too`() throws {
        var second = Everything()
        (second.maybe, second.other, second.later) = (2.5, nil, second.date)
        second.place.latitude = .nan
        let table = try rowTable([Everything(), second])
        #expect(table.columns.map(\.name).contains("place.latitude"))
        let read = try SeriesBlock.table(from: SeriesBlock.bytes(of: table), columns: table.columns)
        let reader = SampleReader(read)
        #expect(try reader.sample(0) == Everything())
        let other: Everything = try reader.sample(1)
        #expect(other.maybe == 2.5 && other.other == nil && other.later == second.date)
        #expect(other.place.latitude.isNaN)
    }

    @Test func `A number by itself is a sample`() throws {
        #expect(try SampleReader(rowTable([142, 143])).sample(1, as: Int.self) == 143)
        #expect(try SampleReader(rowTable([0.5])).sample(0, as: Double.self) == 0.5)
        let date = Date(timeIntervalSinceReferenceDate: 1)
        #expect(try SampleReader(rowTable([date])).sample(0, as: Date.self) == date)
    }

    @Test func `Text, lists and empty values are rejected by name`() {
        struct Named: Codable { var place = "x" }
        struct Deep: Codable { var inner = Named() }
        struct Listed: Codable { var rates: [Int] = [] }
        struct Empty: Codable {}
        for (sample, name) in [(Deep(), "inner.place"), (Listed(), "rates"), (Empty(), "number")]
            as [(any Encodable, String)]
        {
            #expect {
                try SampleRow(sample)
            } throws: { error in
                (error as? WireError)?.code == .encodingFailed && "\(error)".contains(name)
            }
        }
    }

    @Test func `A newer type reads what an older one has written, and the other way round`() throws {
        struct Old: Codable, Equatable { var rate = 142 }
        struct New: Codable, Equatable {
            var rate = 142
            var cadence: Double?
        }
        #expect(try SampleReader(rowTable([Old()])).sample(0) == New(cadence: nil))
        #expect(try SampleReader(rowTable([New(cadence: 88)])).sample(0) == Old())
        #expect(throws: DecodingError.self) { try SampleReader(rowTable([["a": 1]])).sample(0, as: Old.self) }
    }

    @Test func `A sample with too many numbers is rejected`() {
        let many = Dictionary(uniqueKeysWithValues: (0..<65).map { ("c\($0)", $0) })
        #expect(throws: WireError.self) { try SampleRow(many) }
    }
}
