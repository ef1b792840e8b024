import MeshBase

/// The error that a user sees when a command fails: one line that says what to do next. Unprintable characters in it are
/// replaced.
package struct ToolError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description.printable() }
}
