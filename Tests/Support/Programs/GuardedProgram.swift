#if os(Linux) || os(macOS)
    package import Foundation
    import MeshBase

    /// A program that ends with this process, however this process ends. Also ends when it is deallocated.
    ///
    /// It leads its own process group. A shell in the group waits until a socket closes, and then ends the group. Only
    /// this process holds the socket's other end. Linux' parent death signal won't do, because it follows the thread
    /// that started the program. Foundation's `Process` isn't used for waiting. On Linux it learns of a program's end
    /// from a socket that the program's children inherit. A program that leaves a child behind would not end before
    /// that child (swift-corelibs-foundation, issue 4795).
    package final class GuardedProgram: Sendable {
        package struct Failure: Error, CustomStringConvertible {
            package let description: String
        }

        /// Starts the waiting shell and then becomes the program, which doesn't keep the socket. `$0` is the folder,
        /// and `kill 0` ends the group, itself included.
        private static let script = """
            { read -r _; rm -rf -- "$0"; kill -KILL 0; } <&3 3<&- >/dev/null 2>&1 &
            exec "$@" 3<&-
            """

        private let number: pid_t
        private let guardSocket: Int32
        private let hasEnded = Locked(false)

        /// - Parameters:
        ///   - command: The program and its arguments. A name that isn't a path is looked for in PATH. A program that
        ///     doesn't exist ends at once.
        ///   - input: Its standard input; `output` and `errors` are its outputs. A missing handle is /dev/null. It
        ///     inherits no other open descriptor, and no blocked or ignored signals.
        ///   - folder: A folder to remove if this process ends before the program does.
        /// - Throws: `Failure` with the system's message if it can't start a process.
        package init(
            _ command: [String], input: FileHandle? = nil, output: FileHandle? = nil, errors: FileHandle? = nil,
            folder: URL? = nil
        ) throws {
            let (near, far) = try Self.sockets()
            defer { close(far) }
            let streams = [input, output, errors].map { $0?.fileDescriptor }
            do {
                number = try Self.start(["sh", "-c", Self.script, folder?.path ?? ""] + command, streams + [far])
            } catch {
                close(near)
                throw error
            }
            guardSocket = near
        }

        deinit { end() }

        package var isRunning: Bool {
            hasEnded.withLock { hasEnded in
                if !hasEnded, Self.hasEnded(number, WNOHANG) {
                    // No other group gets this number until the shell is gone and the program is collected.
                    kill(-number, SIGKILL)
                    _ = waitpid(number, nil, 0)
                    close(guardSocket)
                    hasEnded = true
                }
                return !hasEnded
            }
        }

        /// Sends a signal. Does nothing once the program has ended.
        package func send(_ signal: Int32) { hasEnded.withLock { if !$0 { _ = kill(number, signal) } } }

        /// Blocks the thread until the program has ended, by itself or by a signal.
        package func wait() {
            while isRunning { _ = Self.hasEnded(number, 0) }
        }

        /// Sends the program a signal, and blocks the thread until it has ended, which SIGKILL causes at once.
        package func end(_ signal: Int32 = SIGKILL) {
            send(signal)
            wait()
        }

        /// True if the process has ended. Doesn't collect it, so that its number isn't reused.
        private static func hasEnded(_ number: pid_t, _ option: Int32) -> Bool {
            var info = siginfo_t()
            let result = waitid(P_PID, id_t(number), &info, WEXITED | WNOWAIT | option)
            return result == 0 ? info.si_signo != 0 : errno != EINTR
        }

        private static func sockets() throws -> (near: Int32, far: Int32) {
            var ends: [Int32] = [-1, -1]
            // A program that is started meanwhile doesn't inherit them.
            #if canImport(Darwin)
                let result = socketpair(AF_UNIX, SOCK_STREAM, 0, &ends)
                for end in ends where result == 0 { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
            #else
                let result = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends)
            #endif
            guard result == 0 else { throw Failure(description: "no socket: \(String(cString: strerror(errno)))") }
            return (ends[0], ends[1])
        }

        /// - Parameter streams: Its descriptors from 0 on; nil for /dev/null.
        private static func start(_ words: [String], _ streams: [Int32?]) throws -> pid_t {
            #if canImport(Darwin)
                var (actions, attributes) = (posix_spawn_file_actions_t?.none, posix_spawnattr_t?.none)
                let inheritsNothing = POSIX_SPAWN_CLOEXEC_DEFAULT
            #else
                var (actions, attributes) = (posix_spawn_file_actions_t(), posix_spawnattr_t())
                let inheritsNothing: Int32 = 0
            #endif
            posix_spawn_file_actions_init(&actions)
            posix_spawnattr_init(&attributes)
            defer {
                posix_spawn_file_actions_destroy(&actions)
                posix_spawnattr_destroy(&attributes)
            }
            for (index, stream) in streams.enumerated() {
                if let stream {
                    posix_spawn_file_actions_adddup2(&actions, stream, Int32(index))
                } else {
                    posix_spawn_file_actions_addopen(&actions, Int32(index), "/dev/null", O_RDWR, 0)
                }
            }
            #if !canImport(Darwin)
                closeOthers(from: Int32(streams.count), &actions)
            #endif
            var (none, all) = (sigset_t(), sigset_t())
            sigemptyset(&none)
            sigfillset(&all)
            posix_spawnattr_setsigmask(&attributes, &none)
            posix_spawnattr_setsigdefault(&attributes, &all)
            posix_spawnattr_setpgroup(&attributes, 0)
            let flags = Int32(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | inheritsNothing
            posix_spawnattr_setflags(&attributes, Int16(flags))
            var number: pid_t = 0
            let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
            defer { for argument in arguments { free(argument) } }
            let code = posix_spawn(&number, "/bin/sh", &actions, &attributes, arguments, environ)
            guard code == 0 else { throw Failure(description: "\(words[4]): \(String(cString: strerror(code)))") }
            return number
        }

        #if !canImport(Darwin)
            /// Closes all other descriptors. glibc has had the function since 2.34, and Swift doesn't import it. On
            /// older systems the program inherits descriptors that other code hasn't marked.
            private static func closeOthers(from first: Int32, _ actions: inout posix_spawn_file_actions_t) {
                typealias AddCloseFrom = @convention(c) (UnsafeMutableRawPointer, Int32) -> Int32
                guard let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") else { return }
                _ = unsafeBitCast(symbol, to: AddCloseFrom.self)(&actions, first)
            }
        #endif
    }
#endif
