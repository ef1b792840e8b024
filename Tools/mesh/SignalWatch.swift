#if CommandLineTools
    import Dispatch
    import Foundation

    /// Receives signals in the place of the system, until it is cancelled.
    struct SignalWatch {
        private let sources: [any DispatchSourceSignal]
        private let numbers: [Int32]

        /// - Parameter receive: called on a thread of the system's.
        init(_ numbers: [Int32], receive: @escaping @Sendable (Int32) -> Void) {
            self.numbers = numbers
            sources = numbers.map { number in
                // Ignored by the system, so that only the source sees it.
                signal(number, SIG_IGN)
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { receive(number) }
                source.resume()
                return source
            }
        }

        /// From now on the system does what it does by default.
        func cancel() {
            for source in sources { source.cancel() }
            for number in numbers { signal(number, SIG_DFL) }
        }
    }
#endif
