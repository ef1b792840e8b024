#if Redis
    import Foundation
    import MeshBase
    import MeshRedisLab
    import MeshRedisReplay
    import MeshResumeGateway

    /// A path that leads to one server or another, like a name that is repointed at a failover.
    final class MovingAddress: Sendable {
        let path = NSTemporaryDirectory() + "redis-\(UUID().uuidString.prefix(8))"

        init(to server: RedisServer) throws { try point(to: server) }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        func point(to server: RedisServer) throws {
            try? FileManager.default.removeItem(atPath: path)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: server.socket)
        }

        var address: RedisAddress { get throws { try RedisAddress("unix://" + path) } }
    }

    func event(_ number: Int) throws -> ReplayEvent {
        try ReplayEvent(type: "NUMBER", json: Array("{\"n\":\(number)}".utf8))
    }

    extension RedisReplayBuffer {
        /// - Returns: The last event's position.
        @discardableResult
        func fill(_ numbers: ClosedRange<Int>, of stream: String = "s") async throws -> ReplayPosition {
            var last = ReplayPosition(epoch: 0, sequence: 0)
            for number in numbers { last = try await append(event(number), to: stream) }
            return last
        }

        /// Asks until there is an answer: after a loss, a buffer reconnects on its own schedule.
        func standingAtLast(of stream: String = "s") async throws -> ReplayStanding {
            while true {
                try Task.checkCancellation()
                if let standing = try? await standing(of: stream) { return standing }
                await Task.yield()
            }
        }
    }

    extension RedisServer {
        /// Makes this server a replica, and returns when it has all of the master's data.
        func follow(_ master: RedisServer) throws {
            try command("REPLICAOF", "127.0.0.1", "\(master.port)")
            while try !command("INFO", "replication").contains("master_link_status:up") { usleep(2000) }
        }

        /// Returns when the replica has all appended events.
        func hasCaughtUp(with master: RedisServer) throws {
            let offset = try master.field("master_repl_offset")
            while try (Int(field("slave_repl_offset")) ?? 0) < (Int(offset) ?? 0) { usleep(2000) }
        }

        func promote() throws { try command("REPLICAOF", "NO", "ONE") }

        func field(_ name: String) throws -> String {
            let line = try command("INFO", "replication").split(whereSeparator: \.isNewline)
                .first { $0.hasPrefix(name + ":") }
            return line.map { String($0.dropFirst(name.count + 1)).trimmingCharacters(in: .whitespaces) } ?? ""
        }
    }
#endif
