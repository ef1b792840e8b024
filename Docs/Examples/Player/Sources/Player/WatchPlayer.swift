public import MeshKeySync
public import Observation

/// The watch's half of the app. It shows the next episode, and sets volume and position as the phone does.
@MainActor @Observable
public final class WatchPlayer {
    @ObservationIgnored @Stored<Double> public var volume: Double
    @ObservationIgnored @Stored<[Episode]> private var queue: [Episode]
    @ObservationIgnored @Stored<Double> public var position: Double
    @ObservationIgnored private let router: StorageRouter

    public init(router: StorageRouter = .shared) {
        self.router = router
        _volume = Stored(wrappedValue: 0.5, PlayerKeys.volume, router: router)
        _queue = Stored(wrappedValue: [], PlayerKeys.queue, router: router)
        _position = Stored(wrappedValue: 0, PlayerKeys.position, router: router)
    }

    public var title: String { queue.first?.title ?? "Nothing to listen to" }

    public func turnCrown(by clicks: Int) { volume = min(max(volume + Double(clicks) / 20, 0), 1) }

    /// Returns whether the phone has signed in, and how much of its data has arrived. For a new watch's first minute.
    public func arrival() async throws -> (isSignedIn: Bool, fraction: Double) {
        (try await router.get(PlayerKeys.token) != nil, await router.progress.fraction)
    }
}
