#if WebSocket
    import MeshResumeGateway
    import MeshWebSocket

    /// An event to publish, and the user that gets it.
    struct PublishedEvent: Sendable {
        /// Maximum number of events per request.
        static let batchMax = 1000
        /// Maximum number of bytes of a user's name.
        static let userBytesMax = 1024

        let user: String
        let event: ReplayEvent

        init(user: String, type: String, json: [UInt8]) throws(PublishingError) {
            try Self.check(user: user)
            self.user = user
            do { event = try ReplayEvent(type: type, json: json) } catch {
                throw PublishingError(.invalidEvent, error.message)
            }
        }

        static func check(user: String) throws(PublishingError) {
            guard (1...userBytesMax).contains(user.utf8.count), user != DisconnectionLog.stream else {
                throw PublishingError(.invalidUser, "a user's name has 1 to \(userBytesMax) bytes")
            }
        }

        /// Reads `[{"user":"anna","type":"MESSAGE","data":…},…]`. The bytes of `data` stay as they are.
        static func batch(_ json: [UInt8]) throws(PublishingError) -> [PublishedEvent] {
            var events: [PublishedEvent] = []
            do {
                var scanner = JSONScanner(json)
                try scanner.array { scanner in
                    guard events.count < batchMax else {
                        throw PublishingError(.tooManyEvents, "a request has at most \(batchMax) events")
                    }
                    events.append(try read(&scanner, index: events.count))
                }
                try scanner.end()
                return events
            } catch {
                throw error as? PublishingError
                    ?? PublishingError(
                        .invalidEvent,
                        #"event \#(events.count): the body must be JSON: [{"user":"…","type":"…","data":…},…]"#)
            }
        }

        private static func read(_ scanner: inout JSONScanner, index: Int) throws -> PublishedEvent {
            var (user, type, json): (String?, String?, ArraySlice<UInt8>?)
            try scanner.object { name, scanner in
                switch name {
                case "user" where user == nil: user = try scanner.string()
                case "type" where type == nil: type = try scanner.string()
                case "data" where json == nil: json = try scanner.value()
                default: throw JSONScanner.Malformed()
                }
            }
            guard let user, let type, let json else { throw JSONScanner.Malformed() }
            do throws(PublishingError) { return try PublishedEvent(user: user, type: type, json: Array(json)) } catch {
                throw PublishingError(error.code, "event \(index): \(error.message)")
            }
        }
    }

    /// The reason why a request wasn't carried out, or only in part.
    struct PublishingError: Error {
        /// A code for programs, which also determines the HTTP status of the answer.
        enum Code: String, Sendable {
            case invalidEvent, invalidUser, invalidKey, tooManyEvents, inProgress, keyReused, busy, unavailable

            var status: Int {
                switch self {
                case .invalidEvent, .invalidUser, .invalidKey, .tooManyEvents: 400
                case .inProgress: 409
                case .keyReused: 422
                case .busy, .unavailable: 503
                }
            }
        }

        let code: Code
        let message: String
        /// The numbers of the request's events, nil for each event that wasn't appended. nil if the request failed
        /// before it could append.
        var sequences: [UInt64?]?

        init(_ code: Code, _ message: String) { (self.code, self.message) = (code, message) }

        var response: HTTPService.Response {
            let isTemporary = code == .inProgress || code.status == 503
            let numbers = sequences.map { $0.map { $0.map(String.init) ?? "null" }.joined(separator: ",") }
            return .error(
                code.status, code.rawValue, message, fields: numbers.map { ",\"s\":[\($0)]" } ?? "",
                headers: isTemporary ? [(name: "Retry-After", value: "1")] : [])
        }
    }
#endif
