import Foundation
import MeshBase
import MeshWatchConnectivityTransport

#if canImport(WatchConnectivity)
    import WatchConnectivity
#else
    import MeshSimulatedWatch
#endif

/// What a session tells, in the order in which it tells it, for somebody on the main actor.
final class SessionNotices: WatchSessionListener {
    enum Notice: Sendable {
        case event(WatchSessionEvent, WCSessionState)
        /// - Parameter isNewForApp: not what the app was told last.
        case context(ReceivedContext, isNewForApp: Bool)
    }

    /// Beyond it the oldest notices make room.
    static let waitingMax = 256

    let stream: AsyncStream<Notice>
    private let continuation: AsyncStream<Notice>.Continuation
    private let last = Locked<ReceivedContext?>(nil)

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(Self.waitingMax))
    }

    func session(_ event: WatchSessionEvent, _ state: WCSessionState) { continuation.yield(.event(event, state)) }

    func take(_ content: WatchSessionContent) -> Bool { false }

    /// A session that is activated says again what came last.
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

/// A context as it came, and as the app may see it: without what is the mesh's. Holds values of a property list only,
/// which nobody changes.
struct ReceivedContext: @unchecked Sendable {
    let all: NSDictionary
    let forApp: NSDictionary
    let content: [String: Any]

    init(_ context: [String: Any]) {
        content = context.filter { !$0.key.hasPrefix(WatchSessionMultiplexer.prefix) }
        all = NSDictionary(dictionary: context)
        forApp = NSDictionary(dictionary: content)
    }

    /// Whether there is something in it for the app.
    var isForApp: Bool { !content.isEmpty || all.count == 0 }
}
