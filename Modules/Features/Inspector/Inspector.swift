#if Inspector
    import Foundation
    public import MeshBase
    public import MeshDiagnostics
    import MeshWebSocket
    import NIOCore
    import NIOPosix

    /// A page that shows what passes between peers and how they stand: for debug builds, tools and tests.
    ///
    /// ```swift
    /// let inspector = try await Inspector.start(following: diagnostics)    // a DiagnosticsSession around your transport
    /// print(inspector.address)                                             // open it in a browser on this machine
    /// ```
    ///
    /// It is served on loopback only, and its address has a token of 128 random bits: other users of the machine who do not know
    /// it are answered with 404. It only reads. The newest entries are kept, by default 100,000, in 64 MiB at most. Safe to use
    /// from any thread.
    public final class Inspector: Sendable {
        /// The URL for a browser on this machine, token included.
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
        ///   - session: whose records are shown as they come; more can be followed later.
        ///   - port: 0 for one of the system's choice.
        ///   - entriesMax: how many entries are kept at most; the oldest are removed first.
        /// - Throws: `InspectorError` when there is no such port to be had.
        public static func start(
            following session: DiagnosticsSession? = nil, port: UInt16 = 0, entriesMax: Int = 100_000
        ) async throws(InspectorError) -> Inspector {
            let feed = InspectorFeed(entriesMax: entriesMax)
            if let session { feed.follow(session) }
            return try await serve(feed, port)
        }

        /// Serves a recording, to which nothing is added: the page says so.
        /// - Parameters:
        ///   - recording: The entries to show.
        ///   - port: 0 for one of the system's choice.
        /// - Throws: `InspectorError` when there is no such port to be had.
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
                    port: Int(port), on: MultiThreadedEventLoopGroup.singleton.next()
                ) { await pages.answer($0) }
                return Inspector(service, feed, token)
            } catch {
                throw InspectorError(
                    .unavailable, "port \(port) of 127.0.0.1 cannot be served; choose another, or 0 for a free one",
                    cause: error)
            }
        }

        /// Shows an entry on the page.
        public func add(_ entry: DiagnosticsEntry) { feed.add([entry]) }

        /// Shows all entries of a recording on the page.
        public func add(_ recording: DiagnosticsRecording) { feed.add(recording.entries) }

        /// Shows what a session records from now on, and what it still has.
        public func follow(_ session: DiagnosticsSession) { feed.follow(session) }

        /// The entries that the inspector holds, as a recording.
        public var recording: DiagnosticsRecording { feed.recording }

        /// Stops serving the page.
        public func stop() async { await service.stop() }
    }

    /// Why there is no inspector.
    public struct InspectorError: CodedError {
        /// Why it is thrown. Later versions may know more codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            public let description: String

            /// The system has no such port to give; `cause` has its error.
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
