import Foundation
public import MeshGPX

extension GPXRecording {
    /// Returns a synthetic run in circles: about 20 minutes and a little over three kilometres. It has two pauses, an empty
    /// segment and a few points without time. Every call returns the same run.
    public static func syntheticRun() -> GPXRecording {
        var run = SyntheticRun()
        let warmUp = run.segment(seconds: 360)
        run.rest(seconds: 45)
        let middle = run.segment(seconds: 420)
        run.rest(seconds: 90)
        let end = run.segment(seconds: 300)
        let planned = end.points.suffix(3).map { GPXPoint(latitude: $0.latitude, longitude: $0.longitude) }
        return GPXRecording(tracks: [
            GPXTrack(name: "Synthetic run", segments: [warmUp, GPXSegment(), middle, end]),
            GPXTrack(name: "Way home, planned", segments: [GPXSegment(points: planned)]),
        ])
    }
}

/// A runner on a circular course, measured every two seconds.
private struct SyntheticRun {
    private static let interval = 2
    private static let courseRadius = 120.0
    private static let metresPerDegree = 111_195.0

    /// 2026-05-01T06:00:00Z
    private let start = Date(timeIntervalSince1970: 1_777_615_200)
    private var second = 0
    private var metres = 0.0
    private var random: UInt64 = 2026

    mutating func segment(seconds: Int) -> GPXSegment {
        GPXSegment(points: (0...seconds / Self.interval).map { _ in nextPoint() })
    }

    mutating func rest(seconds: Int) { second += seconds }

    private mutating func nextPoint() -> GPXPoint {
        let point = self.point
        second += Self.interval
        metres += Double(Self.interval) * (2.8 + 0.4 * noise())
        return point
    }

    private var point: GPXPoint {
        mutating get {
            let angle = metres / Self.courseRadius
            let latitude = 46.05 + Self.courseRadius * sin(angle) / Self.metresPerDegree
            let longitude = 14.5 + Self.courseRadius * cos(angle) / (Self.metresPerDegree * cos(46.05 * .pi / 180))
            return GPXPoint(
                latitude: rounded(latitude, 1e7), longitude: rounded(longitude, 1e7),
                elevation: rounded(298 + 6 * sin(angle), 10), time: start.addingTimeInterval(Double(second)),
                heartRate: 112 + min(second / 20, 40) + Int(8 * noise()))
        }
    }

    private func rounded(_ value: Double, _ parts: Double) -> Double { (value * parts).rounded() / parts }

    /// Returns a number in 0 ..< 1 from a linear congruential generator (Knuth, MMIX).
    private mutating func noise() -> Double {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return Double(random >> 40) / Double(1 << 24)
    }
}
