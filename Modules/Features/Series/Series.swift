public import Foundation

/// Names samples of one kind that devices record beside a session's order: positions, heart rates, speeds.
///
/// ```swift
/// struct Position: Codable, Sendable { var latitude: Double, longitude: Double, elevation: Double? }
/// extension Series<Position> { static let track = Series("track") }
///
/// try session.record(Position(…), in: .track)                 // on the watch, as often as it is measured
/// try await session.samples(of: .track)                       // on the phone, before long
/// ```
///
/// Each device that records has a series of its own, to which no other device writes; it only grows. A sample is
/// numbers, dates and Booleans, optional or not, in structs as deep as you like: at most 64 of them. Text and lists are
/// events.
public struct Series<Sample: Codable & Sendable>: Hashable, Sendable {
    /// 1 to 128 bytes of UTF-8.
    public let name: String
    /// The rule for how long samples are kept.
    public let keeping: SeriesRetention

    /// Creates a series with a name, which must be the same on every device: at most ``SeriesLimits/nameBytesMax``
    /// bytes of UTF-8, or `record` throws.
    public init(_ name: String, keeping: SeriesRetention = .all) {
        self.name = name
        self.keeping = keeping
    }
}

/// A rule for how many samples of a series are kept. Dropped samples are dropped on every device.
public enum SeriesRetention: Hashable, Sendable {
    /// Until the session is forgotten.
    case all
    /// At least that many of the newest, and at most 1,023 more.
    case newest(Int)
}

/// A sample, with who recorded it and when.
public struct RecordedSample<Value: Sendable>: Sendable {
    /// The value that the app recorded.
    public let value: Value
    /// The moment of recording to the microsecond, by the clock of the device that recorded it.
    public let moment: Date
    /// The device that recorded it.
    public let peerID: String

    /// Creates a sample for previews and tests. In an app, the session creates them.
    public init(value: Value, moment: Date, peerID: String) {
        self.value = value
        self.moment = moment
        self.peerID = peerID
    }
}

extension RecordedSample: Equatable where Value: Equatable {}

/// The bounds of series and their samples.
public enum SeriesLimits {
    /// UTF-8 bytes of a series' name.
    public static let nameBytesMax = 128
    /// Numbers in a sample.
    public static let columnsMax = 64
    /// UTF-8 bytes of a number's name, with those of the structs around it.
    public static let columnNameBytesMax = 256
    /// Series of all devices and all their launches in one session.
    public static let seriesMax = 1024
    /// Samples of a series that wait to be written.
    public static let unwrittenMax = 65_536
    /// Samples in a block.
    public static let blockSamples = 1024
    /// More bytes are in no block: 64 columns that nothing compresses, and their times.
    package static let blockBytesMax = 1 << 20
}
