public import Foundation

/// The checkout that the tests were built from.
public enum Checkout {
    public static let root = (0..<4).reduce(URL(filePath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    /// The folder of committed bytes and texts: `Tests/Fixtures`.
    public static let fixtures = root.appending(path: "Tests/Fixtures")
    /// The folder of scripts that act as another implementation: `Tests/Interop`.
    public static let interop = root.appending(path: "Tests/Interop")
}
