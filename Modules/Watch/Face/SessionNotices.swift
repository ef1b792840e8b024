import Foundation
import MeshBase
import MeshWatchConnectivityTransport

#if canImport(WatchConnectivity)
    import WatchConnectivity
#else
    import MeshSimulatedWatch
#endif

/// A session's events and contexts, in order, as a stream for a consumer on the main actor.
final class SessionNotices: WatchSessionListener {
    enum Notice: Sendable {
        case event(WatchSessionEvent, WCSessionState)
        /// - Parameter isNewForApp: True if the app's part differs from the one reported last.
        case context(ReceivedContext, isNewForApp: Bool)
    }

    /// Maximum number of unread notices. Beyond it the oldest are dropped.
    static let waitingMax = 256

    let stream: AsyncStream<Notice>
    private let continuation: AsyncStream<Notice>.Continuation
    private let last = Locked<ReceivedContext?>(nil)

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.waitingMax))
    }

    func session(_ event: WatchSessionEvent, _ state: WCSessionState) { continuation.yield(.event(event, state)) }

    func take(_ content: WatchSessionContent) -> Bool { false }

    /// Drops repetitions: an activated session reports its last context again.
    func takeContext(_ context: [String: Any]) {
        let received = ReceivedContext(context)
        let (isNew, isNewForApp) = last.withLock { last in
            defer { last = received }
            return (last?.all != received.all, last?.forApp != received.forApp)
        }
        if isNew { continuation.yield(.context(received, isNewForApp: isNewForApp)) }
    }

    func finish() { continuation.finish() }
}

/// A received context, complete and without this library's keys. Unchecked, because it holds only property list values,
/// which aren't mutated.
struct ReceivedContext: @unchecked Sendable {
    let all: NSDictionary
    let forApp: NSDictionary
    let content: [String: Any]

    init(_ context: [String: Any]) {
        content = context.filter { !$0.key.hasPrefix(WatchSessionMultiplexer.prefix) }
        all = NSDictionary(dictionary: context)
        forApp = NSDictionary(dictionary: content)
    }

    /// True if the app should see the context: it has keys of the app, or no keys at all.
    var isForApp: Bool { !content.isEmpty || all.count == 0 }
}
