#if CommandLineTools
    import Foundation

    /// The random seed of Swift's hashes, on which the order of every dictionary depends, and so the order of encoded JSON.
    enum HashSeed {
        private static let variable = "SWIFT_DETERMINISTIC_HASHING"

        /// Restarts this process with a fixed hash seed, unless it has one. The same simulation seed then always runs the same
        /// course. If the system doesn't start the program again, this process continues.
        static func fix() {
            guard ProcessInfo.processInfo.environment[variable] == nil,
                let program = Bundle.main.executablePath
            else { return }
            setenv(variable, "1", 1)
            var arguments = CommandLine.arguments.map { strdup($0) }
            arguments.append(nil)
            execv(program, arguments)
            for argument in arguments { free(argument) }
        }
    }
#endif
