public import MeshKeySync
import MeshTransport
public import Observation

/// The phone's half of the app: what its screen shows and changes.
@MainActor @Observable
public final class PhonePlayer {
    @ObservationIgnored @Stored<Double> public var volume: Double
    @ObservationIgnored @Stored<[Episode]> public var queue: [Episode]
    @ObservationIgnored @Stored<Double> public var position: Double
    @ObservationIgnored private let router: StorageRouter

    public init(router: StorageRouter = .shared) {
        self.router = router
        _volume = Stored(wrappedValue: 0.5, PlayerKeys.volume, router: router)
        _queue = Stored(wrappedValue: [], PlayerKeys.queue, router: router)
        _position = Stored(wrappedValue: 0, PlayerKeys.position, router: router)
    }

    public func add(_ episode: Episode) { queue.append(episode) }

    /// Starts the next episode. Queue, position and history change at once, here and on the watch.
    public func finishEpisode() async throws {
        guard let heard = queue.first else { return }
        var batch = KeyBatch()
        try batch.set(Array(queue.dropFirst()), for: PlayerKeys.queue)
        batch.remove(PlayerKeys.position)
        let history = try await router.get(PlayerKeys.history) ?? []
        try batch.set(history + [heard], for: PlayerKeys.history)
        try await router.commit(batch)
    }

    /// Sends the history when the user asks for it. It syncs manually: only a new watch gets it by itself.
    public func sendHistory() async { await router.sync(PlayerKeys.history) }

    public func signIn(token: String) async throws { try await router.set(token, for: PlayerKeys.token) }

    /// Problems to show on a screen; empty if there are none.
    public var complaints: [String] { router.problems.map { $0.errorDescription ?? $0.message } }
}
