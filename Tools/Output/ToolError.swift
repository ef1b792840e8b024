import MeshBase

/// What a person reads when a command cannot do its work: one line that says what to do next, whatever names are
/// in it.
package struct ToolError: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description.printable() }
}
