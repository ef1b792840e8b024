#if os(Linux)
    import Foundation
    import MeshBase

    /// A network that only one thread of this process is on: a network namespace, which needs root.
    enum OwnNetwork {
        struct Failure: Error {
            var command: String
        }

        /// Whether one may be made, and can. A thread that is started from one on another network is on that too, pools'
        /// threads as well; so these tests want a process of their own, and ask for it by this variable.
        static let isAllowed: Bool = {
            guard ProcessInfo.processInfo.environment["MESH_NETWORK_FAULTS"] != nil else { return false }
            return (try? run([]) { true }) ?? false
        }()

        /// Configures a new network by shell commands, and runs the body on a thread that is on it.
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

        /// The thread is on an empty network from now on.
        private static func leaveNetwork() throws {
            typealias Unshare = @convention(c) (Int32) -> Int32
            let newNetwork: Int32 = 0x4000_0000
            guard let symbol = dlsym(nil, "unshare"), unsafeBitCast(symbol, to: Unshare.self)(newNetwork) == 0
            else { throw Failure(command: "unshare") }
        }

        /// A child process is on the network of the thread that starts it, which is why Foundation's Process, which has
        /// threads of its own to start them, is of no use.
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
