import MeshConnection

/// The limits of a shared state.
enum StateLimits {
    /// Maximum number of fields in a value, including removed ones.
    static let fieldsMax = 4096
    /// Maximum number of removed fields. Beyond it, removals that every peer knows of are forgotten.
    static let removedMax = 256
    /// Maximum number of concurrent values waiting to be merged.
    static let siblingsMax = 64
    static let authorsMax = 256
    /// Maximum number of authors of forgotten removals.
    static let forgottenMax = 64
    /// Maximum number of bytes of all authors' names, and of one name: a peer ID, an incarnation and a launch.
    static let authorsBytesMax = 64 << 10
    static let authorBytesMax = 4 << 10 + 18
    /// Maximum number of bytes of values with their names and authors: a frame of 1 MiB less the space for vectors. A
    /// register exceeds it only if a single message did.
    static let bytesMax = 1 << 20 - 128 << 10
    /// Maximum number of bytes of field names, including names of removed fields that aren't forgotten yet.
    static let namesBytesMax = 256 << 10
    /// Maximum number of peers, including known peers of the transport. Beyond it, peers unknown to the transport are forgotten.
    static let peersMax = 64
    static let conflictsMax = 32
    /// Maximum number of bytes of lost changes kept for one peer.
    static let lostBytesMax = 16 << 10
    /// Time within which a reachable peer must answer. After that it counts as not having the state.
    static let answerTime = Duration.seconds(2)
    /// Maximum time by which a stamp may be ahead of the wall clock. Beyond it, diagnostics report the stamp.
    static let aheadMilliseconds: UInt64 = 86_400_000
    /// Maximum distance of a stamp ahead of this clock at which this device asks the sender to repeat the message,
    /// every two seconds. At that rate, catching up takes more than two hours. A sender that is further ahead repeats
    /// the message on its own, at growing intervals.
    static let catchUpMax: UInt64 = 1 << 28

    static func tooManyFields(_ count: Int) -> ConnectionError {
        .payloadTooLarge(bytes: count, limit: fieldsMax, limitID: "state.fields")
    }
}
