import Foundation
import MeshBase
import MeshBenchmarks
import MeshFixtures
import MeshGPX
import MeshToolOutput
import Testing

@testable import MeshCodecBenchmark

@Suite("A track from a recording")
struct RecordedTrackTests {
    private let start = Date(timeIntervalSince1970: 1_700_000_000)

    @Test("any number of samples: a part, the whole, and repeated")
    func counts() {
        let points = (0..<5).map { second in
            GPXPoint(
                latitude: 45 + Double(second) * 0.001, longitude: 14, elevation: 500, time: start + Double(second),
                heartRate: second == 0 ? nil : 120)
        }
        for count in 0...12 {
            let track = SampleTrack(points, count: count)
            #expect(track.points.count == count)
            let times = track.points.map(\.time)
            #expect(times == times.sorted())
            #expect(Set(times).count == count)
        }
        let whole = SampleTrack(points, count: 5)
        #expect(whole.heartRates.count == 4)
        #expect(whole.points[0].speed == nil)
        let speed = whole.points[1].speed ?? 0
        #expect(abs(speed - 111.2) < 0.1, "a thousandth of a degree north in a second")
        #expect(abs((whole.points[1].course ?? -1) - 0) < 0.001)
    }

    @Test("standing still and equal times give no NaN speed or course")
    func degenerate() {
        let point = GPXPoint(latitude: 45, longitude: 14, elevation: nil, time: start, heartRate: nil)
        let track = SampleTrack([point, point], count: 4)
        #expect(track.points.allSatisfy { $0.speed == nil && $0.course == nil })
        #expect(SampleTrack([], count: 3).points.isEmpty)
    }

    @Test("a file that can't be read, or has no timed points, is an error of one line")
    func unreadable() throws {
        for (name, text) in [("none.gpx", nil), ("text.gpx", "hello"), ("empty.gpx", "<gpx version=\"1.1\"/>")] {
            let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID())-\(name)").path
            try text.map { try Data($0.utf8).write(to: URL(fileURLWithPath: path)) }
            defer { try? FileManager.default.removeItem(atPath: path) }
            #expect {
                try BenchmarkPayload(recordingAt: path)
            } throws: { error in
                error is ToolError && "\(error)".contains(path) && !"\(error)".contains("\n")
            }
        }
    }
}
