package import MeshFoundation
package import MeshWire

/// Times of samples: whole microseconds since 1970, in the range in which a `Double` represents each exactly.
package enum SampleTime {
    /// The largest absolute value: the year 2255, and as far before 1970.
    package static let max: Int64 = 1 << 53

    /// - Throws: `WireError.Code.invalidValue` beyond `max`.
    package static func microseconds(_ moment: Date) throws(WireError) -> Int64 {
        let value = (moment.timeIntervalSince1970 * 1_000_000).rounded()
        guard abs(value) <= Double(max) else {
            throw WireError(.invalidValue, "the time of a sample is out of range: \(moment)")
        }
        return Int64(value)
    }

    package static func date(_ microseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
