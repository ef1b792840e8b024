import Foundation
import MeshGPX
import Testing

@Suite("Faulty GPX")
struct GPXFaultTests {
    @Test(
        "a malformed document is a typed error with its line",
        arguments: [
            ("", 1), ("\n\nnot xml at all", 3), ("<gpx>\n<trk>\n</gpx>", 3), ("<gpx>", 1),
            ("<html>\n</html>", 1),
            (
                "<gpx><trk><trkseg><trkpt lat=\"0\" lon=\"0\">\n<name>&undeclared;</name></trkpt></trkseg></trk></gpx>",
                2
            ),
        ])
    func malformed(text: String, line: Int) {
        let error = #expect(throws: GPXError.self) { try read(text) }
        #expect(error?.code == .malformed)
        #expect(error?.line == line)
        #expect(error?.description.hasPrefix("test.gpx:\(line): ") == true)
        #expect(error?.description.contains("\n") == false)
    }

    @Test("a document cut anywhere keeps the points before the cut, or is an error without any")
    func cutDocuments() throws {
        let point = "<trkpt lat=\"45.5\" lon=\"14.2\"><ele>7</ele><time>2010-10-03T09:36:30.5Z</time></trkpt>"
        let end = "</trkseg></trk></gpx>"
        let text = "<?xml version=\"1.0\"?>\n<gpx version=\"1.1\"><trk>\n<trkseg>\(point)\n\(point)\(end)"
        let document = Data(text.utf8)
        let whole = try GPXRecording(data: document, file: "test.gpx")
        #expect(whole.shortfall == nil)
        let ends = text.ranges(of: "</trkpt>").map { text.utf8.distance(from: text.startIndex, to: $0.upperBound) }
        for count in 0..<document.count {
            let wanted = ends.count { $0 <= count }
            let recording = try? GPXRecording(data: document.prefix(count), file: "test.gpx")
            #expect(recording?.points ?? [] == [GPXPoint](whole.points.prefix(wanted)), "cut after \(count) bytes")
            #expect(recording?.isCutShort ?? true, "cut after \(count) bytes")
        }
        let cut = try GPXRecording(data: document.prefix(ends[0]), file: "test.gpx")
        #expect(cut.shortfall == "ends in the middle, after 1 points")
    }

    @Test("an error in the middle of a document isn't taken for its end")
    func faultInTheMiddle() {
        let error = #expect(throws: GPXError.self) {
            try read("<gpx><trk><trkseg><trkpt lat='1' lon='2'/>\n</trk>\n</gpx>")
        }
        #expect(error?.line == 2)
    }

    @Test(
        "bad values are left out and counted",
        arguments: [
            "<ele>high</ele>", "<ele>inf</ele>", "<ele>NaN</ele>", "<hr>-1</hr>", "<hr>255</hr>", "<hr>0</hr>",
            "<hr>fast</hr>", "<time>yesterday</time>",
        ])
    func badValues(element: String) throws {
        let recording = try read(
            "<gpx><trk><trkseg><trkpt lat='0' lon='0'>\(element)</trkpt><trkpt lat='1' lon='1'/></trkseg></trk></gpx>")
        #expect(recording.points == [GPXPoint(latitude: 0, longitude: 0), GPXPoint(latitude: 1, longitude: 1)])
        #expect(recording.shortfall == "has 1 bad values, which are left out")
    }

    @Test(
        "a point without a position is left out and counted",
        arguments: ["lat='1'", "lat='91' lon='0'", "lat='0' lon='-180.5'", "lat='nan' lon='0'"])
    func badPositions(attributes: String) throws {
        let recording = try read(
            """
            <gpx><trk><trkseg><trkpt \(attributes)><ele>1</ele><hr>99</hr></trkpt><trkpt lat='1' lon='1'/></trkseg>
            </trk></gpx>
            """)
        #expect(recording.points == [GPXPoint(latitude: 1, longitude: 1)])
        #expect(recording.badValueCount == 1)
    }

    @Test("an entity bomb is refused before it goes off")
    func entityBomb() {
        let levels = (1...9).map { level in
            "<!ENTITY e\(level) \"" + String(repeating: "&e\(level - 1);", count: 10) + "\">"
        }
        expectHostile("<!DOCTYPE gpx [<!ENTITY e0 \"ha\">\(levels.joined())]><gpx><trk><name>&e9;</name></trk></gpx>")
    }

    @Test(
        "external and parameter entities are refused",
        arguments: [
            "<!ENTITY x SYSTEM \"file:///etc/passwd\">", "<!ENTITY x PUBLIC \"p\" \"http://127.0.0.1:1/x\">",
            "<!ENTITY % x SYSTEM \"file:///etc/passwd\"> %x;", "<!ENTITY % x \"<!ENTITY y 'z'>\"> %x;",
        ])
    func externalEntity(declaration: String) {
        expectHostile("<!DOCTYPE gpx [\(declaration)]><gpx><trk><name>&x;</name></trk></gpx>")
    }

    @Test("a document type is found after everything that may precede it, and only there")
    func documentTypeAfterComments() throws {
        expectHostile("\u{FEFF} <?xml version=\"1.0\"?><!-- <gpx> --><?p ?> <!DOCTYPE gpx><gpx/>")
        let accepted = "<!-- <!DOCTYPE gpx> --><gpx><trk><desc><![CDATA[<!DOCTYPE html>]]></desc></trk></gpx>"
        #expect(try read(accepted).tracks.count == 1)
    }

    @Test("encodings that could hide a document type are rejected")
    func encodings() throws {
        let bomb = "<!DOCTYPE gpx [<!ENTITY e 'x'>]><gpx/>"
        for encoding in [String.Encoding.utf16, .utf16BigEndian, .utf16LittleEndian, .utf32] {
            let data = try #require(bomb.data(using: encoding))
            let error = #expect(throws: GPXError.self) { try GPXRecording(data: data, file: "test.gpx") }
            #expect(error?.code == .malformed, "\(encoding)")
        }
        let utf7 = "<?xml version='1.0' encoding='UTF-7'?>+ADwAIQ-DOCTYPE gpx+AD4APA-gpx/+AD4-"
        #expect(throws: GPXError.self) { try read(utf7) }

        var latin = Data("<?xml version='1.0' encoding='ISO-8859-1'?><gpx><trk><name>Caf".utf8)
        latin.append(0xE9)
        latin.append(Data("</name></trk></gpx>".utf8))
        #expect(try GPXRecording(data: latin, file: "test.gpx").tracks.first?.name == "Café")
    }

    @Test("too many bytes or points are refused")
    func limits() throws {
        let text = "<gpx><trk><trkseg><trkpt lat='0' lon='0'/><trkpt lat='0' lon='0'/></trkseg></trk></gpx>"
        let fitting = GPXLimits(bytesMax: text.utf8.count, pointsMax: 2)
        #expect(try read(text, limits: fitting).points.count == 2)
        for limits in [
            GPXLimits(bytesMax: fitting.bytesMax - 1, pointsMax: 2),
            GPXLimits(bytesMax: fitting.bytesMax, pointsMax: 1),
        ] {
            let error = #expect(throws: GPXError.self) { try read(text, limits: limits) }
            #expect(error?.code == .tooLarge)
        }
    }

    @Test("unboundedly nested elements are rejected")
    func nesting() {
        let text = "<gpx>" + String(repeating: "<a>", count: 100_000)
        let error = #expect(throws: GPXError.self) { try read(text) }
        #expect(error?.code == .malformed)
    }

    @Test("an unreadable file is an error of one line", arguments: ["/nonexistent/route.gpx", "/"])
    func unreadable(path: String) {
        let error = #expect(throws: GPXError.self) { try GPXRecording(path: path) }
        #expect(error?.code == .unreadable)
        #expect(error?.line == nil)
        #expect(error?.description.hasPrefix("\(path): cannot be read: ") == true)
        #expect(error?.description.contains("\n") == false)
    }

    @Test("a file is read up to its limit")
    func file() throws {
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).gpx")
        defer { try? FileManager.default.removeItem(at: url) }
        let text = "<gpx><trk><trkseg><trkpt lat='1' lon='2'/></trkseg></trk></gpx>"
        try Data(text.utf8).write(to: url)
        #expect(try GPXRecording(path: url.path).points == [GPXPoint(latitude: 1, longitude: 2)])
        let error = #expect(throws: GPXError.self) {
            try GPXRecording(path: url.path, limits: GPXLimits(bytesMax: text.utf8.count - 1))
        }
        #expect(error?.code == .tooLarge)
    }

    private func expectHostile(_ text: String) {
        let error = #expect(throws: GPXError.self) { try read(text) }
        #expect(error?.code == .hostile)
        #expect(error?.line == 1)
    }

    private func read(_ text: String, limits: GPXLimits = GPXLimits()) throws -> GPXRecording {
        try GPXRecording(data: Data(text.utf8), file: "test.gpx", limits: limits)
    }
}
