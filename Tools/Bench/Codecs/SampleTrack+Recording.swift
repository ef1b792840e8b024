import Foundation
import MeshFixtures
import MeshGPX

extension SampleTrack {
    /// Creates a track from the first `count` timed points of a recording. Past its end the recording repeats, later in time.
    ///
    /// Speed and course are between a point and the one before it. Accuracy is 0, because a recording has none.
    init(_ points: [GPXPoint], count: Int) {
        let start = points.first?.time ?? Date(timeIntervalSinceReferenceDate: 0)
        let duration = (points.last?.time?.timeIntervalSince(start) ?? 0) + 1
        self.init(workoutID: Self.recordingID, startedAt: start, points: [], heartRates: [])
        guard !points.isEmpty else { return }
        self.points.reserveCapacity(count)
        for index in 0..<count {
            let (round, place) = index.quotientAndRemainder(dividingBy: points.count)
            let point = points[place]
            let time = (point.time ?? start) + Double(round) * duration
            let previous = place == 0 ? nil : points[place - 1]
            self.points.append(
                Point(
                    time: time, latitude: point.latitude, longitude: point.longitude, altitude: point.elevation ?? 0,
                    horizontalAccuracy: 0, speed: previous?.speed(to: point), course: previous?.course(to: point)))
            if let beats = point.heartRate {
                heartRates.append(SampleHeartRate(time: time, beatsPerMinute: Double(beats)))
            }
        }
    }

    private static let recordingID = UUID(uuid: (0x9, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 0x1))
}

extension GPXPoint {
    /// Returns metres a second, or nil if no time passes.
    fileprivate func speed(to other: GPXPoint) -> Double? {
        guard let time, let otherTime = other.time, otherTime > time else { return nil }
        return distance(to: other) / otherTime.timeIntervalSince(time)
    }

    /// Returns degrees from north along the great circle, or nil if the points are equal.
    fileprivate func course(to other: GPXPoint) -> Double? {
        guard latitude != other.latitude || longitude != other.longitude else { return nil }
        let (from, to) = (latitude * .pi / 180, other.latitude * .pi / 180)
        let difference = (other.longitude - longitude) * .pi / 180
        let east = sin(difference) * cos(to)
        let north = cos(from) * sin(to) - sin(from) * cos(to) * cos(difference)
        let degrees = atan2(east, north) * 180 / .pi
        return degrees < 0 ? degrees + 360 : degrees
    }
}
