import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRequests
import MeshTransport

/// Requests and answers in WatchConnectivitySwift 5's frames.
extension CounterpartTransport {
    /// - Throws: The session's error. The request then counts as not delivered.
    func send(_ message: RequestMessage) async throws {
        switch RequestMessage.Kind(rawValue: message.kind) {
        case .request: try await sendRequest(message)
        case .probe: try await sendProbe(message)
        case .answer: answer(message, .success(message.body))
        case .failure: answer(message, .failure(message.error.forReferencePeers))
        case .handlerFailure: answer(message, .failure(.handlerError(description: message.errorDescription ?? "")))
        case .late: answer(message, .failure(.timeout))
        case RequestMessage.Kind.none?: try port.publish(nil)
        case .received: release(message.id)
        case .echo, nil: break
        }
    }

    private func sendRequest(_ message: RequestMessage) async throws {
        let isFireAndForget = message.isFireAndForget ?? false
        let request = WireRequest(
            typeName: names.reference(message.type), payload: message.legacyBody?() ?? message.body,
            requestID: message.id,
            isFireAndForget: isFireAndForget, timestamp: clock.wall)
        let kind = isFireAndForget ? OutstandingQueries.Kind.fireAndForget : .request(type: message.type)
        let isFirst = state.withLock { $0.outstandingQueries.insert(message.id, kind) }
        do {
            switch message.method ?? .live {
            case .latest where !isFireAndForget: try port.publish(request)
            // The request was already sent, and the counterpart would run a second copy as another request.
            case _ where !isFirst: return
            case .live:
                // The system reports whether the message arrived.
                let response = try await port.send(request)
                inject(RequestMessage(.received, id: message.id, type: message.type))
                if let response { take(response) }
                return
            // WatchConnectivitySwift 5 doesn't read fire-and-forget requests from the context slot, so they are queued.
            case .queue, .latest: try port.transfer(request)
            }
            inject(RequestMessage(.received, id: message.id, type: message.type))
        } catch {
            if isFirst { state.withLock { _ = $0.outstandingQueries.remove(message.id) } }
            throw error
        }
    }

    private func sendProbe(_ message: RequestMessage) async throws {
        let hello = WireRequest(typeName: ReferencePort.helloType, payload: Data("{}".utf8), requestID: message.id)
        state.withLock { _ = $0.outstandingQueries.insert(message.id, .probe) }
        if let response = try await port.send(hello) { take(response) }
    }

    func take(_ event: ReferenceEvent) {
        switch event {
        case .mesh(isProven: true): confirmMeshDialect()
        case .mesh(isProven: false):
            if dialect == .unknown { setDialect(.mesh) }
            scheduleHello()
        case .states(let states, let areNew):
            noteReferenceFrame()
            state.withLock { $0.onStates }?(states, areNew)
        case .reachability(let isReachable): take(isReachable)
        case .request(let request, let method, let reply):
            noteReferenceFrame()
            take(request, method, reply)
        case .response(let response): take(response)
        case .contextWritten(let error): state.withLock { $0.onContextWritten }?(error)
        case .unreadable(let typeName, let reason):
            state.withLock { $0.onIncompatible }?(typeName, reason)
        }
    }

    private func noteReferenceFrame() {
        if dialect == .unknown { setDialect(.reference) } else { scheduleHello(hasEvidence: true) }
    }

    private func take(_ isReachable: Bool) {
        state.withLock { $0.onSession }?()
        let (hasChanged, dialect, responses) = state.withLock { state in
            let hasChanged = state.isReachable != isReachable
            state.isReachable = isReachable
            guard isReachable else { return (hasChanged, state.dialect, [WireResponse]()) }
            defer { state.pendingResponses = [] }
            return (hasChanged, state.dialect, state.pendingResponses)
        }
        for response in responses { port.send(response) }
        if dialect == .reference, hasChanged {
            inbox.deliver(SessionPeerReachability(isReachable, peer: Self.counterpart))
        }
        if dialect == .unknown, isReachable { Task { await resolveDialect() } }
        scheduleHello()
    }

    private func take(_ request: WireRequest, _ method: DeliveryMethod, _ reply: (@Sendable (Data) -> Void)?) {
        if reply != nil || !request.isFireAndForget {
            state.withLock { state in
                if state.unansweredRequests.count == Self.repliesMax { state.unansweredRequests.removeFirst() }
                state.unansweredRequests.append(
                    UnansweredRequest(id: request.requestID, isFireAndForget: request.isFireAndForget, reply: reply))
            }
        }
        var message = RequestMessage(
            .request, id: request.requestID, type: names.own(request.typeName), body: request.payload)
        message.method = method
        message.isFireAndForget = request.isFireAndForget
        if method == .latest {
            message.expiresAt =
                (request.timestamp + TimeInterval(Self.lifetime.components.seconds)).millisecondsSince1970
        }
        inject(message)
    }

    func take(_ response: WireResponse) {
        let query = state.withLock { $0.outstandingQueries.remove(response.requestID) }
        switch query {
        case .hello: takeHello(response)
        case .probe:
            takeHello(response)
            inject(RequestMessage(.echo, id: response.requestID, type: ""))
        case .request(let type):
            noteReferenceFrame()
            inject(response.message(type: type))
        case .fireAndForget, nil: noteReferenceFrame()
        }
    }

    /// Answers a request through its reply handler, or with a message once the counterpart is reachable.
    private func answer(_ message: RequestMessage, _ outcome: WireResponse.Outcome) {
        let response = WireResponse(outcome: outcome, requestID: message.id, timestamp: clock.wall)
        let requests = state.withLock { state in
            defer { state.unansweredRequests.removeAll { $0.id == message.id } }
            return state.unansweredRequests.filter { $0.id == message.id }
        }
        for reply in requests.compactMap(\.reply) { reply(port.encoded(response)) }
        guard requests.isEmpty || requests.contains(where: { $0.reply == nil }) else { return }
        // WatchConnectivitySwift 5 doesn't wait for this answer.
        guard message.isFireAndForget != true else { return }
        let isReachable = state.withLock { state in
            if state.isReachable { return true }
            if state.pendingResponses.count == Self.repliesMax { state.pendingResponses.removeFirst() }
            state.pendingResponses.append(response)
            return false
        }
        if isReachable { port.send(response) }
    }

    /// Forgets a fire-and-forget request, which gets no answer.
    private func release(_ id: UUID) {
        state.withLock { $0.unansweredRequests.removeAll { $0.isFireAndForget && $0.id == id } }
    }

    private func inject(_ message: RequestMessage) {
        var message = message
        message.isLegacyJSON = true
        let metadata = SessionSyncMetadata(
            sessionID: TransportConnection.sharedScope, featureID: RequestMessage.featureID,
            sourcePeerID: Self.counterpart.id, sequence: 0, causalTimestamp: clock.wall,
            payloadType: RequestMessage.payloadType)
        guard let envelope = try? AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: message))
        else { return }
        state.withLock { $0.deliver }?(envelope)
    }
}

extension WireResponse {
    fileprivate func message(type: String) -> RequestMessage {
        switch outcome {
        case .success(let payload): RequestMessage(.answer, id: requestID, type: type, body: payload)
        case .failure(let error): .failure(error, id: requestID, type: type)
        }
    }
}
