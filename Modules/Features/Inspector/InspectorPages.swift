#if Inspector
    import Foundation
    import MeshBase
    import MeshDiagnostics
    import MeshWebSocket

    /// The server's responses: the page, its style and script, and entries after a number.
    struct InspectorPages: Sendable {
        let feed: InspectorFeed
        let token: String

        /// Maximum number of entries in a response.
        private static let entriesMax = 2_000
        /// Maximum time that a response waits for entries. Shorter than the server's request timeout of ten seconds.
        private static let patience = Duration.seconds(5)
        private static let pause = Duration.milliseconds(50)

        func answer(_ request: HTTPService.Request) async -> HTTPService.Response {
            guard request.method == "GET", let (name, query) = place(of: request.path) else { return Self.notFound }
            switch name {
            case "": return Self.page(PackageResources.inspector_html, "text/html; charset=utf-8")
            case "inspector.css": return Self.page(PackageResources.inspector_css, "text/css; charset=utf-8")
            case "inspector.js": return Self.page(PackageResources.inspector_js, "text/javascript; charset=utf-8")
            case "recording.jsonl": return Self.lines(feed.recording)
            case "entries":
                guard query.hasPrefix("after="), let number = UInt64(query.dropFirst("after=".count)) else {
                    return Self.notFound
                }
                let recording = DiagnosticsRecording(entries: await entries(after: number))
                return Self.lines(recording, feed.isRecording ? [(name: "Inspector-Source", value: "recording")] : [])
            default: return Self.notFound
            }
        }

        /// Returns the name and the query in a path; nil if the path doesn't begin with the token.
        private func place(of path: String) -> (name: String, query: String)? {
            let parts = path.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            let prefix = Array("/\(token)/".utf8)
            let given = Array(parts[0].utf8)
            guard given.prefix(prefix.count).isEqualInConstantTime(to: prefix) else { return nil }
            return (String(decoding: given.dropFirst(prefix.count), as: UTF8.self), parts.count > 1 ? parts[1] : "")
        }

        private func entries(after number: UInt64) async -> [DiagnosticsEntry] {
            let start = ContinuousClock.now
            while true {
                let entries = feed.entries(after: number, max: Self.entriesMax)
                guard entries.isEmpty, !feed.isRecording, ContinuousClock.now - start < Self.patience else {
                    return entries
                }
                do { try await Task.sleep(for: Self.pause) } catch { return [] }
            }
        }

        private static let notFound = HTTPService.Response(status: 404, text: "not found\n", headers: headers)

        private static func page(_ bytes: [UInt8], _ type: String) -> HTTPService.Response {
            .init(status: 200, text: String(decoding: bytes, as: UTF8.self), type: type, headers: headers)
        }

        private static func lines(
            _ recording: DiagnosticsRecording, _ more: [(name: String, value: String)] = []
        ) -> HTTPService.Response {
            .init(
                status: 200, text: String(decoding: recording.jsonLines, as: UTF8.self),
                type: "application/x-ndjson; charset=utf-8", headers: headers + more)
        }

        /// Headers that keep texts in entries from becoming markup, and other pages from embedding this one or learning its
        /// address.
        private static let headers = [
            (
                name: "Content-Security-Policy",
                value: "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
                    + "form-action 'none'; frame-ancestors 'none'"
            ),
            (name: "X-Content-Type-Options", value: "nosniff"), (name: "Referrer-Policy", value: "no-referrer"),
            (name: "Cache-Control", value: "no-store"), (name: "Cross-Origin-Resource-Policy", value: "same-origin"),
        ]
    }
#endif
