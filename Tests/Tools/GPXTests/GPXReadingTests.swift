import Foundation
import MeshGPX
import Testing

@Suite("Reading GPX")
struct GPXReadingTests {
    @Test("tracks, segments and points are read in document order")
    func structure() throws {
        let recording = try read(
            """
            <gpx version="1.1" xmlns="http://www.topografix.com/GPX/1/1">
              <metadata><time>2020-01-01T00:00:00Z</time></metadata>
              <wpt lat="1" lon="1"><ele>5</ele><time>2020-01-01T00:00:00Z</time></wpt>
              <rte><rtept lat="2" lon="2"/></rte>
              <trk><name> Morning
              </name><trkseg></trkseg><trkseg>
                <trkpt lat="45.5" lon="-14.25"><ele>733.5</ele><time>2010-10-03T09:36:30Z</time></trkpt>
                <trkpt lat="45.6" lon="14"/>
              </trkseg></trk>
              <trk/>
              <trk><trkseg><trkpt lat="0" lon="0"><ele/><time></time></trkpt></trkseg></trk>
            </gpx>
            """)
        #expect(
            recording
                == GPXRecording(tracks: [
                    GPXTrack(
                        name: "Morning",
                        segments: [
                            GPXSegment(),
                            GPXSegment(points: [
                                GPXPoint(
                                    latitude: 45.5, longitude: -14.25, elevation: 733.5,
                                    time: Date(timeIntervalSince1970: 1_286_098_590)),
                                GPXPoint(latitude: 45.6, longitude: 14),
                            ]),
                        ]),
                    GPXTrack(),
                    GPXTrack(segments: [GPXSegment(points: [GPXPoint(latitude: 0, longitude: 0)])]),
                ]))
        #expect(recording.points.count == 3)
        #expect(recording.untimedPointCount == 2)
        #expect(recording.timedPoints.count == 1)
    }

    @Test("GPX 1.0, namespace prefixes and the heart rate extension are read")
    func dialects() throws {
        let recording = try read(
            """
            <g:gpx version="1.0" xmlns:g="http://www.topografix.com/GPX/1/0" xmlns:x="urn:x"><g:trk><g:trkseg>
            <g:trkpt lat="1" lon="2"><g:ele>3</g:ele><g:speed>1</g:speed><g:extensions><x:TrackPointExtension>
            <x:hr>141</x:hr><x:time>not a time</x:time></x:TrackPointExtension></g:extensions></g:trkpt>
            </g:trkseg></g:trk></g:gpx>
            """)
        #expect(recording.points == [GPXPoint(latitude: 1, longitude: 2, elevation: 3, heartRate: 141)])
    }

    @Test("timed points are sorted by time, and in document order at equal times")
    func timedPointsAreSorted() throws {
        let recording = try read(
            points: [("3", "2020-01-01T00:00:03Z"), ("1", "2020-01-01T00:00:01Z"), ("2", "2020-01-01T00:00:01Z")])
        #expect(recording.timedPoints.map(\.latitude) == [1, 2, 3])
    }

    @Test(
        "every form of date is read",
        arguments: [
            ("2010-10-03T09:36:30Z", 1_286_098_590),
            ("2010-10-03T09:36:30.25Z", 1_286_098_590.25),
            ("2010-10-03T09:36:30.1234567890123Z", 1_286_098_590.123456789),
            ("2010-10-03T11:36:30+02:00", 1_286_098_590),
            ("2010-10-03T04:06:30.5-05:30", 1_286_098_590.5),
            ("2010-10-03T11:36:30+0200", 1_286_098_590),
            ("2010-10-03T09:36:30", 1_286_098_590),
            ("  2010-10-03T09:36:30Z\n", 1_286_098_590),
            ("2010-10-02T24:00:00Z", 1_286_064_000),
            ("2011-12-31T24:00:00.0+01:00", 1_325_372_400),
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59.5Z", -0.5),
            ("2000-02-29T00:00:00Z", 951_782_400),
            ("2016-12-31T23:59:60Z", 1_483_228_800),
            ("0001-01-01T00:00:00Z", -62_135_596_800),
            ("9999-12-31T23:59:59Z", 253_402_300_799),
        ] as [(String, Double)])
    func dates(text: String, seconds: Double) throws {
        let point = try #require(try read(points: [("0", text)]).points.first)
        #expect(point.time == Date(timeIntervalSince1970: seconds))
    }

    @Test(
        "an invalid date is a bad value",
        arguments: [
            "yesterday", "2010-10-03", "2010-10-03T09:36Z", "2010-13-03T09:36:30Z", "2010-02-29T00:00:00Z",
            "2010-10-03T24:00:01Z", "2010-10-03T24:00:00.5Z", "2010-10-03T25:00:00Z", "2010-10-03T09:60:00Z",
            "2010-10-03T09:36:61Z", "2010-10-03T09:36:30.Z",
            "2010-10-03T09:36:30ZZ", "2010-10-03T09:36:30+2", "2010-10-03T09:36:30+15:00", "0000-01-01T00:00:00Z",
            "2010-10-03T09:36:30Z" + String(repeating: "0", count: 1000), "２010-10-03T09:36:30Z",
        ])
    func badDates(text: String) throws {
        let recording = try read(points: [("0", "2020-01-01T00:00:00Z"), ("0", text)])
        #expect(recording.badValueCount == 1)
        #expect(recording.timedPoints.count == 1 && recording.points.count == 2)
    }

    @Test("the haversine distance matches known great circles")
    func distance() throws {
        let origin = GPXPoint(latitude: 0, longitude: 0)
        let degree = 6_371_008.8 * Double.pi / 180
        #expect(abs(origin.distance(to: GPXPoint(latitude: 0, longitude: 1)) - degree) < 1e-6)
        #expect(abs(origin.distance(to: GPXPoint(latitude: -1, longitude: 0)) - degree) < 1e-6)
        #expect(abs(origin.distance(to: GPXPoint(latitude: 0, longitude: 180)) - 180 * degree) < 1e-6)
        #expect(origin.distance(to: origin) == 0)
        let west = GPXPoint(latitude: 60, longitude: 179.5)
        let east = GPXPoint(latitude: 60, longitude: -179.5)
        #expect(abs(west.distance(to: east) - degree / 2) < 10)
    }

    @Test("distance follows the segments and skips the gaps between them")
    func distanceOfRecording() {
        let points = (0...2).map { GPXPoint(latitude: Double($0), longitude: 0) }
        let whole = GPXRecording(tracks: [GPXTrack(segments: [GPXSegment(points: points)])])
        let cut = GPXRecording(tracks: [
            GPXTrack(segments: [
                GPXSegment(points: [points[0]]), GPXSegment(), GPXSegment(points: [points[1], points[2]]),
            ])
        ])
        #expect(abs(whole.distance - 2 * cut.distance) < 1e-6)
    }

    private func read(_ text: String) throws -> GPXRecording {
        try GPXRecording(data: Data(text.utf8), file: "test.gpx")
    }

    /// Reads a recording with one point per line, the first on line 2.
    private func read(points: [(latitude: String, time: String)]) throws -> GPXRecording {
        let points = points.map { "<trkpt lat=\"\($0.latitude)\" lon=\"0\"><time>\($0.time)</time></trkpt>\n" }
        return try read("<gpx><trk><trkseg>\n" + points.joined() + "</trkseg></trk></gpx>")
    }
}
