import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
public import MeshTransport

extension SessionProblem.Code {
    /// The app uses a session or a lobby but hasn't called `start()`, so nothing is sent.
    public static let notStarted = Self("notStarted")
    /// A peer runs another session of the same feature.
    public static let sessionIDDiffers = Self("sessionIDDiffers")
    /// A peer runs a feature that this device doesn't run, and doesn't run this session's feature.
    public static let featureIDDiffers = Self("featureIDDiffers")
    /// A device wants to join a session, but its members don't admit it.
    public static let notAdmitted = Self("notAdmitted")
    /// Another member has a different state after the same events.
    public static let stateDiverged = Self("stateDiverged")
    /// The log is full: `submit` throws, because too many events wait to be sent or confirmed.
    public static let logFull = Self("logFull")
}

extension SessionProblem {
    static func notStarted(_ featureID: String) -> Self {
        Self(
            .notStarted, of: featureID, "'\(featureID)' was never started, so nothing is sent",
            advice: "Call start() once, after you create the session or its lobby.")
    }

    static func storeFailed(_ featureID: String, _ error: any Error, waits: Bool) -> Self {
        Self(
            .storeFailed, of: featureID, "the store of '\(featureID)' can't be read or written: \(error.reason)",
            advice: waits
                ? "Fix the cause. Until a write succeeds, the session sends and confirms nothing."
                : "The session continues in memory. A relaunch loses its new events.")
    }

    /// Returns a lobby's problem. `subject`: the feature whose session can't be opened, or the key that can't be kept.
    static func lobbyFailed(_ subject: String, _ error: any Error) -> Self {
        Self(
            .storeFailed, of: subject, "the lobby can't open or save '\(subject)': \(error.reason)",
            advice: "Fix the cause, then call open() or start() again.")
    }

    fileprivate static func sendFailed(_ subject: String, _ error: any Error) -> Self {
        Self(
            .sendFailed, of: subject, "'\(subject)' can't be sent: \(error.reason)",
            advice: "Sending it again won't help. The error lasts until the app changes something.")
    }

    fileprivate static func differs(_ peerID: String, _ other: OtherSession, from featureID: String, _ sessionID: UUID)
        -> Self
    {
        let peer = String(peerID.prefix(64))
        guard other.featureID == featureID else {
            return Self(
                .featureIDDiffers, of: peerID,
                "'\(peer)' runs '\(other.featureID.prefix(64))' and this device runs '\(featureID)', so neither gets the "
                    + "other's events",
                advice: "Give the feature the same ID on both, or open both features on both.")
        }
        return Self(
            .sessionIDDiffers, of: peerID,
            "'\(peer)' runs session \(other.sessionID) of '\(featureID)' and this device runs session \(sessionID), "
                + "so neither gets the other's events",
            advice: "Open the session on one device and let the others find its ID, with a SessionLobby or "
                + "transport.sessions(featureID:).")
    }

    fileprivate static func notAdmitted(_ peerID: String, to featureID: String) -> Self {
        Self(
            .notAdmitted, of: peerID,
            "'\(peerID.prefix(64))' can't join '\(featureID)': it isn't invited, or the group is full",
            advice: "Call invite(_:) with its ID, or pair it as the user's own. A group has 16 members at most.")
    }

    fileprivate static func notAdmitted(_ featureID: String) -> Self {
        Self(
            .notAdmitted, of: featureID, "this device isn't a member of '\(featureID)', because the group is full",
            advice: "Call leave() on another device first. A group has 16 members at most.")
    }

    fileprivate static func stateDiverged(_ featureID: String, after position: UInt64) -> Self {
        Self(
            .stateDiverged, of: featureID,
            "after \(position) confirmed events, another device has a different state of '\(featureID)'",
            advice: "The reducers or decoders differ. Raise the feature's version in each version of the app that "
                + "changes them.")
    }

    fileprivate static func logFull(_ featureID: String, _ error: any Error) -> Self {
        Self(
            .logFull, of: featureID, "'\(featureID)' accepts no events: \(error)",
            advice: "Bring the other devices within reach, or call removeMember(_:) for one that won't come back.")
    }
}

extension Error {
    /// True if the error lasts until the app changes something. An unreachable peer or a full queue passes by itself.
    fileprivate var isLasting: Bool {
        switch self as? SessionSyncError {
        case .closed, .payloadTooLarge, .payloadEncodingFailed, .unsupportedDeliveryMode: true
        default: false
        }
    }
}

/// Time that a condition must last before it is reported as a problem.
let problemDelay = Duration.seconds(2)

// MARK: - A missing start

extension SyncedSession {
    /// Reports a missing `start()` unless it is called within two seconds.
    func expectStart() {
        guard !isStartExpected else { return }
        isStartExpected = true
        startTimer.hold([
            Task { [weak self, wait = configuration.wait] in
                try? await wait(problemDelay)
                guard let self, !Task.isCancelled, !self.hasStarted, self.phase == .stopped else { return }
                self.board.report(.notStarted(self.featureID))
            }
        ])
    }

    func noteStart() {
        hasStarted = true
        startTimer.cancel()
        board.solve(.notStarted)
        run.begin()
    }

    /// Resolves the problems with peers, because a stopped session doesn't hear when they are solved.
    func noteStop() {
        run.end()
        board.solve(.notStarted)
        for peerID in otherSessions.keys { forgetOtherSession(of: peerID) }
        differenceTimer.cancel()
        isAnswerAwaited = false
        for peerID in waitingPeers.keys { board.solve(.notAdmitted, of: peerID) }
        waitingPeers = [:]
    }
}

// MARK: - Peers whose IDs differ

/// A session that a peer runs instead of this one.
struct OtherSession {
    var featureID: String
    var sessionID: UUID
    var since: Date
    /// True if the peer runs another session of this feature that this process runs or has run.
    var isMatched = false
    var isReported = false

    /// Maximum number of remembered peers.
    static var countMax: Int { 16 }
}

extension SyncedSession {
    /// Notes peers that send controls of another session or feature. A peer's IDs differ if it is reachable and sends
    /// nothing of this session for two seconds, because an engine sends controls every second until a peer answers.
    ///
    /// Only controls count, because a snapshot may belong to a session that is over.
    func compareIDs(_ batch: [AnySessionSyncEnvelope], others: [AnySessionSyncEnvelope]) {
        if !otherSessions.isEmpty {
            for envelope in batch where core.isMine(envelope.metadata) {
                forgetOtherSession(of: envelope.metadata.sourcePeerID)
            }
        }
        for envelope in others where SessionControl.isControl(envelope.metadata.payloadType) {
            note(envelope.metadata)
        }
    }

    /// Returns true if this process runs or has run that session; for another feature, any of its sessions.
    private func isKnownHere(_ otherFeatureID: String, _ sessionID: UUID) -> Bool {
        StartedSessions.contains(
            .init(
                peerID: transport.localPeer.id, featureID: otherFeatureID,
                sessionID: otherFeatureID == featureID ? sessionID : nil))
    }

    private func note(_ metadata: SessionSyncMetadata) {
        let peerID = metadata.sourcePeerID
        guard peerID != transport.localPeer.id, core.heard[peerID] == nil else { return }
        let known = otherSessions[peerID]
        let isSameFeature = metadata.featureID == featureID
        if isKnownHere(metadata.featureID, metadata.sessionID) {
            if isSameFeature || known?.featureID == metadata.featureID { forgetOtherSession(of: peerID) }
            // The peer may run other features too. It isn't mistaken about this one.
            if isSameFeature, otherSessions.count < OtherSession.countMax {
                otherSessions[peerID] = OtherSession(
                    featureID: featureID, sessionID: metadata.sessionID, since: steadyClock.now, isMatched: true)
            }
            return
        }
        if let known {
            // A difference in the session ID is more telling than one in the feature.
            guard isSameFeature, known.featureID != featureID else { return }
            forgetOtherSession(of: peerID)
        }
        guard otherSessions.count < OtherSession.countMax else { return }
        otherSessions[peerID] = OtherSession(
            featureID: metadata.featureID, sessionID: metadata.sessionID, since: steadyClock.now)
        waitForAnswer()
    }

    /// Resolves the problem of a peer that has sent a message of this session, or is gone.
    func forgetOtherSession(of peerID: String) {
        guard let other = otherSessions.removeValue(forKey: peerID), other.isReported else { return }
        board.solve(.sessionIDDiffers, of: peerID)
        board.solve(.featureIDDiffers, of: peerID)
        showOtherSessions()
    }

    private func waitForAnswer() {
        guard !isAnswerAwaited else { return }
        let waiting = otherSessions.values.filter { !$0.isMatched && !$0.isReported }
        guard let oldest = waiting.map(\.since).min() else { return }
        isAnswerAwaited = true
        let remaining = problemDelay.seconds - steadyClock.now.timeIntervalSince(oldest)
        differenceTimer.hold([
            Task { [weak self, wait = configuration.wait] in
                try? await wait(.seconds(max(0.01, remaining)))
                guard !Task.isCancelled, let self else { return }
                self.isAnswerAwaited = false
                self.reportOtherSessions()
                self.waitForAnswer()
            }
        ])
    }

    private func reportOtherSessions() {
        let now = steadyClock.now
        for (peerID, other) in otherSessions.sorted(by: { $0.key < $1.key }) where !other.isMatched && !other.isReported
        {
            // Allows for `Date` rounding, which is below a millisecond.
            guard now.timeIntervalSince(other.since) > problemDelay.seconds - 0.001 else { continue }
            guard !isKnownHere(other.featureID, other.sessionID), core.heard[peerID] == nil,
                !core.reportsReachability || core.reachablePeerIDs.contains(peerID)
            else {
                otherSessions[peerID] = nil
                continue
            }
            otherSessions[peerID]?.isReported = true
            board.report(.differs(peerID, other, from: featureID, sessionID))
        }
        showOtherSessions()
    }

    private func showOtherSessions() {
        let elsewhere = Set(otherSessions.filter(\.value.isReported).keys)
        guard core.elsewhere != elsewhere else { return }
        turn { core in
            core.elsewhere = elsewhere
            core.directives.showsStatus = true
        }
    }
}

// MARK: - Lasting problems

extension SyncedSession {
    /// Updates the problem after `storeError` has changed.
    func reportStoreError() {
        let waits = writer != nil
        board.set(.storeFailed, of: featureID, storeError.map { .storeFailed(featureID, $0, waits: waits) })
    }

    /// Reports a lasting error of a send. nil resolves it, after a successful send.
    func reportSend(of subject: String, _ error: (any Error)?) {
        guard let error else { return board.solve(.sendFailed, of: subject) }
        // The state doesn't fit into a message. Members have the events, and a device that joins gets a copy in pieces.
        if subject != featureID, case SessionSyncError.payloadTooLarge = error { return }
        if error.isLasting { board.report(.sendFailed(subject, error)) }
    }

    func report(_ alarms: [SessionAlarm]) {
        for alarm in alarms {
            switch alarm {
            case .notAdmitted(let source) where source.peerID == transport.localPeer.id:
                board.report(.notAdmitted(featureID))
            case .stateDiverged(let position): board.report(.stateDiverged(featureID, after: position))
            default: break
            }
        }
    }

    /// Reports devices that wait to be admitted, and resolves problems that are over. Called with each status.
    func reportMembership(_ peers: [SessionPeerStatus]) {
        if core.engine.isSealed { board.solve(.notAdmitted, of: featureID) }
        if !core.engine.hasDivergedMember { board.solve(.stateDiverged) }
        let waiting = Set(
            peers.filter { $0.sync == .notAdmitted && ($0.isReachable || !core.reportsReachability) }.map(\.peerID))
        if waiting.isEmpty, waitingPeers.isEmpty { return }
        let now = steadyClock.now
        for peerID in waitingPeers.keys where !waiting.contains(peerID) {
            waitingPeers[peerID] = nil
            board.solve(.notAdmitted, of: peerID)
        }
        for peerID in waiting.sorted() {
            let since = waitingPeers[peerID, default: now]
            waitingPeers[peerID] = since
            // A group that is being founded admits the next device soon.
            if now.timeIntervalSince(since) >= problemDelay.seconds {
                board.report(.notAdmitted(peerID, to: featureID))
            }
        }
    }

    func reportFull(_ error: any Error) {
        switch error as? SessionSyncError {
        // High-rate events are rejected before the log is full.
        case .logFull, .queueFull:
            guard !core.hasCapacity else { return }
            isFull = true
            board.report(.logFull(featureID, error))
        default: break
        }
    }

    func resolveLogFull() {
        guard isFull, core.hasCapacity else { return }
        isFull = false
        board.solve(.logFull)
    }
}
