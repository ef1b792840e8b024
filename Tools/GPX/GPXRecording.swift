public import Foundation

/// A recorded route: the tracks of one GPX 1.0 or 1.1 document, in document order.
///
/// Ignores waypoints, routes and extensions other than heart rate.
/// Source: https://www.topografix.com/GPX/1/1/
public struct GPXRecording: Hashable, Sendable {
    public var tracks: [GPXTrack]
    /// Number of elevations, times, heart rates and points left out because of an invalid number or date.
    public var badValueCount = 0
    /// True if the file is truncated. The recording has the points before the end.
    public var isCutShort = false

    public init(tracks: [GPXTrack]) { self.tracks = tracks }

    /// A description of the missing parts of the file, for people; nil if nothing is missing.
    public var shortfall: String? {
        let parts = [
            badValueCount > 0 ? "has \(badValueCount) bad values, which are left out" : nil,
            isCutShort ? "ends in the middle, after \(points.count) points" : nil,
        ]
        let shortfall = parts.compactMap(\.self).joined(separator: "; ")
        return shortfall.isEmpty ? nil : shortfall
    }

    /// All points of all segments, with or without a time.
    public var points: [GPXPoint] { tracks.flatMap { $0.segments.flatMap(\.points) } }

    /// The points that have a time, earliest first. Points with the same time stay in document order.
    public var timedPoints: [GPXPoint] {
        let timed = points.enumerated().compactMap { entry in
            entry.element.time.map { (time: $0, offset: entry.offset, point: entry.element) }
        }
        return timed.sorted { ($0.time, $0.offset) < ($1.time, $1.offset) }.map(\.point)
    }

    /// Number of points without a time.
    public var untimedPointCount: Int { points.count { $0.time == nil } }

    /// Metres along the segments. The unknown distance between segments isn't counted.
    public var distance: Double {
        tracks.flatMap(\.segments).reduce(0) { $0 + $1.distance }
    }
}

/// One outing of a recording. A new segment begins where reception was lost or the recorder was off.
public struct GPXTrack: Hashable, Sendable {
    public var name: String?
    public var segments: [GPXSegment]

    public init(name: String? = nil, segments: [GPXSegment] = []) {
        self.name = name
        self.segments = segments
    }
}

/// A continuous run of points; may be empty.
public struct GPXSegment: Hashable, Sendable {
    public var points: [GPXPoint]

    public init(points: [GPXPoint] = []) { self.points = points }

    /// Sum of the distances between consecutive points, in metres.
    public var distance: Double {
        zip(points, points.dropFirst()).reduce(0) { $0 + $1.0.distance(to: $1.1) }
    }
}

/// One position of a track.
public struct GPXPoint: Hashable, Sendable {
    /// Degrees north, −90…90 (WGS 84).
    public var latitude: Double
    /// Degrees east, −180…180 (WGS 84).
    public var longitude: Double
    /// Metres above sea level.
    public var elevation: Double?
    public var time: Date?
    /// Beats a minute, from the extension `hr` that most watches write.
    public var heartRate: Int?

    public init(
        latitude: Double, longitude: Double, elevation: Double? = nil, time: Date? = nil, heartRate: Int? = nil
    ) {
        self.latitude = latitude
        self.longitude = longitude
        self.elevation = elevation
        self.time = time
        self.heartRate = heartRate
    }

    /// Returns the great-circle distance in metres, by the haversine formula on a sphere of the mean earth radius, 6,371,008.8 m.
    ///
    /// Up to 0.5 % off the ellipsoid. The last digits depend on the system's mathematics library.
    /// Source: R. W. Sinnott, Virtues of the Haversine, Sky and Telescope 68 (1984); radius: IUGG mean radius R1.
    public func distance(to other: GPXPoint) -> Double {
        let radians = Double.pi / 180
        let halfLatitude = sin((other.latitude - latitude) * radians / 2)
        let halfLongitude = sin((other.longitude - longitude) * radians / 2)
        let chord =
            halfLatitude * halfLatitude
            + cos(latitude * radians) * cos(other.latitude * radians) * halfLongitude * halfLongitude
        return 2 * 6_371_008.8 * asin(min(1, chord.squareRoot()))
    }
}
