/// The version of the session protocol that this library speaks.
public enum SessionSyncProtocol {
    @inlinable public static var currentVersion: Int { 1 }
}
