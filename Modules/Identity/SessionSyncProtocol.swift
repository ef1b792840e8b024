/// The version of the session protocol that this library speaks.
public enum SessionSyncProtocol {
    public static let currentVersion = 1
}
