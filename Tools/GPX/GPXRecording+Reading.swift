public import Foundation

#if canImport(FoundationXML)
    import FoundationXML
#endif

/// Maximum size of a document. Both limits are checked before memory is used.
public struct GPXLimits: Hashable, Sendable {
    public var bytesMax: Int
    public var pointsMax: Int

    /// Creates limits; by default 64 MiB and a million points, which is eleven days at one point a second.
    public init(bytesMax: Int = 64 << 20, pointsMax: Int = 1_000_000) {
        self.bytesMax = bytesMax
        self.pointsMax = pointsMax
    }
}

extension GPXRecording {
    /// Reads a GPX file.
    /// - Throws: `GPXError` with any of its codes.
    public init(path: String, limits: GPXLimits = GPXLimits()) throws(GPXError) {
        let data: Data
        do {
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? file.close() }
            // Reads one byte past the limit, to distinguish a file that is too large from one that just fits.
            data = try file.read(upToCount: limits.bytesMax + 1) ?? Data()
        } catch {
            let reason = (error as NSError).reasonInOneLine
            throw GPXError(code: .unreadable, file: path, message: "cannot be read: \(reason)")
        }
        try self.init(data: data, file: path, limits: limits)
    }

    /// Reads a GPX document. Leaves out bad values, and reads a truncated document up to its end.
    /// - Parameter file: The name for errors.
    /// - Throws: `GPXError` with `tooLarge`, `malformed` or `hostile`.
    public init(data: Data, file: String, limits: GPXLimits = GPXLimits()) throws(GPXError) {
        guard data.count <= limits.bytesMax else {
            throw GPXError(code: .tooLarge, file: file, message: "is larger than \(limits.bytesMax) bytes")
        }
        if let fault = faultInProlog(of: data, file: file) { throw fault }
        let reader = GPXReader(file: file, limits: limits)
        let parser = XMLParser(data: data)
        parser.shouldResolveExternalEntities = false
        parser.delegate = reader
        let isWellFormed = parser.parse()
        if !isWellFormed, let recording = reader.recording(cutShort: data) {
            self = recording
            return
        }
        if let failure = reader.failure { throw failure }
        guard isWellFormed, reader.hasRoot else {
            throw GPXError(
                code: .malformed, file: file, line: max(1, parser.lineNumber), message: "is not well-formed XML")
        }
        self = reader.recording
    }
}

extension NSError {
    fileprivate var reasonInOneLine: String {
        let reason = (userInfo[NSUnderlyingErrorKey] as? NSError) ?? self
        if reason.domain == NSPOSIXErrorDomain, let code = Int32(exactly: reason.code) {
            return String(cString: strerror(code))
        }
        return localizedDescription.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}
