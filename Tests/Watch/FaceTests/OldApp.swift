import Foundation
import MeshBase
import SessionMeshWatchConnectivity

/// An app with WatchConnectivitySwift 5, as its counterpart sees it: it sends and handles frames as that library does, and
/// in its format.
final class OldApp: NSObject, WCSessionDelegate, @unchecked Sendable {
    struct Seen: Sendable {
        var requests: [String] = []
        var responses: [UUID: String] = [:]
        var states: [String: Data] = [:]
        /// Every value received for a state, in JSON, oldest first.
        var received: [String: [String]] = [:]
        /// States that were set here since they were received.
        var isSetHere: Set<String> = []
        var files: [String] = []
        var notUnderstood = 0
    }

    let session: WCSession
    private let noted = Locked(Seen())
    /// The answers to requests, in JSON, by request type.
    let answers = Locked<[String: String]>([:])
    /// The payloads of the requests that had an answer, in JSON.
    let payloads = Locked<[String]>([])

    init(_ session: WCSession) {
        self.session = session
        super.init()
        session.delegate = self
        session.activate()
    }

    var seen: Seen { noted.withLock { $0 } }

    // MARK: Sending

    static func request(
        _ type: String, _ json: String, id: UUID = UUID(), isFireAndForget: Bool = false,
        at date: Date = Date(timeIntervalSince1970: 1_750_000_000)
    ) -> String {
        """
        {"typeName":"\(type)","payload":"\(Data(json.utf8).base64EncodedString())","requestID":"\(id.uuidString)",\
        "isFireAndForget":\(isFireAndForget),"timestamp":\(date.timeIntervalSinceReferenceDate)}
        """
    }

    func send(_ frame: String) {
        session.sendMessageData(Data(frame.utf8), replyHandler: { self.take(response: $0) }, errorHandler: { _ in })
    }

    func transfer(_ frame: String) {
        session.transferUserInfo(["WatchConnectivitySwift.Request": Data(#"{"request":\#(frame)}"#.utf8)])
    }

    func set(_ json: String, for key: String) throws {
        var context = session.applicationContext
        context["WatchConnectivitySwift.\(key)"] = Data(json.utf8)
        try session.updateApplicationContext(context)
    }

    /// The value that WatchConnectivitySwift shows for a state: the last one received, or one set here since.
    func shown(_ key: String) -> Data? {
        let full = "WatchConnectivitySwift.\(key)"
        if noted.withLock({ $0.isSetHere.contains(key) }) { return session.applicationContext[full] as? Data }
        return seen.states[key] ?? session.receivedApplicationContext[full] as? Data
    }

    func isSetHere(_ key: String) { noted.withLock { _ = $0.isSetHere.insert(key) } }

    // MARK: Receiving

    private func take(response data: Data) {
        guard let response = try? JSONDecoder().decode(WireResponse.self, from: data) else { return }
        let text =
            switch response.outcome {
            case .success(let payload): String(decoding: payload, as: UTF8.self)
            case .failure(let error): "\(error)"
            }
        noted.withLock { $0.responses[response.requestID] = text }
    }

    private func answer(to data: Data) -> Data {
        guard let request = try? JSONDecoder().decode(WireRequest.self, from: data) else {
            noted.withLock { $0.notUnderstood += 1 }
            let error = WatchConnectionError.decodingFailed(description: "not a request")
            return (try? JSONEncoder().encode(WireResponse.failure(error, requestID: UUID()))) ?? Data()
        }
        let response: WireResponse
        if let answer = answers.withLock({ $0[request.typeName] }) {
            noted.withLock { $0.requests.append(request.typeName) }
            payloads.withLock { $0.append(String(decoding: request.payload, as: UTF8.self)) }
            response = .success(Data(answer.utf8), requestID: request.requestID)
        } else {
            response = .failure(.handlerNotRegistered(requestType: request.typeName), requestID: request.requestID)
        }
        return (try? JSONEncoder().encode(response)) ?? Data()
    }

    // MARK: WCSessionDelegate

    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState,
        error: (any Error)?
    ) {}

    func session(
        _ session: WCSession, didReceiveMessageData messageData: Data, replyHandler: @escaping (Data) -> Void
    ) {
        replyHandler(answer(to: messageData))
    }

    func session(_ session: WCSession, didReceiveMessageData messageData: Data) { take(response: messageData) }

    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any]) {
        guard let data = userInfo["WatchConnectivitySwift.Request"] as? Data,
            let frame = try? JSONDecoder().decode([String: WireRequest].self, from: data)["request"],
            let bytes = try? JSONEncoder().encode(frame)
        else { return noted.withLock { $0.notUnderstood += 1 } }
        let response = answer(to: bytes)
        guard !frame.isFireAndForget, session.isReachable else { return }
        session.sendMessageData(response, replyHandler: nil, errorHandler: nil)
    }

    func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {
        noted.withLock { seen in
            for (key, value) in applicationContext where key.hasPrefix("WatchConnectivitySwift.") {
                let name = String(key.dropFirst("WatchConnectivitySwift.".count))
                seen.states[name] = value as? Data
                if let bytes = value as? Data {
                    seen.received[name, default: []].append(String(decoding: bytes, as: UTF8.self))
                }
                seen.isSetHere.remove(name)
            }
        }
    }

    func session(_ session: WCSession, didReceive file: WCSessionFile) {
        let content = (try? String(contentsOf: file.fileURL, encoding: .utf8)) ?? ""
        noted.withLock { $0.files.append("\(file.metadata?["id"] as? String ?? "-"): \(content)") }
    }
}
