public import Foundation

/// The checkout that the tests were built from.
public enum Checkout {
    public static let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    /// Bytes and texts that are committed: `Tests/Fixtures`.
    public static let fixtures = root.appending(path: "Tests/Fixtures")
    /// The scripts that stand for another implementation: `Tests/Interop`.
    public static let interop = root.appending(path: "Tests/Interop")
}
