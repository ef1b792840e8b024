public import MeshBase
@_exported public import MeshDelivery
public import MeshIdentity
public import MeshStorage
public import MeshTransport

/// A `LinkTransport` over a `PipeLink`: two processes over stdin and stdout, two pipes, or a Unix socket.
///
/// ```swift
/// let transport = try PipeSessionSyncTransport(localPeer: peer, over: .standardStreams)
/// let envelopes = transport.receiveEnvelopes()
/// try transport.start()
/// ```
///
/// A pair of descriptors is one connection. Over a Unix socket, a peer that is killed and relaunched connects again and
/// then gets the messages accepted for it in the meantime. With a durable store, this works even if both were killed.
public final class PipeSessionSyncTransport: DeliveringTransport {
    public let delivery: LinkTransport
    /// The link that moves the bytes and counts them.
    public let link: PipeLink

    /// Creates a transport over a pipe or a Unix socket.
    ///
    /// - Parameters:
    ///   - store: keeps accepted messages until they are acknowledged; nil keeps them in memory.
    ///   - diagnostics: receives reachability, rejections, and failed sends.
    /// - Throws: `PipeError` with `badDescriptor`, `invalidPath` or `systemCallFailed`; the errors of `LinkTransport`.
    public init(
        localPeer: SessionPeer, over endpoint: PipeEndpoint, configuration: DeliveryConfiguration = .init(),
        store: (any SessionStore)? = nil, diagnostics: Topic<SessionDiagnosticEvent>? = nil
    ) throws {
        link = try PipeLink(endpoint, diagnostics: diagnostics)
        delivery = try LinkTransport(
            localPeer: localPeer, link: link, configuration: configuration, store: store, diagnostics: diagnostics)
    }

    /// Creates a transport over two open descriptors, such as standard input and output.
    ///
    /// - Parameters:
    ///   - input: open for reading. A file or /dev/null works, but ends soon.
    ///   - output: open for writing; one socket may be both. Neither descriptor's flags are changed, except that on Apple systems
    ///     writing to `output` no longer raises SIGPIPE.
    ///   - closesDescriptors: true to close both when the connection has ended, or with the transport.
    /// - Throws: `PipeError` with `badDescriptor` or `systemCallFailed`; the errors of `LinkTransport`.
    public convenience init(
        localPeer: SessionPeer, input: Int32, output: Int32, closesDescriptors: Bool = false,
        configuration: DeliveryConfiguration = .init(), store: (any SessionStore)? = nil,
        diagnostics: Topic<SessionDiagnosticEvent>? = nil
    ) throws {
        try self.init(
            localPeer: localPeer, over: .descriptors(input: input, output: output, closes: closesDescriptors),
            configuration: configuration, store: store, diagnostics: diagnostics)
    }

    /// The counters of everything that has passed over the pipe so far.
    public var statistics: PipeStatistics { link.statistics }
}
