#if os(Linux)
    import Foundation
    import MeshBase

    /// A network for a single thread of this process: a network namespace, which needs root.
    enum OwnNetwork {
        struct Failure: Error {
            var command: String
        }

        /// True if tests may and can create networks. A new thread joins the network of the thread that starts it, even in
        /// thread pools. So these tests need a separate process, and request it by this variable.
        static let isAllowed: Bool = {
            guard ProcessInfo.processInfo.environment["MESH_NETWORK_FAULTS"] != nil else { return false }
            return (try? run([]) { true }) ?? false
        }()

        /// Configures a new network by shell commands, and runs the body on a thread in it.
        static func run<Result: Sendable>(
            _ commands: [String], _ body: @escaping @Sendable () throws -> Result
        ) throws -> Result {
            let outcome = Locked<Swift.Result<Result, any Error>?>(nil)
            let isDone = DispatchSemaphore(value: 0)
            let thread = Thread {
                let result = Swift.Result { () throws -> Result in
                    try leaveNetwork()
                    for command in commands { try shell(command) }
                    return try body()
                }
                outcome.withLock { $0 = result }
                isDone.signal()
            }
            thread.start()
            isDone.wait()
            guard let result = outcome.withLock({ $0 }) else { throw Failure(command: "thread") }
            return try result.get()
        }

        /// Moves the thread to an empty network.
        private static func leaveNetwork() throws {
            typealias Unshare = @convention(c) (Int32) -> Int32
            let newNetwork: Int32 = 0x4000_0000
            guard let symbol = dlsym(nil, "unshare"), unsafeBitCast(symbol, to: Unshare.self)(newNetwork) == 0
            else { throw Failure(command: "unshare") }
        }

        /// Runs a command on the network of the calling thread. Foundation's `Process` would start it from another thread, and so
        /// on another network.
        static func shell(_ command: String) throws {
            var child: pid_t = 0
            let arguments: [UnsafeMutablePointer<CChar>?] = ["sh", "-ec", command].map { (word: String) in strdup(word)
            }
            defer { for argument in arguments { free(argument) } }
            guard posix_spawnp(&child, "sh", nil, nil, arguments + [nil], environ) == 0 else {
                throw Failure(command: command)
            }
            var status: Int32 = 0
            guard waitpid(child, &status, 0) == child, status == 0 else { throw Failure(command: command) }
        }
    }
#endif
