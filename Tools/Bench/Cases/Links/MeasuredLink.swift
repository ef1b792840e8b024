public import MeshBus
public import MeshIdentity
public import MeshTransport

/// A transport measured by `plugins-tool bench links`, between two processes or within one.
public struct MeasuredLink: Sendable {
    /// The channel that connects two processes.
    public enum Channel: String, Sendable {
        /// Two pipes, or a Unix socket.
        case pipes, unixSocket
    }

    /// The arrangement of the two ends: in two processes or in one.
    public enum Form: Sendable {
        /// Two processes. The tool starts itself a second time, with the channel as standard input and output. Both processes
        /// call `makeEnd` with the descriptors to read and write. It must return a transport that has started.
        case processes(
            Channel,
            makeEnd:
                @Sendable (_ localPeer: SessionPeer, _ input: Int32, _ output: Int32) async throws
                -> any SessionSyncTransport)
        /// Both ends in this process. Their peers may differ from the requested ones, for example if a link derives peer IDs
        /// from keys.
        case oneProcess(makeEnds: @Sendable (_ first: SessionPeer, _ second: SessionPeer) async throws -> Ends)
    }

    /// Two ends in one process.
    public struct Ends: Sendable {
        /// One end of the link.
        public let first: any SessionSyncTransport
        /// The other end of the link. The same object as `first` if the transport receives its own messages.
        public let second: any SessionSyncTransport
        /// The delivery mode of events: `realtimeBestEffort` if the link loses nothing that it accepts.
        public let mode: SessionDeliveryMode
        /// Delivers sent messages, for a link that doesn't deliver on its own. Called after sending.
        public let pump: @Sendable () -> Void

        /// Creates a pair from two ends that have started.
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

    /// The unique name of the link in the rows, such as `pipe`.
    public let id: String
    /// The arrangement of the two ends.
    public let form: Form

    /// Creates a link with an ID and a form.
    public init(id: String, form: Form) {
        self.id = id
        self.form = form
    }
}

extension ExtensionPoint where Value == MeasuredLink {
    /// The extension point at which plugins offer links to `bench links`.
    public static let measuredLinks = ExtensionPoint("sessionmesh.measured-links")
}
