public import MeshBus
public import MeshIdentity
public import MeshTransport

/// A transport as `plugins-tool bench links` measures it: between two processes, or within one.
public struct MeasuredLink: Sendable {
    /// What joins two processes.
    public enum Channel: String, Sendable {
        /// Two pipes; a Unix socket.
        case pipes, unixSocket
    }

    /// How the two ends are made.
    public enum Form: Sendable {
        /// The tool starts itself once more, with the channel as its standard input and output. Called in both processes
        /// with the descriptors to read from and to write to; must return a transport that has begun.
        case processes(
            Channel,
            makeEnd:
                @Sendable (_ localPeer: SessionPeer, _ input: Int32, _ output: Int32) async throws
                -> any SessionSyncTransport)
        /// Both ends in this process. They may speak for other peers than those that are asked for, as links do whose ids are
        /// those of keys.
        case oneProcess(makeEnds: @Sendable (_ first: SessionPeer, _ second: SessionPeer) async throws -> Ends)
    }

    /// Two ends in one process.
    public struct Ends: Sendable {
        /// One end.
        public let first: any SessionSyncTransport
        /// The same as `first` where own sends come back.
        public let second: any SessionSyncTransport
        /// How events are sent: `realtimeBestEffort` where the link loses nothing that it takes.
        public let mode: SessionDeliveryMode
        /// Lets what was sent arrive.
        public let pump: @Sendable () -> Void

        /// Two ends that have begun.
        public init(
            first: any SessionSyncTransport, second: any SessionSyncTransport,
            mode: SessionDeliveryMode = .realtimeBestEffort, pump: @escaping @Sendable () -> Void = {}
        ) {
            self.first = first
            self.second = second
            self.mode = mode
            self.pump = pump
        }
    }

    /// What the row is called, such as `pipe`. Unique.
    public let id: String
    /// How the two ends are made.
    public let form: Form

    /// A transport of that id.
    public init(id: String, form: Form) {
        self.id = id
        self.form = form
    }
}

extension ExtensionPoint where Value == MeasuredLink {
    /// Where plugins offer links to `bench links`.
    public static let measuredLinks = ExtensionPoint("sessionmesh.measured-links")
}
