#if CommandLineTools
    import Foundation

    /// A signal that asks the tool to stop.
    struct Interruption: Error {
        let signal: Int32

        /// Returns when the tool receives such a signal.
        static func wait() async {
            let (signals, signal) = AsyncStream<Int32>.makeStream()
            let watch = await SignalWatch([SIGINT, SIGTERM, SIGHUP]) { signal.yield($0) }
            defer { watch.cancel() }
            for await _ in signals { break }
        }
    }
#endif
