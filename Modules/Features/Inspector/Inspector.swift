#if Inspector
    import Foundation
    public import MeshBase
    public import MeshDiagnostics
    import MeshWebSocket
    import NIOCore
    import NIOPosix

    /// A web page that shows messages between peers and the peers' state, for debug builds, tools and tests.
    ///
    /// ```swift
    /// let inspector = try await Inspector.start(following: diagnostics)    // a DiagnosticsSession around your transport
    /// print(inspector.address)                                             // open it in a browser on this machine
    /// ```
    ///
    /// The page is served on loopback only. Its address has a token of 128 random bits; a request without the token gets 404. The
    /// page only reads. The inspector keeps the newest entries: 100,000 by default, at most 64 MiB. May be used on any thread.
    public final class Inspector: Sendable {
        /// The page's URL for a browser on this machine, including the token.
        public let address: String
        private let service: HTTPService
        private let feed: InspectorFeed

        private init(_ service: HTTPService, _ feed: InspectorFeed, _ token: String) {
            self.service = service
            self.feed = feed
            address = "http://127.0.0.1:\(service.port)/\(token)/"
        }

        /// Starts serving the inspector's page on loopback.
        ///
        /// - Parameters:
        ///   - session: the recorder whose records are shown. You can follow more later.
        ///   - port: the port; 0 for a free one.
        ///   - entriesMax: maximum number of entries kept. The oldest are removed first.
        /// - Throws: `InspectorError` if the port isn't available.
        public static func start(
            following session: DiagnosticsSession? = nil, port: UInt16 = 0, entriesMax: Int = 100_000
        ) async throws(InspectorError) -> Inspector {
            let feed = InspectorFeed(entriesMax: entriesMax)
            if let session { feed.follow(session) }
            return try await serve(feed, port)
        }

        /// Serves a finished recording. The page says that it is a recording.
        /// - Parameters:
        ///   - recording: the entries to show.
        ///   - port: the port; 0 for a free one.
        /// - Throws: `InspectorError` if the port isn't available.
        public static func start(
            showing recording: DiagnosticsRecording, port: UInt16 = 0
        ) async throws(InspectorError) -> Inspector {
            let feed = InspectorFeed(entriesMax: max(1, recording.entries.count), isRecording: true)
            feed.add(recording.entries)
            return try await serve(feed, port)
        }

        private static func serve(_ feed: InspectorFeed, _ port: UInt16) async throws(InspectorError) -> Inspector {
            var random = SystemRandomNumberGenerator()
            let token = (0..<2).map { _ in
                let digits = String(random.next(), radix: 16)
                return String(repeating: "0", count: 16 - digits.count) + digits
            }.joined()
            let pages = InspectorPages(feed: feed, token: token)
            do {
                let service = try await HTTPService.start(
                    port: Int(port), on: MultiThreadedEventLoopGroup.singleton.next(), .init { await pages.answer($0) })
                return Inspector(service, feed, token)
            } catch {
                throw InspectorError(
                    .unavailable,
                    "the inspector can't listen on port \(port) of 127.0.0.1; choose another port, or 0 for a free one",
                    cause: error)
            }
        }

        /// Shows an entry on the page.
        public func add(_ entry: DiagnosticsEntry) { feed.add([entry]) }

        /// Shows all entries of a recording on the page.
        public func add(_ recording: DiagnosticsRecording) { feed.add(recording.entries) }

        /// Shows all records that a session has kept, and each later one.
        public func follow(_ session: DiagnosticsSession) { feed.follow(session) }

        /// The entries that the inspector holds, as a recording.
        public var recording: DiagnosticsRecording { feed.recording }

        /// Stops serving the page.
        public func stop() async { await service.stop() }
    }

    /// An error that kept an inspector from starting.
    public struct InspectorError: CodedError {
        /// The kind of failure. Later versions may add codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            public let description: String

            /// The port isn't available; `cause` has the system's error.
            public static let unavailable = Code(description: "unavailable")
        }

        public let code: Code
        public let message: String
        public let cause: (any Error)?

        init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
            (self.code, self.message, self.cause) = (code, message, cause)
        }

        /// Empty: each message says what to do.
        public var advice: String { "" }
    }
#endif
