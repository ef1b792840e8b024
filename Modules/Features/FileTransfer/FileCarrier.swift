public import Foundation
public import MeshConnection
public import MeshIdentity

/// A platform that moves whole files itself, as WatchConnectivity's `transferFile` does. The plugin point for those.
///
/// To the implementer:
/// - `begin` is called once, before everything else. Hold the observer weakly.
/// - `carry` must return at once; the file stays where it is until `finished` has been reported. The header must arrive
///   with the file, unchanged; it has at most 48 KiB.
/// - Every file that was taken must be reported as finished once, in this launch or a later one, unless it was cancelled.
/// - When a file arrives, `received` must be called before the platform's callback returns: it moves the file away.
/// - Carrying a file twice does no harm.
public protocol FileCarrier: AnyObject, Sendable {
    /// Sets the observer of the carrier's events. Transfers of an earlier launch may be reported from here on.
    func begin(_ observer: any FileCarrierObserver)
    /// Whether files to that peer (nil: to whichever takes it) go by this platform rather than in chunks.
    func carries(to peer: SessionPeer?) -> Bool
    /// Starts the transfer of a file by the platform.
    ///
    /// - Throws: why the platform does not take it; `notActivated` when it has not started yet: what an earlier launch has
    ///   left is then offered to it again.
    func carry(_ file: URL, id: UUID, header: Data) throws(ConnectionError)
    /// Takes a file back that is under way. One that is not is fine.
    func cancel(_ id: UUID)
    /// The IDs of the transfers that the platform has under way, those of earlier launches included. Empty before it
    /// has started.
    var outstandingIDs: Set<UUID> { get }
}

/// The receiver of a carrier's events. Safe to call from any thread.
public protocol FileCarrierObserver: AnyObject, Sendable {
    /// Reports the share of a file that has been sent, 0...1.
    func carried(_ id: UUID, fractionCompleted: Double)
    /// The platform is done with the file: the other device has it, or nothing more will come of it.
    func finished(_ id: UUID, error: ConnectionError?)
    /// A file has come, and is moved away before this returns. Blocks as long as that takes: a rename on the same disk.
    /// - Returns: false when the header is none, and the file has been left alone.
    @discardableResult
    func received(_ file: URL, header: Data) -> Bool
}

extension FileCarrier {
    public func carries(to peer: SessionPeer?) -> Bool { true }
}
