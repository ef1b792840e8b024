public import Foundation

/// Sends one key by the rules of the reference.
public struct SyncHelper: Sendable {
    private let router: StorageRouter

    /// Sends by way of that router.
    public init(router: StorageRouter = .shared) { self.router = router }

    /// Sends a stored value if availability, policy and size allow it; `manual` counts, since the app calls this.
    /// - Parameter data: what the codec of the key's `StorageKey` writes, or the app's own bytes.
    /// - Returns: whether it may go.
    @discardableResult
    public func syncIfNeeded(
        data: Data, keyName: String, availability: PlatformAvailability, syncPolicy: SyncPolicy
    ) async throws -> Bool {
        let rule = KeyRule(availability: availability, policy: syncPolicy)
        return try await router.sync(data, keyName, rule)
    }
}
