public import MeshBase
public import MeshIdentity
public import MeshWire

/// The name of a stored value, with its type and the rules for storing and sending it.
///
/// ```swift
/// let volume = StorageKey<Double>("volume")
/// let token = StorageKey<String>("token", isSecured: true)    // never leaves this device
/// try await StorageRouter.shared.set(0.5, for: volume)
/// ```
public struct StorageKey<Value: Codable & Sendable>: Sendable {
    /// The name, unique in the app.
    public let name: String
    /// The devices on which the key exists.
    public let availability: PlatformAvailability
    /// The rule for when the key is sent.
    public let syncPolicy: SyncPolicy
    /// The priority of the key's messages. If not all keys fit into a message, higher ones are sent first.
    public let priority: Int
    /// True if the key stays in this device's store. If `sharesSecured` is also true, it travels over a link that encrypts.
    public let isSecured: Bool
    /// True if a secured key travels over a link that encrypts.
    public let sharesSecured: Bool
    /// The version of the meaning of `Value`. A value with a later schema is kept but can't be read here.
    public let schema: UInt32
    /// The codec of the value, in the store and on the wire.
    public let codec: any PayloadCodec

    /// Creates a key with its rules. Define each key once, as a constant.
    ///
    /// - Parameters:
    ///   - name: unique in the app; at most 400 bytes of UTF-8.
    ///   - schema: raise it if earlier versions of the app would misread what this version writes. `Value` must still read
    ///     values of lower schemas.
    ///   - codec: writes values and reads its own format. Formats of the library's other codecs are read as well.
    public init(
        _ name: String, availability: PlatformAvailability = .all, syncPolicy: SyncPolicy = .automaticSmall,
        priority: Int = 0, isSecured: Bool = false, sharesSecured: Bool = false, schema: UInt32 = 1,
        codec: any PayloadCodec = CompactCodec()
    ) {
        self.name = name
        self.availability = availability
        self.syncPolicy = syncPolicy
        self.priority = priority
        self.isSecured = isSecured
        self.sharesSecured = sharesSecured
        self.schema = schema
        self.codec = codec
    }

    var rule: KeyRule {
        KeyRule(
            availability: availability, policy: syncPolicy, priority: priority, isSecured: isSecured,
            sharesSecured: sharesSecured)
    }
}

/// An error of storing or reading a key, or of attaching a router.
public struct KeySyncError: ExplainedError {
    /// The kinds of errors.
    public enum Code: Hashable, Sendable {
        /// The key, or all keys together, would exceed the bounds of a router.
        case tooLarge(key: String, bytes: Int)
        /// The stored value has another type or is damaged.
        case unreadable(key: String)
        /// A later version of the app has written the value.
        case newerSchema(key: String, schema: UInt32)
        /// The value's codec is neither the key's nor one of the library's.
        case unknownCodec(key: String, number: UInt8)
        /// The router already has a connection.
        case alreadyAttached
    }

    /// The kind of the error, for code that reacts to it.
    public let code: Code
    /// The codec's error, if it caused this one.
    public let cause: (any Error)?

    init(_ code: Code, cause: (any Error)? = nil) {
        self.code = code
        self.cause = cause
    }

    public var description: String {
        switch code {
        case .tooLarge(let key, let bytes): "'\(key)' with \(bytes) bytes exceeds the bounds of a router"
        case .unreadable(let key):
            "the stored value of '\(key)' has another type or is damaged"
                + (cause.map { " (\($0))" } ?? "") + "; it stays unchanged"
        case .newerSchema(let key, let schema):
            "'\(key)' was written with schema \(schema), which this version can't read; it stays unchanged"
        case .unknownCodec(let key, let number):
            "'\(key)' can't be read: \(PayloadCodecID.unknown(number)); it stays unchanged"
        case .alreadyAttached: "the router already has a connection"
        }
    }

    public var advice: String {
        switch code {
        case .tooLarge: "Make the value smaller, or remove other keys."
        case .unreadable: "Read the key with the type that it was stored as, or store a new value."
        case .newerSchema: "Update the app."
        case .unknownCodec: "Give its StorageKey that codec."
        case .alreadyAttached: "Make another router for the second connection."
        }
    }
}
