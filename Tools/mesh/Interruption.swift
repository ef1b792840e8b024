#if CommandLineTools
    /// The tool was told to stop.
    struct Interruption: Error {
        let signal: Int32
    }
#endif
