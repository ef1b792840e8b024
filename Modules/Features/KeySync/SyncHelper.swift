public import Foundation

/// Sends the bytes of one key if its rules allow it. Has the interface of LocalData's type of the same name.
public struct SyncHelper: Sendable {
    private let router: StorageRouter

    /// Creates a helper that sends through that router.
    public init(router: StorageRouter = .shared) { self.router = router }

    /// Stores a value and sends it if availability, policy and size allow. Also sends a `manual` key, because the app asks.
    /// - Parameter data: bytes written by the codec of the key's `StorageKey`, or the app's own bytes.
    /// - Returns: true if the value may be sent.
    @discardableResult
    public func syncIfNeeded(
        data: Data, keyName: String, availability: PlatformAvailability, syncPolicy: SyncPolicy
    ) async throws -> Bool {
        let rule = KeyRule(availability: availability, policy: syncPolicy)
        return try await router.sync(data, keyName, rule)
    }
}
