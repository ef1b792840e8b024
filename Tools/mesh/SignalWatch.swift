#if CommandLineTools
    import Dispatch
    import Foundation

    /// Receives signals instead of their default action until cancelled.
    struct SignalWatch {
        private let sources: [any DispatchSourceSignal]
        private let numbers: [Int32]

        /// Returns once no signal can be missed. Until then signals have their default action.
        /// - Parameter receive: Called on a thread of the system.
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
                    // On Darwin a source doesn't suppress the default action.
                    signal(number, SIG_IGN)
                #endif
                sources.append(source)
            }
            self.sources = sources
        }

        /// Restores the default action.
        func cancel() {
            for source in sources { source.cancel() }
            for number in numbers { signal(number, SIG_DFL) }
        }
    }
#endif
