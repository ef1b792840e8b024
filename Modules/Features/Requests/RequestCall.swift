import Foundation
import MeshBus
import MeshConnection
import MeshIdentity

/// One request from the call to its end.
final class RequestCall: Sendable {
    private struct State {
        /// The event ids of the copies, so that they can be withdrawn.
        var copies: [UUID] = []
        var driver: Task<Void, Never>?
        var isHeard = false
        var isOver = false
        var isTakenBack = false
        var lateCount = 0
        var refusals: Set<String> = []
        var sentAt: Duration?
        var alarm: UInt64?
        /// What the one who drives the call waits for at the moment.
        var sign: Once<Bool>?
    }

    /// What the caller wants.
    struct Wish: Sendable {
        var strategy: DeliveryStrategy
        var delivery: DeliveryMode
        var policy: RetryPolicy
        /// nil asks everyone.
        var peer: SessionPeer?
    }

    let id: UUID
    let type: String
    let payload: Data
    let isFireAndForget: Bool
    let wish: Wish
    let stamp: HybridTimestamp
    let startedAt: Duration
    let deadline: Duration
    /// The answer, or why there is none.
    let outcome = Once<Result<RequestMessage, ConnectionError>>()
    /// The first copy is on its way or waits; or there will be none.
    let accepted = Once<Bool>()
    private let state = Locked(State())

    init(
        id: UUID, type: String, payload: Data, isFireAndForget: Bool, wish: Wish, stamp: HybridTimestamp,
        startedAt: Duration
    ) {
        self.id = id
        self.type = type
        self.payload = payload
        self.isFireAndForget = isFireAndForget
        self.wish = wish
        self.stamp = stamp
        self.startedAt = startedAt
        deadline = startedAt + wish.policy.timeout
    }

    var isHeard: Bool { state.withLock { $0.isHeard } }
    /// Nothing more is to be sent.
    var isDone: Bool { state.withLock { $0.isHeard || $0.isOver } }
    var isOver: Bool { state.withLock { $0.isOver } }
    /// What is on its way is not wanted any more either.
    var isTakenBack: Bool { state.withLock { $0.isTakenBack } }
    var sentAt: Duration? { state.withLock { $0.sentAt } }

    func setAlarm(_ id: UInt64) { state.withLock { $0.alarm = id } }
    /// What is to be withdrawn when the call ends.
    var alarm: UInt64? { state.withLock { $0.alarm } }

    /// The task that sends, which is cancelled when the call is taken back.
    func setDriver(_ driver: Task<Void, Never>) {
        let isTakenBack = state.withLock { state in
            state.driver = driver
            return state.isTakenBack
        }
        if isTakenBack { driver.cancel() }
    }

    func noteSent(at now: Duration) { state.withLock { $0.sentAt = now } }

    /// - Returns: false when the call has been taken back, so that the copy must not be sent.
    func noteCopy(_ eventID: UUID) -> Bool {
        state.withLock { state in
            if !state.isTakenBack { state.copies.append(eventID) }
            return !state.isTakenBack
        }
    }

    /// The transport did not take it.
    func dropCopy(_ eventID: UUID) { state.withLock { state in state.copies.removeAll { $0 == eventID } } }

    /// Resolves true when there is a sign of the peer or of its coming, false when the call is over.
    func makeSign() -> Once<Bool> {
        let sign = Once<Bool>()
        let known: Bool? = state.withLock { state in
            state.sign = sign
            return state.isOver ? false : state.isHeard ? true : nil
        }
        if let known { sign.resolve(known) }
        return sign
    }

    /// The peer has it.
    func hear() { signal(true) { $0.isHeard = true } }
    /// It may be worth an attempt now.
    func wake() { signal(true) { _ in } }

    /// Nothing more is to be sent.
    func end() {
        signal(false) { $0.isOver = true }
        accepted.resolve(false)
    }

    /// Nor is what is on its way to arrive: a send that waits for room ends.
    /// - Returns: the copies that may be under way.
    func takeBack() -> [UUID] {
        let (driver, copies) = state.withLock { state in
            state.isTakenBack = true
            return (state.driver, state.copies)
        }
        driver?.cancel()
        return copies
    }

    /// - Returns: whether the peer may be told once more what time it is there.
    func noteLate() -> Bool {
        state.withLock { state in
            state.lateCount += 1
            return state.lateCount <= 3 && !state.isOver
        }
    }

    /// - Returns: how many peers have refused.
    func noteRefusal(of peerID: String) -> Int {
        state.withLock { state in
            state.refusals.insert(peerID)
            return state.refusals.count
        }
    }

    private func signal(_ value: Bool, _ body: (inout State) -> Void) {
        let sign = state.withLock { state in
            body(&state)
            defer { state.sign = nil }
            return state.sign
        }
        sign?.resolve(value)
    }
}
