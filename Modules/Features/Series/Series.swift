public import Foundation

/// Names a series of samples, such as positions, heart rates or speeds. Samples aren't part of a session's order of events.
///
/// ```swift
/// struct Position: Codable, Sendable { var latitude: Double, longitude: Double, elevation: Double? }
/// extension Series<Position> { static let track = Series("track") }
///
/// try session.record(Position(…), in: .track)                 // on the watch, as often as it is measured
/// try await session.samples(of: .track)                       // on the phone, soon after
/// ```
///
/// Each device records into a series of its own, to which it only appends. No other device writes to it. A sample has up to
/// 64 numbers, dates and Booleans, optional or not, in structs nested as deep as you like. Submit text and lists as events.
public struct Series<Sample: Codable & Sendable>: Hashable, Sendable {
    /// The name: 1 to 128 bytes of UTF-8.
    public let name: String
    /// The rule for how long samples are kept.
    public let keeping: SeriesRetention

    /// Creates a series with a name, which must be the same on every device. `record` throws if the name is empty or longer
    /// than ``SeriesLimits/nameBytesMax`` bytes of UTF-8.
    public init(_ name: String, keeping: SeriesRetention = .all) {
        self.name = name
        self.keeping = keeping
    }
}

/// A rule for how many samples the recording device keeps. Peers don't get dropped samples, but keep the ones they have.
public enum SeriesRetention: Hashable, Sendable {
    /// Keeps all samples until the session is forgotten.
    case all
    /// Keeps at least this number of the device's newest samples under the name, and at most 1,023 more. Counts the samples of
    /// all launches, and applies when a launch records under the name. In a session with ``SeriesLimits/seriesMax`` series, a
    /// new launch's samples replace the oldest launch's, even if fewer than this number are then left.
    case newest(Int)
}

/// A sample with its recorder and time.
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
    /// Maximum number of UTF-8 bytes in a series' name.
    public static let nameBytesMax = 128
    /// Maximum number of numbers in a sample.
    public static let columnsMax = 64
    /// Maximum number of UTF-8 bytes in a number's name, with the names of the structs around it.
    public static let columnNameBytesMax = 256
    /// Maximum number of series in a session, of all devices and all their launches.
    public static let seriesMax = 1024
    /// Maximum number of samples of a series that wait to be written.
    public static let unwrittenMax = 65_536
    /// Number of samples in a complete block.
    public static let blockSamples = 1024
    /// Maximum number of bytes in a block: enough for the times and 64 columns that don't compress.
    package static let blockBytesMax = 1 << 20
}
