extension ResumeCore {
    var isReplaying: Bool {
        if case .replaying = connection?.phase { true } else { false }
    }
}
