#if CommandLineTools
    import Dispatch
    import Foundation

    /// Receives signals in the place of the system, until it is cancelled.
    struct SignalWatch {
        private let sources: [any DispatchSourceSignal]
        private let numbers: [Int32]

        /// Returns when none can be missed any more; until then the system does what it does by default.
        /// - Parameter receive: called on a thread of the system's.
        init(_ numbers: [Int32], receive: @escaping @Sendable (Int32) -> Void) async {
            self.numbers = numbers
            var sources: [any DispatchSourceSignal] = []
            for number in numbers {
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { receive(number) }
                await withCheckedContinuation { registered in
                    source.setRegistrationHandler { registered.resume() }
                    source.resume()
                }
                #if canImport(Darwin)
                    // A source does not take a signal away from the system there.
                    signal(number, SIG_IGN)
                #endif
                sources.append(source)
            }
            self.sources = sources
        }

        /// From now on the system does what it does by default.
        func cancel() {
            for source in sources { source.cancel() }
            for number in numbers { signal(number, SIG_DFL) }
        }
    }
#endif
