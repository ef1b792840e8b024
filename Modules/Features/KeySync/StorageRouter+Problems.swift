import MeshBase
public import MeshTransport

// Lasting problems that keep a key from being stored, read or synchronized.
extension StorageRouter {
    /// Reports a stored value that can't be read.
    func reportUnreadable(_ error: any Error, of name: String) { reportUnreadable("\(error)", of: name) }

    func reportUnreadable(_ reason: String, of name: String) {
        failures[name] = reason
        board.report(.unreadableValue(of: name, "the key '\(name)'", reason))
    }

    /// Reports a value from before `attach` that doesn't fit together with the values in the store.
    func reportRefused(_ error: any Error, of name: String) {
        failures[name] = "\(error)"
        board.report(.writeFailed(of: name, "the key '\(name)'", error))
    }

    /// Clears the failures of keys that have new values.
    func clearFailures(of names: [String]) {
        guard !failures.isEmpty else { return }
        for name in names where failures.removeValue(forKey: name) != nil {
            for code in [SessionProblem.Code.writeFailed, .unreadableValue] { board.solve(code, of: name) }
        }
    }

    /// Reports a value that stays on this device although its key's rules ask for it to be sent.
    func reportIfNotSent(_ change: KeyBatch.Change) {
        guard change.data != nil, change.rule.isEligible,
            change.rule.policy == .automaticSmall || change.rule.sharesSecured
        else { return }
        let count = change.data?.count ?? 0
        guard count > replica.configuration.maxAutoSyncSize || change.rule.isSecured else { return }
        switch replica.status(of: change.name) {
        case .tooLarge(let bytes, let limit):
            board.report(
                SessionProblem(
                    .valueTooLarge, of: change.name,
                    "the key '\(change.name)' stays on this device: \(bytes) bytes exceed maxAutoSyncSize, \(limit)",
                    advice:
                        "Call sync(_:overridingPolicy:) for this key, raise SyncConfiguration.maxAutoSyncSize, or store less under one key."
                ))
        case .refused(let reason) where change.rule.sharesSecured:
            board.report(
                SessionProblem(
                    .keyRefused, of: change.name, "the key '\(change.name)' stays on this device: \(reason)",
                    advice: "Use a transport that encrypts."))
        default: break
        }
    }

    func report(refused names: [String], by peerID: String) {
        for name in names.prefix(ProblemBoard.problemsMax) where isRefusedByPeer(name) {
            board.report(
                SessionProblem(
                    .keyRefused, of: name, "'\(peerID)' doesn't accept the key '\(name)'",
                    advice:
                        "Give its StorageKey the same availability and syncPolicy in both apps, and see the bounds in Docs/Reference/Limits.md."
                ))
        }
    }

    private func isRefusedByPeer(_ name: String) -> Bool {
        if case .refused? = replica.status(of: name) { true } else { false }
    }

    /// Clears problems that no longer exist.
    func reviewProblems() {
        for problem in board.problems where problem.code == .valueTooLarge || problem.code == .keyRefused {
            switch replica.status(of: problem.subject) {
            case .tooLarge where problem.code == .valueTooLarge: break
            case .refused where problem.code == .keyRefused: break
            default: board.solve(problem.code, of: problem.subject)
            }
        }
    }
}

extension SessionProblem.Code {
    /// A key stays on this device: a peer doesn't take it, or it is secured and the link doesn't encrypt.
    public static let keyRefused = Self("keyRefused")
}
