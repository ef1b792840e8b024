public import Foundation

/// A frame from a client to a gateway. Readers ignore unknown fields.
public enum ClientFrame: Hashable, Sendable {
    /// A heartbeat; `lastSeq` is the last event that the client has processed.
    case heartbeat(lastSeq: UInt64?)
    /// Begins a new session.
    case identify(token: String, properties: ClientProperties)
    /// Asks for the events of a session after `lastSeq`.
    case resume(token: String, sessionId: String, lastSeq: UInt64)

    /// Creates the frame of a handshake.
    public init(_ request: HandshakeRequest) {
        self =
            switch request.kind {
            case .identify(let properties): .identify(token: request.token, properties: properties)
            case .resume(let id, let last): .resume(token: request.token, sessionId: id, lastSeq: last)
            }
    }

    /// Creates the frame of a heartbeat.
    public init(_ request: HeartbeatRequest) { self = .heartbeat(lastSeq: request.lastSeq) }

    /// Reads a client's frame from JSON in UTF-8.
    ///
    /// - Throws: `FrameError` with `unknownOpcode` or `decodeError`.
    public init(json: some Sequence<UInt8>) throws(FrameError) {
        do {
            self = try JSONDecoder().decode(ClientFrame.self, from: Data(json))
        } catch {
            throw FrameError(json: error)
        }
    }

    /// Returns the frame as a JSON object.
    ///
    /// - Throws: The errors of `JSONEncoder`.
    public func json() throws -> Data { try JSONEncoder().encode(self) }
}

extension ClientFrame: Codable {
    private struct Identify: Encodable {
        let token: String
        let properties: Properties

        enum CodingKeys: CodingKey { case token, properties }
    }

    /// Client properties in JSON, with key names that are common among chat gateways.
    private struct Properties: Encodable {
        var os, osVersion, appVersion, device, deviceID: String?

        enum CodingKeys: String, CodingKey {
            case os, device
            case osVersion = "os_version"
            case appVersion = "app_version"
            case deviceID = "device_id"
        }
    }

    private struct Resume: Encodable {
        let token: String
        let sessionID: String
        let seq: UInt64

        enum CodingKeys: String, CodingKey {
            case token, seq
            case sessionID = "session_id"
        }
    }

    public init(from decoder: any Decoder) throws {
        let frame = try decoder.container(keyedBy: FrameKey.self)
        let number = try frame.integer(.op)
        switch FrameOperation(rawValue: number) {
        case .heartbeat: self = .heartbeat(lastSeq: try frame.sequenceIfPresent(.d))
        case .identify:
            let identify = try frame.object(.d, keyedBy: Identify.CodingKeys.self)
            let properties = try identify.objectIfPresent(.properties, keyedBy: Properties.CodingKeys.self)
            self = .identify(
                token: try identify.string(.token),
                properties: ClientProperties(
                    platform: try properties?.stringIfPresent(.os) ?? "unknown",
                    appVersion: try properties?.stringIfPresent(.appVersion) ?? "",
                    osVersion: try properties?.stringIfPresent(.osVersion) ?? "",
                    deviceName: try properties?.stringIfPresent(.device) ?? "",
                    deviceId: try properties?.stringIfPresent(.deviceID)))
        case .resume:
            let resume = try frame.object(.d, keyedBy: Resume.CodingKeys.self)
            self = .resume(
                token: try resume.string(.token), sessionId: try resume.string(.sessionID),
                lastSeq: try resume.sequence(.seq))
        default: throw FrameError(.unknownOpcode, "a client doesn't send operation \(number)")
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var frame = encoder.container(keyedBy: FrameKey.self)
        switch self {
        case .heartbeat(let last):
            try frame.encode(FrameOperation.heartbeat.rawValue, forKey: .op)
            try frame.encode(last, forKey: .d)
        case .identify(let token, let properties):
            try frame.encode(FrameOperation.identify.rawValue, forKey: .op)
            let sentProperties = Properties(
                os: properties.platform, osVersion: properties.osVersion, appVersion: properties.appVersion,
                device: properties.deviceName, deviceID: properties.deviceId)
            try frame.encode(Identify(token: token, properties: sentProperties), forKey: .d)
        case .resume(let token, let id, let last):
            try frame.encode(FrameOperation.resume.rawValue, forKey: .op)
            try frame.encode(Resume(token: token, sessionID: id, seq: last), forKey: .d)
        }
    }
}
