package import MeshFoundation
package import MeshWire

/// When a sample was recorded: microseconds since 1970, as far as a `Double` counts them.
package enum SampleTime {
    /// The year 2255, and as far back.
    package static let max: Int64 = 1 << 53

    /// - Throws: `WireError.Code.invalidValue` for what is further away.
    package static func microseconds(_ moment: Date) throws(WireError) -> Int64 {
        let value = (moment.timeIntervalSince1970 * 1_000_000).rounded()
        guard abs(value) <= Double(max) else { throw WireError(.invalidValue, "a sample of no time: \(moment)") }
        return Int64(value)
    }

    package static func date(_ microseconds: Int64) -> Date {
        Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
