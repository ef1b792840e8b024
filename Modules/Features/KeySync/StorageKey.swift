public import Foundation

/// A stored value with a name, and how it travels.
public struct StorageKey<Value: Codable & Sendable>: Sendable {
    public let name: String
    public let availability: PlatformAvailability
    public let syncPolicy: SyncPolicy
    /// Keys of a higher one leave first when not all fit into a message.
    public let priority: Int
    /// Stays in this device's store unless `sharesSecured` says otherwise, and then needs a link that encrypts.
    public let isSecured: Bool
    public let sharesSecured: Bool

    /// - Parameter name: unique in the app; at most 400 bytes of UTF-8.
    public init(
        _ name: String, availability: PlatformAvailability = .all, syncPolicy: SyncPolicy = .automaticSmall,
        priority: Int = 0, isSecured: Bool = false, sharesSecured: Bool = false
    ) {
        self.name = name
        self.availability = availability
        self.syncPolicy = syncPolicy
        self.priority = priority
        self.isSecured = isSecured
        self.sharesSecured = sharesSecured
    }

    var rule: KeyRule {
        KeyRule(
            availability: availability, policy: syncPolicy, priority: priority, isSecured: isSecured,
            sharesSecured: sharesSecured)
    }

    // In an array, because a fragment is no document to every version of JSON.
    func encode(_ value: Value) throws -> Data { try JSONEncoder().encode([value]) }

    func decode(_ data: Data) throws -> Value {
        guard let value = try JSONDecoder().decode([Value].self, from: data).first else {
            throw KeySyncError(.unreadable(key: name))
        }
        return value
    }
}

/// Why a key could not be stored or read.
public struct KeySyncError: Error, Hashable, CustomStringConvertible {
    public enum Code: Hashable, Sendable {
        /// The key, or all together, would exceed what a router holds.
        case tooLarge(key: String, bytes: Int)
        case unreadable(key: String)
        case alreadyAttached
    }

    public let code: Code

    init(_ code: Code) { self.code = code }

    public var description: String {
        switch code {
        case .tooLarge(let key, let bytes): "'\(key)' with \(bytes) bytes does not fit; make it smaller, or remove keys"
        case .unreadable(let key): "what is stored for '\(key)' is of another type; it stays as it is"
        case .alreadyAttached: "the router has a connection already; make a router for the second one"
        }
    }
}

/// Sends one key by the rules of the reference.
public struct SyncHelper: Sendable {
    private let router: StorageRouter

    public init(router: StorageRouter = .shared) { self.router = router }

    /// Sends a stored value if availability, policy and size allow it; `manual` counts, since the app calls this.
    /// - Returns: whether it may go.
    @discardableResult
    public func syncIfNeeded(
        data: Data, keyName: String, availability: PlatformAvailability, syncPolicy: SyncPolicy
    ) async throws -> Bool {
        let rule = KeyRule(availability: availability, policy: syncPolicy)
        return try await router.sync(data, keyName, rule)
    }
}
