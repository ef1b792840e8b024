#if CommandLineTools
    /// What a person reads when the work cannot be done: one line.
    struct ToolError: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// The tool was told to stop.
    struct Interruption: Error {
        let signal: Int32
    }
#endif
