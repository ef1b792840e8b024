#if Redis
    import Foundation
    import MeshPrograms

    /// A Redis Sentinel that watches one master, which it calls `one`. Ends when it is deallocated or this process ends.
    ///
    /// It fails over only when told to, so that no busy machine decides.
    package final class RedisSentinelServer: Sendable {
        private let folder: String
        package let port: Int
        private let process: GuardedProgram

        /// Starts a Sentinel, and returns when it answers.
        package init(of master: RedisServer) throws {
            folder = NSTemporaryDirectory() + "redis-\(UUID().uuidString.prefix(8))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            port = RedisServer.freePort()
            let settings = """
                port \(port)
                bind 127.0.0.1
                dir \(folder)
                sentinel monitor one 127.0.0.1 \(master.port) 1
                sentinel down-after-milliseconds one 3600000

                """
            // Sentinel writes what it learns into this file.
            try settings.write(toFile: folder + "/sentinel", atomically: true, encoding: .utf8)
            process = try GuardedProgram(
                ["redis-server", folder + "/sentinel", "--sentinel"], folder: URL(filePath: folder))
            while (try? command("PING")) != "PONG" {
                guard process.isRunning else { throw CocoaError(.executableLoad) }
                usleep(2000)
            }
        }

        deinit {
            process.end()
            try? FileManager.default.removeItem(atPath: folder)
        }

        /// - Returns: The output of Redis' own command-line client.
        @discardableResult
        package func command(_ arguments: String...) throws -> String {
            try RedisServer.command(["-p", "\(port)"] + arguments, folder)
        }

        /// Replaces the master by its replica, and returns when that is announced.
        package func failOver(to replica: RedisServer) throws {
            // It refuses until it has found the replica.
            while try command("SENTINEL", "FAILOVER", "one") != "OK" { usleep(20_000) }
            while try !masterFields().contains("port\n\(replica.port)\n") { usleep(20_000) }
        }

        private func masterFields() throws -> String { try command("SENTINEL", "MASTER", "one") }
    }
#endif
