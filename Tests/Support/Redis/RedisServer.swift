#if Redis
    import Foundation
    import MeshBase
    import MeshPrograms
    package import MeshRedisReplay

    /// A redis-server with its own folder, reached through a socket in it and, for replicas, a port. Ends when it is
    /// deallocated or this process ends.
    package final class RedisServer: Sendable {
        package enum Persistence: String, Sendable {
            case none, everySecond, always

            var arguments: [String] {
                switch self {
                case .none: ["--appendonly", "no"]
                case .everySecond: ["--appendonly", "yes", "--appendfsync", "everysec"]
                case .always: ["--appendonly", "yes", "--appendfsync", "always"]
                }
            }
        }

        package let folder: String
        package let port: Int
        private let persistence: Persistence
        private let process = Locked<GuardedProgram?>(nil)

        /// - Throws: The errors of `start`.
        package init(_ persistence: Persistence = .none) throws {
            folder = NSTemporaryDirectory() + "redis-\(UUID().uuidString.prefix(8))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            self.persistence = persistence
            port = Self.freePort()
            try start()
        }

        deinit {
            kill()
            try? FileManager.default.removeItem(atPath: folder)
        }

        package var socket: String { folder + "/socket" }
        package var address: RedisAddress { get throws { try RedisAddress("unix://" + socket) } }

        /// Starts the server, and returns when it answers.
        package func start() throws {
            let server = try GuardedProgram(
                [
                    "redis-server", "--bind", "127.0.0.1", "--port", "\(port)", "--unixsocket", socket, "--save", "",
                    "--dir", folder, "--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1",
                ] + persistence.arguments, folder: URL(filePath: folder))
            process.withLock { $0 = server }
            while (try? command("PING")) != "PONG" {
                guard server.isRunning else { throw CocoaError(.executableLoad) }
                usleep(2000)
            }
        }

        /// Kills the server, as in a power failure.
        package func kill() {
            guard let server = process.withLock({ $0.take() }) else { return }
            server.end()
            try? FileManager.default.removeItem(atPath: socket)
        }

        /// Stops the process until `resume`: it exists but doesn't answer.
        package func pause() { process.withLock { $0 }?.send(SIGSTOP) }
        package func resume() { process.withLock { $0 }?.send(SIGCONT) }

        /// - Returns: The output of Redis' own command-line client.
        @discardableResult
        package func command(_ arguments: String...) throws -> String {
            try Self.command(["-s", socket] + arguments, folder)
        }

        static func command(_ arguments: [String], _ folder: String) throws -> String {
            // Not a pipe: a server that another test starts meanwhile would hold its end open.
            let output = folder + "/said-\(UUID().uuidString)"
            _ = FileManager.default.createFile(atPath: output, contents: nil)
            defer { try? FileManager.default.removeItem(atPath: output) }
            try GuardedProgram(
                ["redis-cli"] + arguments, output: FileHandle(forWritingTo: URL(filePath: output))
            ).wait()
            let data = try Data(contentsOf: URL(filePath: output))
            return String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        }

        static func freePort() -> Int {
            let descriptor = Foundation.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { close(descriptor) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            return withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                    _ = bind(descriptor, generic, length)
                    _ = getsockname(descriptor, generic, &length)
                }
                return Int(UInt16(bigEndian: pointer.pointee.sin_port))
            }
        }
    }
#endif
