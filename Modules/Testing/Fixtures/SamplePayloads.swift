public import Foundation
import MeshBase

/// The payloads for tests and benchmarks of codecs and transports. The same seed gives the same values on every system.
public enum SamplePayloads {
    /// A moment on the morning of 14 November 2025, with a fraction of a second.
    public static let start = Date(timeIntervalSinceReferenceDate: 784_796_345.678912)

    /// Returns a tap on pause.
    public static func event(seed: UInt64 = 1) -> SampleEvent {
        var source = SplitMix64(seed: seed)
        return .pause(at: start + source.number(in: 0...3600))
    }

    /// Returns live measurements of a run. The same seed gives the same measurements.
    public static func metrics(seed: UInt64 = 2) -> SampleMetrics {
        var source = SplitMix64(seed: seed)
        return SampleMetrics(
            heartRate: source.number(in: 90...180).rounded(),
            activeEnergy: source.number(in: 0...700),
            distance: source.number(in: 0...12_000),
            pace: source.number(in: 3...7),
            cadence: source.number(in: 140...190).rounded())
    }

    /// Returns a workout with 16 segments, 20 laps and 60 heart rates.
    public static func workout(seed: UInt64 = 3) -> SampleWorkout {
        var source = SplitMix64(seed: seed)
        return SampleWorkout(
            workoutID: source.uuid(), name: "Saturday long run with the club – Isar loop", activity: .running,
            phase: .paused, startedAt: start, pausedAt: start + 4000.5, elapsed: 3999.25,
            totals: metrics(seed: source.next()),
            segments: (0..<16).map { segment($0, from: &source) },
            laps: (0..<20).map { lap($0, from: &source) },
            recentHeartRates: (0..<60).map { second in
                SampleHeartRate(
                    time: start + Double(second) + source.number(in: 0...0.01),
                    beatsPerMinute: source.number(in: 120...170).rounded())
            },
            zoneSeconds: (0..<5).map { _ in source.number(in: 60...1800) },
            notes: ["Felt strong on the hills", "Left calf tight after km 9", "Fuel: 2 gels"],
            participants: (0..<6).map { _ in source.uuid() })
    }

    /// Returns a track with points and heart rates, one of each per second.
    ///
    /// - Parameter count: the number of points, and of heart rates.
    public static func track(seed: UInt64 = 4, count: Int = 3000) -> SampleTrack {
        var source = SplitMix64(seed: seed)
        var point = SampleTrack.Point(
            time: start, latitude: 48.137154, longitude: 11.576124, altitude: 519, horizontalAccuracy: 5)
        var beats = 120.0
        let points = (0..<count).map { second in
            advance(&point, to: second, from: &source)
            return point
        }
        let heartRates = (0..<count).map { second in
            beats = min(max(beats + source.number(in: -2...2), 95), 185)
            return SampleHeartRate(
                time: start + Double(second) + source.number(in: 0...0.02), beatsPerMinute: beats.rounded())
        }
        return SampleTrack(workoutID: source.uuid(), startedAt: start, points: points, heartRates: heartRates)
    }
}

extension SamplePayloads {
    private static let titles = [
        "Warm-up", "Intervals 6 x 400 m", "Tempo block", "Hill repeats", "Cool-down jog and stretching", "Back squat",
        "Bench press", "Row",
    ]

    /// Returns a segment. The last four haven't ended, and every third has no distance.
    private static func segment(_ index: Int, from source: inout SplitMix64) -> SampleWorkout.Segment {
        let startedAt = start + Double(index) * 300 + source.number(in: 0...1)
        let isCompleted = index < 12
        return SampleWorkout.Segment(
            id: source.uuid(), title: titles[index % titles.count],
            kind: SampleWorkout.Activity.allCases[index % 4], startedAt: startedAt,
            endedAt: isCompleted ? startedAt + 290 + source.number(in: 0...1) : nil,
            distance: index % 3 == 0 ? nil : source.number(in: 100...3000),
            averageHeartRate: isCompleted ? source.number(in: 110...170) : nil,
            maximumHeartRate: isCompleted ? source.number(in: 150...190).rounded() : nil,
            sets: index % 5, repetitions: index % 4 == 2 ? 8 + index : nil, isCompleted: isCompleted)
    }

    private static func lap(_ index: Int, from source: inout SplitMix64) -> SampleWorkout.Lap {
        SampleWorkout.Lap(
            index: index, start: start + Double(index) * 240 + source.number(in: 0...1),
            duration: 240 + source.number(in: -5...5), distance: 1000 + source.number(in: -3...3),
            averageHeartRate: index % 6 == 5 ? nil : source.number(in: 120...175))
    }

    private static func advance(_ point: inout SampleTrack.Point, to second: Int, from source: inout SplitMix64) {
        point.time = start + Double(second) + source.number(in: 0...0.02)
        point.latitude += source.number(in: -0.00003...0.00004)
        point.longitude += source.number(in: -0.00004...0.00003)
        point.altitude += source.number(in: -0.3...0.3)
        point.horizontalAccuracy = [3.5, 4, 5, 8][Int(source.next() % 4)]
        // A satellite receiver sometimes reports no speed.
        let isMoving = second % 50 != 0
        point.speed = isMoving ? source.number(in: 2.2...4.1) : nil
        point.course = isMoving ? source.number(in: 0...360) : nil
    }
}

extension SplitMix64 {
    fileprivate mutating func number(in range: ClosedRange<Double>) -> Double {
        range.lowerBound + (range.upperBound - range.lowerBound) * fraction()
    }

    /// A random UUID (version 4).
    mutating func uuid() -> UUID {
        var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
        withUnsafeMutableBytes(of: &bytes) { buffer in
            buffer.storeBytes(of: next().littleEndian, as: UInt64.self)
            buffer.storeBytes(of: next().littleEndian, toByteOffset: 8, as: UInt64.self)
        }
        bytes.6 = bytes.6 & 0x0f | 0x40
        bytes.8 = bytes.8 & 0x3f | 0x80
        return UUID(uuid: bytes)
    }
}
