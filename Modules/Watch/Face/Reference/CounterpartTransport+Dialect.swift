import Foundation
import MeshBase
import MeshIdentity
import MeshStorage
import MeshTransport

/// Which frames the counterpart speaks.
extension CounterpartTransport {
    /// Waits until it is known which frames the counterpart speaks, if it can be asked.
    func settle() async {
        let asking = state.withLock { state -> Task<Void, Never>? in
            guard state.dialect == .unknown, state.isReachable else { return nil }
            if state.asking == nil { state.asking = Task { [weak self] in await self?.ask() } }
            return state.asking
        }
        await asking?.value
    }

    /// Asks what the counterpart speaks, in a while and again, for as long as the mesh hears nobody where somebody is.
    /// - Parameter evidence: something has come that the mesh does not send.
    func doubt(because evidence: Bool = false) {
        let delay: Duration? = state.withLock { state in
            guard state.dialect == .mesh, state.isReachable, !state.isDoubtPlanned, evidence || state.meshPeers.isEmpty
            else { return nil }
            state.isDoubtPlanned = true
            state.isProven = false
            if evidence { return .zero }
            return state.doubt.next()
        }
        guard let delay else { return }
        clock.wake(at: clock.elapsed + delay) { [weak self] in
            Task { [weak self] in await self?.askAgain(anyway: evidence) }
        }
    }

    /// Asks a counterpart that is there and that the mesh does not hear.
    func askIfSilent(anyway: Bool = false) async {
        let isDue = state.withLock { state in
            state.dialect == .mesh && state.isReachable && (anyway || state.meshPeers.isEmpty)
        }
        if isDue { await ask() }
    }

    private func askAgain(anyway: Bool) async {
        await askIfSilent(anyway: anyway)
        state.withLock { $0.isDoubtPlanned = false }
        doubt()
    }

    func take(_ change: SessionPeerReachability) {
        if let id = change.peer?.id {
            state.withLock { state in
                if change.isReachable { state.meshPeers.insert(id) } else { state.meshPeers.remove(id) }
            }
            if change.isReachable { prove() }
        }
        inbox.deliver(change)
        doubt()
    }

    /// The counterpart speaks the mesh's frames.
    func prove() {
        become(.mesh)
        state.withLock { state in
            guard state.dialect == .mesh else { return }
            state.isProven = true
            state.doubt.reset()
            state.kept = []
        }
    }

    private func ask() async {
        let hello = WireRequest(typeName: ReferencePort.helloType, payload: Data("{}".utf8))
        state.withLock { _ = $0.asked.ask(hello.requestID, .hello) }
        do {
            if let response = try await port.send(hello) { take(response) }
        } catch {
            state.withLock { _ = $0.asked.remove(hello.requestID) }
        }
        state.withLock { $0.asking = nil }
    }

    func takeHello(_ response: WireResponse) {
        switch response.outcome {
        case .success(ReferencePort.helloAnswer): prove()
        case .success, .failure(.handlerNotRegistered), .failure(.decodingFailed): become(.reference, isProven: true)
        case .failure: break
        }
    }

    /// - Parameter isProven: it has been asked; otherwise whoever has spoken the mesh's frames is not taken for less.
    func become(_ dialect: Dialect, isProven: Bool = false) {
        // Where there is no mesh, whatever looks like it is a copy of something.
        guard !(wrapped is AbsentMesh) || dialect != .mesh else { return }
        let hasChanged = becoming.withLock { _ in
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
        writeDown()
        if dialect == .reference { Task { await resendKept() } }
    }

    private func change(to dialect: Dialect, isProven: Bool) -> Bool {
        state.withLock { state in
            guard state.dialect != dialect, state.dialect != .mesh || isProven else { return false }
            state.dialect = dialect
            if dialect == .mesh {
                // An app that has been updated answers nothing that it was asked before, and waits for no answer.
                (state.asked, state.owed) = (Questions(), [])
            } else {
                (state.isProven, state.meshPeers) = (false, [])
            }
            return true
        }
    }

    /// One at a time, and the newest last. Lost, it is found out again.
    private func writeDown() {
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
    /// - Returns: what is to be written; nil when that is done.
    fileprivate mutating func unwritten(after written: Dialect?) -> Dialect? {
        isWriting = dialect != written
        return isWriting ? dialect : nil
    }
}
