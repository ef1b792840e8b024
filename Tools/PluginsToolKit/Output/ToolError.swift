/// What a person reads when a command cannot do its work: one line that says what to do next.
struct ToolError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
