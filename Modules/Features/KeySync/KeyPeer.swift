import MeshRegister

/// What is known of one peer, in this life of the process.
struct KeyPeer: Hashable, Sendable {
    var isReachable = false
    /// It is to be asked what differs.
    var isToBeAsked = false
    /// Asked, and not answered yet: further reasons to ask are folded into this.
    var isAsked = false
    var askCount = 0
    /// What differs there from here, and is to be told.
    var answer: KeyMessage?
    var due: Set<String> = []
    var sent: [String: StateVersion] = [:]
    var confirmed: [String: StateVersion] = [:]
    var refused: [String: StateVersion] = [:]
    var report: [KeyMessage.Version] = []
    var refusals: [KeyMessage.Version] = []
    var retryAt: Duration?
    var retryDelay = Duration.seconds(2)

    var isWaiting: Bool { isAsked || !sent.isEmpty }
}
