public import Foundation
public import MeshConnection
public import MeshIdentity

/// A platform service that moves complete files itself, like WatchConnectivity's `transferFile`.
///
/// Requirements for an implementation:
/// - `begin` is called once, before everything else. Hold the observer weakly.
/// - `carry` returns at once. The sender's file stays in place until you report `finished`. Deliver the header unchanged
///   with the file. It has at most 48 KiB.
/// - Report each accepted file as finished once, in this launch or a later one, unless it was cancelled.
/// - When a file arrives, call `received` before the platform's callback returns. It moves the file away.
/// - You may deliver a file twice.
public protocol FileCarrier: AnyObject, Sendable {
    /// Sets the observer of the carrier's events. Transfers of an earlier launch may be reported from here on.
    func begin(_ observer: any FileCarrierObserver)
    /// Indicates whether files to that peer use this platform instead of chunks. Nil means any peer.
    func carries(to peer: SessionPeer?) -> Bool
    /// Starts the transfer of a file by the platform.
    ///
    /// - Throws: the reason why the platform refuses the file. Throw `notActivated` if the platform hasn't started yet. A
    ///   transfer of an earlier launch is then tried again later.
    func carry(_ file: URL, id: UUID, header: Data) throws(ConnectionError)
    /// Cancels the transfer of a file. Does nothing if it isn't under way.
    func cancel(_ id: UUID)
    /// The IDs of the platform's unfinished transfers, including those of earlier launches. Empty before it has started.
    var outstandingIDs: Set<UUID> { get }
}

/// The receiver of a carrier's events. Safe to call from any thread.
public protocol FileCarrierObserver: AnyObject, Sendable {
    /// Reports the share of a file that has been sent, 0...1.
    func carried(_ id: UUID, fractionCompleted: Double)
    /// Reports the end of a transfer: the other device has the file, or it will never arrive.
    func finished(_ id: UUID, error: ConnectionError?)
    /// Moves an arrived file into the inbox before returning. Blocks for a rename, or for a copy from another disk.
    /// - Returns: false if the header can't be read. The file is then left alone.
    @discardableResult
    func received(_ file: URL, header: Data) -> Bool
}

extension FileCarrier {
    public func carries(to peer: SessionPeer?) -> Bool { true }
}
