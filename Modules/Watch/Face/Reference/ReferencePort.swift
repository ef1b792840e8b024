import Foundation
import MeshBase
import MeshConnection
import MeshTransport
import MeshWatchConnectivityTransport

#if canImport(WatchConnectivity)
    import WatchConnectivity
#else
    import MeshSimulatedWatch
#endif

/// An event from a counterpart that speaks WatchConnectivitySwift 5's frames.
enum ReferenceEvent: Sendable {
    /// - Parameter reply: Takes a `WireResponse` in JSON; nil if the answer must be a separate message.
    case request(WireRequest, DeliveryMethod, reply: (@Sendable (Data) -> Void)?)
    case response(WireResponse)
    /// Values of shared states in JSON, keyed by type name.
    /// - Parameter areNew: True if the session reports them for the first time.
    case states([String: Data], areNew: Bool)
    /// Data that looks like a frame but can't be decoded.
    case unreadable(typeName: String, reason: String)
    /// The counterpart wrote something in the mesh's frames.
    /// - Parameter isProven: False if an app that went back to WatchConnectivitySwift 5 may have left it behind.
    case mesh(isProven: Bool)
    /// - Parameter isReachable: True if the counterpart accepts messages now.
    case reachability(isReachable: Bool)
    /// The context has been written, or the session refused it with this error.
    case contextWritten((any Error)?)
}

/// Speaks WatchConnectivitySwift 5's frames on a session shared with the mesh's link and the app.
///
/// | lane | frame |
/// |---|---|
/// | message data | `WireRequest` in JSON, replied to with a `WireResponse`; a `WireResponse` to another lane's request |
/// | user info | `WatchConnectivitySwift.Request`: `{"request": WireRequest}` in JSON |
/// | application context | `WatchConnectivitySwift.Request` and `….FireAndForget.<id>`: a `WireRequest`; `….<type>`: a shared state |
///
/// Safe to use from any thread. Events are reported on the session's threads. Events from before `open` are reported on
/// the thread that calls `open`.
final class ReferencePort: WatchSessionListener {
    static let prefix = "WatchConnectivitySwift."
    static let requestKey = prefix + "Request"
    static let fireAndForgetPrefix = prefix + "FireAndForget."
    /// A request type without a handler in any app. The answer reveals the counterpart's dialect.
    static let helloType = "SessionMesh.Hello"
    static let helloAnswer = Data(#""sessionmesh""#.utf8)
    /// The time after which a message without a reply counts as sent.
    static let replyTimeout = Duration.seconds(1)

    let multiplexer: WatchSessionMultiplexer
    /// A plain encoder, because WatchConnectivitySwift 5 decodes frames with a plain decoder.
    private let encoder = JSONEncoder()
    private let decoder: JSONDecoder
    let clock: any DeliveryClock
    private let sink = Locked(EventSink())
    private let lastContext = Locked(LastContext())

    private struct LastContext {
        /// IDs of the requests in the last context.
        var ids: Set<UUID> = []
        /// The context's number, which only this library changes.
        var number: Int?
        /// True if the counterpart is known to speak the reference dialect, even if its context still has the mesh's
        /// keys.
        var isOld = false
    }

    private struct EventSink {
        var onEvent: (@Sendable (ReferenceEvent) -> Void)?
        /// Events from before `open`, at most `undeliveredMax`.
        var undelivered: [ReferenceEvent] = []
    }

    private static let undeliveredMax = 256

    init(
        multiplexer: WatchSessionMultiplexer, decoder: JSONDecoder, clock: any DeliveryClock
    ) {
        self.multiplexer = multiplexer
        self.decoder = decoder
        self.clock = clock
        multiplexer.attach(self)
    }

    /// Starts reporting events, beginning with those that arrived earlier.
    func open(_ onEvent: @escaping @Sendable (ReferenceEvent) -> Void) {
        while let events = nextUndelivered(before: onEvent) {
            for event in events { onEvent(event) }
        }
        session(.stateChanged, multiplexer.state)
    }

    /// - Returns: nil if no undelivered events are left. From then on events are reported at once.
    private func nextUndelivered(before onEvent: @escaping @Sendable (ReferenceEvent) -> Void) -> [ReferenceEvent]? {
        sink.withLock { sink in
            guard !sink.undelivered.isEmpty else {
                sink.onEvent = onEvent
                return nil
            }
            defer { sink.undelivered = [] }
            return sink.undelivered
        }
    }

    private func report(_ event: ReferenceEvent) {
        let onEvent = sink.withLock { sink in
            if sink.onEvent == nil, sink.undelivered.count < Self.undeliveredMax { sink.undelivered.append(event) }
            return sink.onEvent
        }
        onEvent?(event)
    }
}

// MARK: - Sending

extension ReferencePort {
    /// Sends a request as a message.
    /// - Returns: The response; nil if it takes longer than `replyTimeout`. Then it is reported as an event.
    /// - Throws: `ConnectionError`, including errors reported by the system.
    func send(_ request: WireRequest) async throws -> WireResponse? {
        let bytes = try encoder.encode(request)
        let first = FirstResult<WireResponse?>()
        // WatchConnectivitySwift 5 handles only messages that ask for a reply, so fire-and-forget requests ask for one
        // too.
        multiplexer.session.sendMessageData(
            bytes,
            replyHandler: { [weak self] reply in
                guard let self else { return }
                let response = response(reply, to: request)
                if !first.resolve(.success(response)) { report(.response(response)) }
            },
            errorHandler: { [weak self] error in
                let error = ConnectionError(error: error)
                guard !first.resolve(.failure(error)) else { return }
                self?.report(.response(.failure(error, requestID: request.requestID)))
            })
        clock.wake(at: clock.elapsed + Self.replyTimeout) { first.resolve(.success(nil)) }
        return try await first.value()
    }

    /// Queues a request. Its answer arrives as an event.
    func transfer(_ request: WireRequest) throws {
        let bytes = try encoder.encode(WireUserInfo(request: request))
        multiplexer.session.transferUserInfo([Self.requestKey: bytes])
    }

    /// Puts the request into the context's single request slot; nil empties the slot.
    func publish(_ request: WireRequest?) throws {
        try multiplexer.context.set(request.map { try encoder.encode($0) }, for: Self.requestKey)
    }

    /// Sets or removes a state in the context.
    /// - Parameters:
    ///   - value: The value in JSON; nil removes it.
    ///   - note: nil keeps the existing note.
    func publish(state value: Data?, _ note: StateNote?, typeName: String) throws {
        var values: [String: Data?] = [:]
        values.updateValue(value, forKey: Self.prefix + typeName)
        if let note { values[StateNote.key(typeName)] = note.data }
        try multiplexer.context.set(values)
    }

    /// Answers a request that didn't arrive as a message with a reply handler.
    func send(_ response: WireResponse) {
        guard let bytes = try? encoder.encode(response) else { return }
        multiplexer.session.sendMessageData(bytes, replyHandler: nil, errorHandler: nil)
    }

    func encoded(_ response: WireResponse) -> Data { (try? encoder.encode(response)) ?? Data() }

    var isOld: Bool { lastContext.withLock { $0.isOld } }
    func note(_ dialect: Dialect) { lastContext.withLock { $0.isOld = dialect == .reference } }

    /// True if the session's contexts can be read.
    var isActive: Bool { multiplexer.session.activationState == .activated }

    /// Returns the contents of both contexts for a state.
    func history(of typeName: String) -> StateHistory {
        let session = multiplexer.session
        let (own, received) = (session.applicationContext, session.receivedApplicationContext)
        let (key, noteKey) = (Self.prefix + typeName, StateNote.key(typeName))
        return StateHistory(
            own: own[key] as? Data, received: received[key] as? Data, note: StateNote(own[noteKey] as? Data),
            theirs: StateNote(received[noteKey] as? Data))
    }

    private func response(_ bytes: Data, to request: WireRequest) -> WireResponse {
        guard let response = decode(WireResponse.self, bytes) else {
            let reason = "its reply to \(request.typeName) isn't a response"
            return .failure(.incompatiblePeer(reason: reason), requestID: request.requestID)
        }
        if response.requestID == request.requestID { return response }
        // A mock session may return a prepared response with another ID. Any response shows that it speaks these
        // frames.
        if request.typeName == Self.helloType { return .success(Data(), requestID: request.requestID) }
        let error = ConnectionError.replyFailed(reason: "the reply is to another request, \(response.requestID)")
        return .failure(error, requestID: request.requestID)
    }

    /// Decodes a frame with a plain decoder first. The app's decoder could misread the frame's date, so it comes
    /// second.
    private func decode<Value: Decodable>(_ type: Value.Type, _ bytes: Data) -> Value? {
        (try? JSONDecoder().decode(type, from: bytes)) ?? (try? decoder.decode(type, from: bytes))
    }
}

// MARK: - Receiving

extension ReferencePort {
    func session(_ event: WatchSessionEvent, _ state: WCSessionState) {
        report(.reachability(isReachable: state.activationState == .activated && state.isReachable))
    }

    func take(_ content: WatchSessionContent) -> Bool {
        switch content {
        case .data(let bytes, let reply): take(bytes, reply)
        case .userInfo(let content): take(userInfo: content)
        case .finishedUserInfo(let transfer, _): transfer.userInfo[Self.requestKey] != nil
        case .message, .file, .finishedFile: false
        }
    }

    func contextWasWritten(error: (any Error)?) { report(.contextWritten(error)) }

    func owns(contextKey: String) -> Bool { contextKey.hasPrefix(Self.prefix) }

    func takeContext(_ context: [String: Any], isNew: Bool) {
        let number = context[ApplicationContextWriter.numberKey] as? Int
        let before = lastContext.withLock { last in
            defer { last.number = number }
            return last.number
        }
        if context.keys.contains(where: { $0.hasPrefix(WatchSessionMultiplexer.prefix) }) {
            // An app that went back to WatchConnectivitySwift 5 leaves the mesh's keys in place. So only a new number
            // proves that the mesh wrote the context.
            report(.mesh(isProven: number != nil && before != nil && number != before))
        }
        takeRequests(context)
        let states = states(in: context)
        // A context of this library repeats states that haven't changed, so they don't count as new.
        let isMesh = context.keys.contains { $0.hasPrefix(WatchSessionMultiplexer.prefix) }
        if !states.isEmpty { report(.states(states, areNew: isNew && !isMesh)) }
    }

    private func takeRequests(_ context: [String: Any]) {
        // Requests in a mesh counterpart's context also arrive in mesh frames, or are meant for an older version of
        // this app.
        let isMesh = context.keys.contains { $0.hasPrefix(WatchSessionMultiplexer.prefix) }
        guard !isMesh || lastContext.withLock({ $0.isOld }) else { return }
        let requests = context.keys.filter { $0 == Self.requestKey || $0.hasPrefix(Self.fireAndForgetPrefix) }
            .sorted().compactMap { context[$0] as? Data }.compactMap { decode(WireRequest.self, $0) }
        let ids = Set(requests.map(\.requestID))
        let known = lastContext.withLock { last in
            defer { last.ids = ids }
            return last.ids
        }
        for request in requests where !known.contains(request.requestID) {
            report(.request(request, .latest, reply: nil))
        }
    }

    /// Returns the context's states, except those with a matching note: this library wrote them, and the mesh sends
    /// them.
    private func states(in context: [String: Any]) -> [String: Data] {
        var states: [String: Data] = [:]
        for (key, value) in context {
            guard key.hasPrefix(Self.prefix), key != Self.requestKey, !key.hasPrefix(Self.fireAndForgetPrefix),
                let bytes = value as? Data
            else { continue }
            let name = String(key.dropFirst(Self.prefix.count))
            let note = StateNote(context[StateNote.key(name)] as? Data)
            if note?.own != StateNote.hash(bytes) { states[name] = bytes }
        }
        return states
    }

    private func take(_ bytes: Data, _ reply: ((Data) -> Void)?) -> Bool {
        guard bytes.first == UInt8(ascii: "{") else { return false }
        let handler = reply.map(ReplyHandler.init)
        if let request = decode(WireRequest.self, bytes) {
            if request.typeName == Self.helloType {
                handler?.call(encoded(.success(Self.helloAnswer, requestID: request.requestID)))
                report(.mesh(isProven: true))
            } else {
                report(.request(request, .live, reply: handler?.call))
            }
            return true
        }
        if let response = decode(WireResponse.self, bytes) {
            report(.response(response))
            return true
        }
        guard let frame = try? JSONDecoder().decode(UnreadableFrame.self, from: bytes), frame.isMeant else {
            return false
        }
        let reason = "can't decode a frame of WatchConnectivitySwift"
        handler?.call(encoded(.failure(.decodingFailed(description: reason), requestID: frame.id)))
        report(.unreadable(typeName: frame.typeName ?? "response", reason: reason))
        return true
    }

    private func take(userInfo: [String: Any]) -> Bool {
        guard let value = userInfo[Self.requestKey] else { return false }
        if let bytes = value as? Data, let frame = decode(WireUserInfo.self, bytes) {
            report(.request(frame.request, .queue, reply: nil))
        } else {
            report(
                .unreadable(typeName: "user info", reason: "can't decode a user info of WatchConnectivitySwift"))
        }
        return true
    }
}

/// The minimal content that identifies a frame.
private struct UnreadableFrame: Decodable {
    let requestID: String?
    let typeName: String?

    var id: UUID { requestID.flatMap(UUID.init(uuidString:)) ?? UUID() }
    var isMeant: Bool { requestID != nil }
}

/// Calls a session's reply handler at most once. Unchecked: WatchConnectivity allows calls from any thread, but doesn't
/// declare the handler `Sendable`.
private final class ReplyHandler: @unchecked Sendable {
    private let reply: (Data) -> Void
    private let isCalled = Locked(false)

    init(_ reply: @escaping (Data) -> Void) {
        self.reply = reply
    }

    @Sendable func call(_ bytes: Data) {
        let isFirst = isCalled.withLock { isCalled in
            defer { isCalled = true }
            return !isCalled
        }
        if isFirst { reply(bytes) }
    }
}

/// A result that is set once; one caller waits for it.
final class FirstResult<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiter: CheckedContinuation<Value, any Error>?
    }

    private let state = Locked(State())

    /// - Returns: True if this result was the first.
    @discardableResult
    func resolve(_ result: Result<Value, any Error>) -> Bool {
        let (isFirst, waiter) = state.withLock { state in
            guard state.result == nil else { return (false, nil as CheckedContinuation<Value, any Error>?) }
            state.result = result
            defer { state.waiter = nil }
            return (true, state.waiter)
        }
        waiter?.resume(with: result)
        return isFirst
    }

    /// Waits for the result. Throws `ConnectionError.cancelled` if the waiting task is cancelled.
    func value() async throws -> Value {
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state in
                    if state.result == nil { state.waiter = continuation }
                    return state.result
                }
                if let result { continuation.resume(with: result) }
            }
        } onCancel: {
            resolve(.failure(ConnectionError.cancelled))
        }
    }
}
