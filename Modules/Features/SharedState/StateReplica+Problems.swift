import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
public import MeshTransport

// Lasting problems that keep peers from having the same state.
extension StateReplica {
    static var featurePrefix: String { "sessionmesh.state/" }

    /// A peer that seems to have another state in place of this one.
    struct Suspect {
        let featureID: String
        let sessionID: UUID
        let problem: SessionProblem
        var isReported = false
    }

    var id: String { String(featureID.dropFirst(Self.featurePrefix.count)) }
    private var subject: String { "the shared state '\(id)'" }

    // MARK: Refused messages

    /// Reports a problem. The peer counts as lacking this value until one of its messages is accepted.
    func report(_ problem: SessionProblem, of sender: String) {
        guard refused.contains(sender) || refused.count < StateLimits.peersMax else { return }
        refused.insert(sender)
        board.report(problem)
    }

    func reportMerge(_ kind: StateRegister.Kind, of sender: String) {
        report(
            SessionProblem(
                .differentMerge, of: sender,
                "\(subject) is merged by .\(kind) on '\(sender)' and by .\(register.kind) on this device",
                advice: "Give both apps the same merge."), of: sender)
    }

    func reportVersion(_ error: any Error, of sender: String) {
        report(
            SessionProblem(
                .incompatiblePeer, of: sender, "\(subject) of '\(sender)' can't be read here: \(error)",
                advice: "Update the app on both devices."), of: sender)
    }

    /// Drops the suspicion against a peer: it has this state.
    func clearSuspicion(of peerID: String) {
        guard let suspect = suspects.removeValue(forKey: peerID) else { return }
        if cleared.count < StateLimits.peersMax { cleared.insert(peerID) }
        board.solve(suspect.problem.code, of: peerID)
    }

    /// Solves a peer's problems, because one of its messages was accepted or the peer was forgotten.
    func solveProblems(of peerID: String) {
        clearSuspicion(of: peerID)
        guard refused.remove(peerID) != nil else { return }
        board.solve(.differentMerge, of: peerID)
        board.solve(.incompatiblePeer, of: peerID)
    }

    // MARK: Other IDs

    /// Suspects a peer that announces another state, or this state in another session. Two apps may have given one state two IDs.
    /// Reported only if the peer's state has the same fields, this device has no `SharedState` with its ID, and the peer is
    /// reachable but doesn't answer for this state within two seconds.
    func receiveOtherState(_ snapshot: AnySessionSyncSnapshot) {
        let (metadata, sender) = (snapshot.metadata, snapshot.metadata.sourcePeerID)
        guard metadata.featureID.hasPrefix(Self.featurePrefix), sender != connection.transport.localPeer.id,
            suspects[sender] == nil, !cleared.contains(sender), suspects.count < StateLimits.peersMax,
            connection.transport.knownPeers.contains(where: { $0.id == sender }), !excludedPeers.contains(sender),
            !StateRegistry.has(metadata.featureID, metadata.sessionID, near: self),
            let problem = difference(snapshot)
        else { return }
        suspects[sender] = Suspect(
            featureID: metadata.featureID, sessionID: metadata.sessionID, problem: problem)
        scheduleExchange(with: sender)
        work()
        connection.clock.wake(at: connection.clock.elapsed + StateLimits.answerTime) { [weak self] in
            Task { @MainActor [weak self] in self?.evaluateSuspect(sender) }
        }
    }

    private func difference(_ snapshot: AnySessionSyncSnapshot) -> SessionProblem? {
        let (metadata, sender) = (snapshot.metadata, snapshot.metadata.sourcePeerID)
        if metadata.featureID == featureID {
            return SessionProblem(
                .differentSession, of: sender,
                "\(subject) is in the session \(metadata.sessionID) on '\(sender)' and in \(connection.sessionID) on this device",
                advice: "Give both connections the same sessionID:.")
        }
        guard metadata.sessionID == connection.sessionID, metadata.payloadType == StateMessage.payloadType,
            let shape = try? snapshot.decodeState(as: StateMessage.self).shape, shape == coder.shape
        else { return nil }
        let other = metadata.featureID.dropFirst(Self.featurePrefix.count)
        return SessionProblem(
            .differentID, of: sender,
            "'\(sender)' shares '\(other)' and no '\(id)', this device shares '\(id)' and no '\(other)', with the same fields",
            advice:
                "Give both the same id:. By default it is the type's name, with the names of the types that it is nested in."
        )
    }

    private func evaluateSuspect(_ sender: String) {
        guard let suspect = suspects[sender] else { return }
        guard reachable.contains(sender),
            !StateRegistry.has(suspect.featureID, suspect.sessionID, near: self)
        else {
            suspects[sender] = nil
            return
        }
        suspects[sender]?.isReported = true
        board.report(suspect.problem)
        showProgress()
    }

    /// Drops the suspicions that another state has caused, because this device has now created that state too.
    func appeared(_ featureID: String, _ sessionID: UUID) {
        for (peerID, suspect) in suspects where suspect.featureID == featureID && suspect.sessionID == sessionID {
            suspects[peerID] = nil
            board.solve(suspect.problem.code, of: peerID)
        }
        showProgress()
    }

    /// The peers that can't have this value, because their merge, version, ID or session differs.
    var differingPeers: Set<String> { refused.union(suspects.filter(\.value.isReported).keys) }

    // MARK: Errors

    /// Updates the problem board with the lasting errors in `errors`.
    func showErrors() {
        board.set(.idInUse, of: id, idProblem)
        board.set(.storeFailed, of: id, errors.storing.map { .storeFailed(of: id, "\(subject) can't be stored", $0) })
        board.set(.unreadableValue, of: id, errors.reading.map { .unreadableValue(of: id, subject, "\($0)") })
        board.set(.incompatiblePeer, of: id, errors.withheld.map(sendFailure(.incompatiblePeer)))
        let sending = [errors.sending, errors.context].compactMap { $0 as? ConnectionError }.first(where: \.isLasting)
        let isTooLarge = if case .payloadTooLarge? = sending { true } else { false }
        board.set(.valueTooLarge, of: id, isTooLarge ? sending.map(sendFailure(.valueTooLarge)) : nil)
        board.set(.sendFailed, of: id, isTooLarge ? nil : sending.map(sendFailure(.sendFailed)))
    }

    private var idProblem: SessionProblem? {
        if errors.refusal != nil {
            return SessionProblem(
                .idInUse, of: id,
                "a shared state with values of another type than \(State.self) has the ID '\(id)', so nothing is shared",
                advice: "Give one of them another id:.")
        }
        guard errors.route != nil else { return nil }
        return SessionProblem(
            .idInUse, of: id,
            "something else on this connection already receives '\(featureID)', so this state receives nothing",
            advice: "Release that route.")
    }

    private func sendFailure(_ code: SessionProblem.Code) -> (ConnectionError) -> SessionProblem {
        { [id, subject] in
            SessionProblem(code, of: id, "\(subject) can't be sent: \($0.description)", advice: $0.advice)
        }
    }
}

extension SessionProblem.Code {
    /// A peer combines concurrent changes of a shared state by another `merge`, so neither takes the other's changes.
    public static let differentMerge = Self("differentMerge")
    /// A peer shares a state with the same fields under another `id:`, so the two never meet.
    public static let differentID = Self("differentID")
    /// A peer shares the state in another session (`TransportConnection(sessionID:)`), so the two never meet.
    public static let differentSession = Self("differentSession")
}
