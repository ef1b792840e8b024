import Foundation

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// Builds a recording from the parser's callbacks. The first fault ends the parse and is kept in `failure`.
final class GPXReader: NSObject, XMLParserDelegate {
    /// Maximum number of bytes in a text. A longer number or date is a bad value; a longer name is cut.
    private static let textBytesMax = 256
    /// The valid heart rates in beats a minute. Recorders write -1 and 255 when they have lost the sensor.
    private static let heartRates = 1.0...254

    private(set) var recording = GPXRecording(tracks: [])
    private(set) var failure: GPXError?
    private(set) var hasRoot = false
    // True if the document isn't XML.
    private var isBroken = false
    private let file: String
    private let limits: GPXLimits
    // Local names of the open elements, outermost first. libxml2 allows 256.
    private var path: [String] = []
    private var track: GPXTrack?
    private var segment: GPXSegment?
    private var point: GPXPoint?
    private var text = ""
    private var pointCount = 0

    init(file: String, limits: GPXLimits) {
        self.file = file
        self.limits = limits
    }

    // MARK: - Elements

    func parser(
        _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?,
        qualifiedName qName: String?, attributes attributeDict: [String: String]
    ) {
        let name = elementName.localName
        let parent = path.last
        path.append(name)
        text = ""
        switch (parent, name) {
        case (nil, "gpx"): hasRoot = true
        case (nil, _): fail(parser, .malformed, "is not a GPX document: its root element is '\(name.prefix(40))'")
        case ("gpx", "trk"): track = GPXTrack()
        case ("trk", "trkseg"): segment = GPXSegment()
        case ("trkseg", "trkpt"): beginPoint(parser, attributeDict)
        default: break
        }
    }

    func parser(_ parser: XMLParser, foundCharacters string: String) {
        guard text.utf8.count <= Self.textBytesMax else { return }
        text += string.prefix(Self.textBytesMax + 1)
    }

    func parser(
        _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?, qualifiedName qName: String?
    ) {
        _ = path.popLast()
        defer { text = "" }
        switch (path.last, elementName.localName) {
        case ("trk", "name"): track?.name = trimmedText
        case ("trkpt", "ele"): point?.elevation = value(number)
        case ("trkpt", "time"): point?.time = value { gpxTimestamp($0) }
        case (_, "hr") where point != nil: point?.heartRate = value(heartRate)
        case ("trkseg", "trkpt"): endPoint()
        case ("trk", "trkseg"): endSegment()
        case ("gpx", "trk"): endTrack()
        default: break
        }
    }

    // MARK: - Points

    private func beginPoint(_ parser: XMLParser, _ attributes: [String: String]) {
        pointCount += 1
        guard pointCount <= limits.pointsMax else {
            return fail(parser, .tooLarge, "has more than \(limits.pointsMax) points")
        }
        guard let latitude = attributes["lat"].flatMap(Double.init), (-90...90).contains(latitude),
            let longitude = attributes["lon"].flatMap(Double.init), (-180...180).contains(longitude)
        else {
            recording.badValueCount += 1
            return
        }
        point = GPXPoint(latitude: latitude, longitude: longitude)
    }

    private func endPoint() {
        if let point { segment?.points.append(point) }
        point = nil
    }

    private func endSegment() {
        if let segment { track?.segments.append(segment) }
        segment = nil
    }

    private func endTrack() {
        if let track { recording.tracks.append(track) }
        track = nil
    }

    // MARK: - Values

    private var trimmedText: String { text.trimmingCharacters(in: .whitespacesAndNewlines) }

    /// Returns nil for an empty element, which counts as missing, and for a bad value, which is counted.
    private func value<Value>(_ read: (String) -> Value?) -> Value? {
        let text = trimmedText
        guard !text.isEmpty else { return nil }
        guard let value = read(text) else {
            recording.badValueCount += 1
            return nil
        }
        return value
    }

    private func number(_ text: String) -> Double? { Double(text).flatMap { $0.isFinite ? $0 : nil } }

    private func heartRate(_ text: String) -> Int? {
        number(text).flatMap { Self.heartRates.contains($0) ? Int($0.rounded()) : nil }
    }

    // MARK: - Faults

    func parser(_ parser: XMLParser, parseErrorOccurred parseError: any Error) {
        if failure == nil { isBroken = true }
        fail(parser, .malformed, "is not well-formed XML")
    }

    /// Returns the recording up to the end of a truncated document. A document is truncated if the root isn't closed and the
    /// parser stopped in the last line or the one before it.
    /// - Returns: nil if there is no point, or the document has a different fault.
    func recording(cutShort document: Data) -> GPXRecording? {
        let text = document.reversed().drop { $0 == 0x20 || (0x09...0x0D).contains($0) }
        guard isBroken, let line = failure?.line, line >= text.count(where: { $0 == UInt8(ascii: "\n") }),
            !text.starts(with: "gpx>".utf8.reversed())
        else { return nil }
        point = nil
        endSegment()
        endTrack()
        recording.isCutShort = true
        return recording.points.isEmpty ? nil : recording
    }

    private func fail(_ parser: XMLParser, _ code: GPXError.Code, _ message: String) {
        guard failure == nil else { return }
        failure = GPXError(code: code, file: file, line: max(1, parser.lineNumber), message: message)
        parser.abortParsing()
    }
}

extension String {
    /// The name without its namespace prefix.
    fileprivate var localName: String {
        guard let colon = lastIndex(of: ":") else { return self }
        return String(self[index(after: colon)...])
    }
}
