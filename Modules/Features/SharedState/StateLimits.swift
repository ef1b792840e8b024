import MeshConnection

/// What bounds a state.
enum StateLimits {
    /// Fields of a value, those that were removed among them.
    static let fieldsMax = 4096
    /// Fields that were removed, before those that everybody knows of are forgotten.
    static let removedMax = 256
    /// Values that were set at the same time and wait to be merged.
    static let siblingsMax = 64
    static let authorsMax = 256
    /// Authors of removals that are not remembered one by one.
    static let forgottenMax = 64
    /// Of all authors' names, and of one: a peer's with its incarnation and its launch.
    static let authorsBytesMax = 64 << 10
    static let authorBytesMax = 4 << 10 + 18
    /// Values with their names and authors: what a frame of 1 MiB holds beside what was seen. More than one message brought
    /// is never held.
    static let bytesMax = 1 << 20 - 128 << 10
    /// Of names, which stay for a while when their fields are removed.
    static let namesBytesMax = 256 << 10
    /// Peers, those whom the transport knows among them, before others are forgotten.
    static let peersMax = 64
    static let conflictsMax = 32
    /// Of changes that lost here and that one peer is told of.
    static let lostBytesMax = 16 << 10
    /// How long a peer in reach may take to answer before it counts as having no such state.
    static let answerTime = Duration.seconds(2)
    /// Stamps that are farther ahead of the wall clock are told of.
    static let aheadMilliseconds: UInt64 = 86_400_000
    /// A peer whose stamps are that far beyond what can be followed at once is asked again, every two seconds: about three
    /// hours. One that is farther ahead comes again by itself, ever later.
    static let catchUpMax: UInt64 = 1 << 28

    static func tooManyFields(_ count: Int) -> ConnectionError {
        .payloadTooLarge(bytes: count, limit: fieldsMax, limitID: "state.fields")
    }
}
