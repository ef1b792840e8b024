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

/// What a counterpart says that speaks as WatchConnectivitySwift 5 does.
enum ReferenceEvent: Sendable {
    /// - Parameter reply: takes a `WireResponse` in JSON; nil when the answer is to come as a message of its own.
    case request(WireRequest, DeliveryMethod, reply: (@Sendable (Data) -> Void)?)
    case response(WireResponse)
    /// Values of shared states in JSON, by the names of their types.
    /// - Parameter areNew: not what the session has told before.
    case states([String: Data], areNew: Bool)
    /// It looks like one of its frames, and is none.
    case unreadable(typeName: String, reason: String)
    /// The counterpart speaks the mesh's own frames.
    /// - Parameter isProven: false when an app with that library may have left what says so.
    case mesh(isProven: Bool)
    /// - Parameter isReachable: whether messages are taken now.
    case reachability(isReachable: Bool)
    /// The context has been written, or the session has refused it.
    case contextWritten((any Error)?)
}

/// Speaks the frames of WatchConnectivitySwift 5 on a session that it shares with the mesh's link and with the app.
///
/// | lane | frame |
/// |---|---|
/// | message data | `WireRequest` in JSON; the reply is a `WireResponse`, and so is an answer to what came on another lane |
/// | user info | `WatchConnectivitySwift.Request`: `{"request": WireRequest}` in JSON |
/// | application context | `WatchConnectivitySwift.Request` and `….FireAndForget.<id>`: a `WireRequest`; `….<type>`: a shared state |
///
/// Safe to use from any thread. Events come one at a time, on the session's thread.
final class ReferencePort: WatchSessionListener {
    static let prefix = "WatchConnectivitySwift."
    static let requestKey = prefix + "Request"
    static let fireAndForgetPrefix = prefix + "FireAndForget."
    /// A request that nobody has a handler for: what comes back tells which frames the counterpart speaks.
    static let helloType = "SessionMesh.Hello"
    static let helloAnswer = Data(#""sessionmesh""#.utf8)
    /// How long a message may be under way before it counts as sent.
    static let patience = Duration.seconds(1)

    let multiplexer: WatchSessionMultiplexer
    /// Frames are written by a plain encoder, because WatchConnectivitySwift 5 reads them with a plain decoder.
    private let encoder = JSONEncoder()
    private let decoder: JSONDecoder
    let clock: any DeliveryClock
    private let told = Locked(Told())
    private let lastContext = Locked(LastContext())

    private struct LastContext {
        /// Its requests.
        var ids: Set<UUID> = []
        /// Its number, which this library alone changes.
        var number: Int?
        /// The counterpart is known to write as WatchConnectivitySwift 5 does, whatever it has left in its context.
        var isOld = false
    }

    private struct Told {
        var onEvent: (@Sendable (ReferenceEvent) -> Void)?
        /// What has come before anybody listened.
        var early: [ReferenceEvent] = []
    }

    private static let earlyMax = 256

    init(
        multiplexer: WatchSessionMultiplexer, decoder: JSONDecoder, clock: any DeliveryClock
    ) {
        self.multiplexer = multiplexer
        self.decoder = decoder
        self.clock = clock
        multiplexer.attach(self)
    }

    /// Begins to tell, and first what has come before.
    func open(_ onEvent: @escaping @Sendable (ReferenceEvent) -> Void) {
        while let early = nextEarly(before: onEvent) {
            for event in early { onEvent(event) }
        }
        session(.stateChanged, multiplexer.state)
    }

    /// - Returns: nil when nothing is left, so that what comes from now on is told at once.
    private func nextEarly(before onEvent: @escaping @Sendable (ReferenceEvent) -> Void) -> [ReferenceEvent]? {
        told.withLock { told in
            guard !told.early.isEmpty else {
                told.onEvent = onEvent
                return nil
            }
            defer { told.early = [] }
            return told.early
        }
    }

    private func tell(_ event: ReferenceEvent) {
        let onEvent = told.withLock { told in
            if told.onEvent == nil, told.early.count < Self.earlyMax { told.early.append(event) }
            return told.onEvent
        }
        onEvent?(event)
    }
}

// MARK: - Speaking

extension ReferencePort {
    /// Sends a request as a message.
    /// - Returns: the response; nil when it takes longer than `patience`, and then it is an event.
    /// - Throws: `ConnectionError`, also what the counterpart's system says.
    func send(_ request: WireRequest) async throws -> WireResponse? {
        let bytes = try encoder.encode(request)
        let first = FirstResult<WireResponse?>()
        // Also what nobody waits for asks for a reply: without it the counterpart would not handle the request.
        multiplexer.session.sendMessageData(
            bytes,
            replyHandler: { [weak self] reply in
                guard let self else { return }
                let response = response(reply, to: request)
                if !first.resolve(.success(response)) { tell(.response(response)) }
            },
            errorHandler: { [weak self] error in
                let error = ConnectionError(error: error)
                guard !first.resolve(.failure(error)) else { return }
                self?.tell(.response(.failure(error, requestID: request.requestID)))
            })
        clock.wake(at: clock.elapsed + Self.patience) { first.resolve(.success(nil)) }
        return try await first.value()
    }

    /// Queues a request. The answer is an event.
    func transfer(_ request: WireRequest) throws {
        let bytes = try encoder.encode(WireUserInfo(request: request))
        multiplexer.session.transferUserInfo([Self.requestKey: bytes])
    }

    /// Makes the request what the one slot in the context holds; nil empties it.
    func publish(_ request: WireRequest?) throws {
        try multiplexer.context.set(request.map { try encoder.encode($0) }, for: Self.requestKey)
    }

    /// - Parameters:
    ///   - value: in JSON; nil takes it out of the context.
    ///   - note: nil leaves the one that is there.
    func publish(state value: Data?, _ note: StateNote?, typeName: String) throws {
        var values: [String: Data?] = [:]
        values.updateValue(value, forKey: Self.prefix + typeName)
        if let note { values[StateNote.key(typeName)] = note.data }
        try multiplexer.context.set(values)
    }

    /// Answers what came on another lane than the message's.
    func send(_ response: WireResponse) {
        guard let bytes = try? encoder.encode(response) else { return }
        multiplexer.session.sendMessageData(bytes, replyHandler: nil, errorHandler: nil)
    }

    func encoded(_ response: WireResponse) -> Data { (try? encoder.encode(response)) ?? Data() }

    var isOld: Bool { lastContext.withLock { $0.isOld } }
    func note(_ dialect: Dialect) { lastContext.withLock { $0.isOld = dialect == .reference } }

    /// Whether the session's contexts can be read.
    var isActive: Bool { multiplexer.session.activationState == .activated }

    /// What the contexts say of the state of that type.
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
            let reason = "its reply to \(request.typeName) is no response"
            return .failure(.incompatiblePeer(reason: reason), requestID: request.requestID)
        }
        if response.requestID == request.requestID { return response }
        // A mock's response perhaps, which was made before: whoever gave it speaks those frames.
        if request.typeName == Self.helloType { return .success(Data(), requestID: request.requestID) }
        let error = ConnectionError.replyFailed(reason: "the reply is to \(response.requestID), another request")
        return .failure(error, requestID: request.requestID)
    }

    /// Reads a frame with a plain decoder, and if that fails with the app's. The app's first could take the frame's date
    /// for another.
    private func decode<Value: Decodable>(_ type: Value.Type, _ bytes: Data) -> Value? {
        (try? JSONDecoder().decode(type, from: bytes)) ?? (try? decoder.decode(type, from: bytes))
    }
}

// MARK: - Listening

extension ReferencePort {
    func session(_ event: WatchSessionEvent, _ state: WCSessionState) {
        tell(.reachability(isReachable: state.activationState == .activated && state.isReachable))
    }

    func take(_ content: WatchSessionContent) -> Bool {
        switch content {
        case .data(let bytes, let reply): take(bytes, reply)
        case .userInfo(let content): take(userInfo: content)
        case .finishedUserInfo(let transfer, _): transfer.userInfo[Self.requestKey] != nil
        case .message, .file, .finishedFile: false
        }
    }

    func contextWasWritten(error: (any Error)?) { tell(.contextWritten(error)) }

    func owns(contextKey: String) -> Bool { contextKey.hasPrefix(Self.prefix) }

    func takeContext(_ context: [String: Any], isNew: Bool) {
        let number = context[ApplicationContextWriter.numberKey] as? Int
        let before = lastContext.withLock { last in
            defer { last.number = number }
            return last.number
        }
        if context.keys.contains(where: { $0.hasPrefix(WatchSessionMultiplexer.prefix) }) {
            // An app that went back to WatchConnectivitySwift 5 leaves the mesh's keys as they are.
            tell(.mesh(isProven: number != nil && before != nil && number != before))
        }
        takeRequests(context)
        let states = states(in: context)
        // What this library writes beside other things need not have been changed.
        let isMesh = context.keys.contains { $0.hasPrefix(WatchSessionMultiplexer.prefix) }
        if !states.isEmpty { tell(.states(states, areNew: isNew && !isMesh)) }
    }

    private func takeRequests(_ context: [String: Any]) {
        // Whoever writes the mesh's keys understands them: requests beside them are for others, or have come that way.
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
            tell(.request(request, .latest, reply: nil))
        }
    }

    /// But for those that the mesh brings with their versions: what a note fits was written by this library.
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
                tell(.mesh(isProven: true))
            } else {
                tell(.request(request, .live, reply: handler?.call))
            }
            return true
        }
        if let response = decode(WireResponse.self, bytes) {
            tell(.response(response))
            return true
        }
        guard let frame = try? JSONDecoder().decode(UnreadableFrame.self, from: bytes), frame.isMeant else {
            return false
        }
        let reason = "a frame of WatchConnectivitySwift that cannot be read"
        handler?.call(encoded(.failure(.decodingFailed(description: reason), requestID: frame.id)))
        tell(.unreadable(typeName: frame.typeName ?? "response", reason: reason))
        return true
    }

    private func take(userInfo: [String: Any]) -> Bool {
        guard let value = userInfo[Self.requestKey] else { return false }
        if let bytes = value as? Data, let frame = decode(WireUserInfo.self, bytes) {
            tell(.request(frame.request, .queue, reply: nil))
        } else {
            tell(
                .unreadable(typeName: "user info", reason: "a user info of WatchConnectivitySwift that cannot be read"))
        }
        return true
    }
}

/// What a frame must have at least to be taken for one.
private struct UnreadableFrame: Decodable {
    let requestID: String?
    let typeName: String?

    var id: UUID { requestID.flatMap(UUID.init(uuidString:)) ?? UUID() }
    var isMeant: Bool { requestID != nil }
}

/// The session's handlers are not declared to be what they are: callable once, from any thread.
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

/// The first of several results; one waits for it.
final class FirstResult<Value: Sendable>: Sendable {
    private struct State {
        var result: Result<Value, any Error>?
        var waiter: CheckedContinuation<Value, any Error>?
    }

    private let state = Locked(State())

    /// - Returns: whether it was the first.
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

    /// Ends with `ConnectionError.cancelled` when the waiting task is cancelled.
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
