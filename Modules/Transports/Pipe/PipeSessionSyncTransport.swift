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
/// A pair of descriptors is one connection. Over a Unix socket a peer that is killed and comes back is met again, and what
/// was accepted for it meanwhile is delivered then; with a durable store also when both were killed.
public final class PipeSessionSyncTransport: DeliveringTransport {
    public let delivery: LinkTransport
    /// The link that moves the bytes and counts them.
    public let link: PipeLink

    /// Creates a transport over a pipe or a Unix socket.
    ///
    /// - Parameters:
    ///   - store: keeps what was accepted and not acknowledged; nil keeps it in memory.
    ///   - diagnostics: receives reachability, what and who was rejected, and what could not be sent.
    /// - Throws: `PipeError` with `badDescriptor`, `invalidPath` or `systemCallFailed`; what `LinkTransport` throws.
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
    ///   - input: open for reading. A file or /dev/null works: it ends soon.
    ///   - output: open for writing; a socket may be both. Neither descriptor's flags are changed.
    ///   - closesDescriptors: closes both once the connection has ended, or with the transport.
    /// - Throws: `PipeError` with `badDescriptor` or `systemCallFailed`; what `LinkTransport` throws.
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
