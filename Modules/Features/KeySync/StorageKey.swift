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
    /// Unique in the app.
    public let name: String
    /// The devices on which the key exists.
    public let availability: PlatformAvailability
    /// The rule for when the key is sent.
    public let syncPolicy: SyncPolicy
    /// Keys of a higher one leave first when not all fit into a message.
    public let priority: Int
    /// Stays in this device's store unless `sharesSecured` says otherwise, and then needs a link that encrypts.
    public let isSecured: Bool
    /// Whether a secured key travels, over a link that encrypts.
    public let sharesSecured: Bool
    /// The version of what `Value` means. What a later one has written is kept, and not read here.
    public let schema: UInt32
    /// The codec of the value, in the store and on the wire.
    public let codec: any PayloadCodec

    /// Creates a key with its rules. Define each key once, as a constant.
    ///
    /// - Parameters:
    ///   - name: unique in the app; at most 400 bytes of UTF-8.
    ///   - schema: raise it when this version of `Value` writes what the one before would misread. `Value` itself must read
    ///     what lower ones have written.
    ///   - codec: writes values, and reads those of its own kind; those of the library's other codecs are read as well.
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

/// Why a key could not be stored or read.
public struct KeySyncError: ExplainedError {
    /// Why the key could not be stored or read.
    public enum Code: Hashable, Sendable {
        /// The key, or all together, would exceed what a router holds.
        case tooLarge(key: String, bytes: Int)
        /// The stored value is of another type, or damaged.
        case unreadable(key: String)
        /// A later version of the app has written it.
        case newerSchema(key: String, schema: UInt32)
        /// A codec has written it that is neither the key's nor the library's.
        case unknownCodec(key: String, number: UInt8)
        /// The router has a connection already.
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
        case .tooLarge(let key, let bytes): "'\(key)' with \(bytes) bytes does not fit; make it smaller, or remove keys"
        case .unreadable(let key):
            "what is stored for '\(key)' is of another type or damaged; it stays as it is"
                + (cause.map { ": \($0)" } ?? "")
        case .newerSchema(let key, let schema):
            "'\(key)' was written with schema \(schema), which this version does not read; it stays for one that does"
        case .unknownCodec(let key, let number):
            "'\(key)' can't be read: \(PayloadCodecID.unknown(number)); give its StorageKey that codec. It stays as it is"
        case .alreadyAttached: "the router has a connection already; make a router for the second one"
        }
    }

    public var advice: String {
        switch code {
        case .tooLarge, .unknownCodec, .alreadyAttached: ""
        case .unreadable: "Read the key with the type that it was stored as, or store a new value."
        case .newerSchema: "Update the app."
        }
    }
}
