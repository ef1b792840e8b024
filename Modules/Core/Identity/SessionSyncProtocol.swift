/// The version of the session protocol that this library uses.
public enum SessionSyncProtocol {
    /// The protocol version that this library writes into metadata.
    @inlinable public static var currentVersion: Int { 1 }
}
