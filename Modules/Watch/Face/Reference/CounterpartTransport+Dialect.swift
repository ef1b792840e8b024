import Foundation
import MeshBase
import MeshIdentity
import MeshStorage
import MeshTransport

/// Detection of the counterpart's dialect, as described at the top of CounterpartTransport.swift.
extension CounterpartTransport {
    /// Waits until the dialect is known. Returns at once if the counterpart can't be reached.
    func resolveDialect() async {
        let helloTask = state.withLock { state -> Task<Void, Never>? in
            guard state.dialect == .unknown, state.isReachable else { return nil }
            if state.helloTask == nil { state.helloTask = Task { [weak self] in await self?.sendHello() } }
            return state.helloTask
        }
        await helloTask?.value
    }

    /// Schedules a hello, and repeats it while the session is reachable but the mesh reaches no peer.
    /// - Parameter hasEvidence: True if a frame arrived that the mesh doesn't send. Then the hello is sent at once.
    func scheduleHello(hasEvidence: Bool = false) {
        let delay: Duration? = state.withLock { state in
            guard state.dialect == .mesh, state.isReachable, !state.isHelloScheduled,
                hasEvidence || state.meshPeers.isEmpty
            else { return nil }
            state.isHelloScheduled = true
            state.isProven = false
            if hasEvidence { return .zero }
            return state.helloBackoff.next()
        }
        guard let delay else { return }
        clock.wake(at: clock.elapsed + delay) { [weak self] in
            Task { [weak self] in await self?.repeatHello(anyway: hasEvidence) }
        }
    }

    /// Sends a hello if the session is reachable but the mesh reaches no peer.
    func sendHelloIfSilent(anyway: Bool = false) async {
        let isDue = state.withLock { state in
            state.dialect == .mesh && state.isReachable && (anyway || state.meshPeers.isEmpty)
        }
        if isDue { await sendHello() }
    }

    private func repeatHello(anyway: Bool) async {
        await sendHelloIfSilent(anyway: anyway)
        state.withLock { $0.isHelloScheduled = false }
        scheduleHello()
    }

    func take(_ change: SessionPeerReachability) {
        if let id = change.peer?.id {
            state.withLock { state in
                if change.isReachable { state.meshPeers.insert(id) } else { state.meshPeers.remove(id) }
            }
            if change.isReachable { confirmMeshDialect() }
        }
        inbox.deliver(change)
        scheduleHello()
    }

    /// Notes that the counterpart speaks the mesh's frames.
    func confirmMeshDialect() {
        setDialect(.mesh)
        state.withLock { state in
            guard state.dialect == .mesh else { return }
            state.isProven = true
            state.helloBackoff.reset()
            state.keptRequests = []
        }
    }

    private func sendHello() async {
        let hello = WireRequest(typeName: ReferencePort.helloType, payload: Data("{}".utf8))
        state.withLock { _ = $0.outstandingQueries.insert(hello.requestID, .hello) }
        do {
            if let response = try await port.send(hello) { take(response) }
        } catch {
            state.withLock { _ = $0.outstandingQueries.remove(hello.requestID) }
        }
        state.withLock { $0.helloTask = nil }
    }

    func takeHello(_ response: WireResponse) {
        switch response.outcome {
        case .success(ReferencePort.helloAnswer): confirmMeshDialect()
        case .success, .failure(.handlerNotRegistered), .failure(.decodingFailed):
            setDialect(.reference, isProven: true)
        case .failure: break
        }
    }

    /// - Parameter isProven: True if a hello's answer proves the dialect. Nothing else changes it from mesh.
    func setDialect(_ dialect: Dialect, isProven: Bool = false) {
        // Without a mesh transport, frames that look like the mesh's prove nothing.
        guard !(wrapped is AbsentMesh) || dialect != .mesh else { return }
        let hasChanged = dialectChangeLock.withLock { _ in
            guard change(to: dialect, isProven: isProven) else { return false }
            port.note(dialect)
            dialects.publish(dialect)
            switch dialect {
            case .reference where state.withLock({ $0.isReachable }):
                inbox.deliver(SessionPeerReachability(true, peer: Self.counterpart))
            case .mesh: inbox.deliver(SessionPeerReachability(false, peer: Self.counterpart))
            case .reference, .unknown: break
            }
            return true
        }
        guard hasChanged else { return }
        persistDialect()
        if dialect == .reference { Task { await resendKept() } }
    }

    private func change(to dialect: Dialect, isProven: Bool) -> Bool {
        state.withLock { state in
            guard state.dialect != dialect, state.dialect != .mesh || isProven else { return false }
            state.dialect = dialect
            if dialect == .mesh {
                // An updated app won't answer earlier requests and doesn't wait for answers.
                (state.outstandingQueries, state.unansweredRequests) = (OutstandingQueries(), [])
            } else {
                (state.isProven, state.meshPeers) = (false, [])
            }
            return true
        }
    }

    /// Writes one dialect at a time, the newest last. If the write fails, the next launch detects the dialect again.
    private func persistDialect() {
        guard let store else { return }
        let isFirst = state.withLock { state in
            defer { state.isWriting = true }
            return !state.isWriting
        }
        guard isFirst else { return }
        Task.detached { [state] in
            var written: Dialect?
            while let dialect = state.withLock({ $0.unwritten(after: written) }) {
                var batch = StoreBatch()
                batch.set([UInt8](dialect.rawValue.utf8), for: Self.dialectKey)
                try? store.commit(batch)
                written = dialect
            }
        }
    }
}

extension CounterpartTransport.State {
    /// - Returns: The dialect to write next; nil if the store is up to date.
    fileprivate mutating func unwritten(after written: Dialect?) -> Dialect? {
        isWriting = dialect != written
        return isWriting ? dialect : nil
    }
}
