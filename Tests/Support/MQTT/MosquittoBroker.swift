#if MQTT
    package import Foundation
    import MeshBase
    package import MeshMQTTTransport
    import MeshPrograms

    /// A real Mosquitto on a free port of the loopback address, for tests and the conformance rules. Ends when it is
    /// deallocated or this process ends.
    package final class MosquittoBroker: Sendable {
        package struct Failure: Error, CustomStringConvertible {
            package let description: String

            package init(description: String) { self.description = description }
        }

        /// True if Mosquitto is installed on this machine.
        package static var isInstalled: Bool { program != nil }

        package let port: UInt16
        package let folder: URL
        private let settings: [String]
        private let running = Locked<GuardedProgram?>(nil)

        /// - Parameter settings: Lines of mosquitto.conf in addition to listener and access.
        /// - Throws: `Failure` if there is no Mosquitto, or it doesn't start.
        package init(_ settings: [String] = ["allow_anonymous true"]) throws {
            port = try Self.freePort()
            self.settings = settings
            folder = FileManager.default.temporaryDirectory.appending(path: "mesh-broker-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            try start()
        }

        deinit {
            kill()
            try? FileManager.default.removeItem(at: folder)
        }

        package var broker: MQTTBroker { MQTTBroker(host: "127.0.0.1", port: port) }

        /// Starts again with the broker's stored state.
        package func start() throws {
            let file = folder.appending(path: "mosquitto.conf")
            let user = getuid() == 0 ? ["user root"] : []
            let lines = ["listener \(port) 127.0.0.1", "persistence_location \(folder.path)/"] + user + settings
            try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: file)
            guard let program = Self.program else {
                throw Failure(description: "there is no mosquitto on this machine")
            }
            let log = folder.appending(path: "log")
            try Data().write(to: log)
            let output = try FileHandle(forWritingTo: log)
            let process = try GuardedProgram(
                [program, "-c", file.path], output: output, errors: output, folder: folder)
            running.withLock { $0 = process }
            while !Self.answers(at: port) {
                guard process.isRunning else {
                    let said = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
                    throw Failure(description: "mosquitto has ended: \(said)")
                }
                Thread.sleep(forTimeInterval: 0.005)
            }
        }

        /// Ends the broker with SIGTERM. It first writes its state to disk.
        package func stop() { end(SIGTERM) }

        /// Kills the broker, as in a crash.
        package func kill() { end(SIGKILL) }

        private func end(_ signal: Int32) { running.withLock { $0.take() }?.end(signal) }

        private static let program = [
            "/usr/sbin/mosquitto", "/usr/local/sbin/mosquitto", "/opt/homebrew/sbin/mosquitto",
        ]
        .first { FileManager.default.isExecutableFile(atPath: $0) }

        private static func freePort() throws -> UInt16 {
            try withSocket(port: 0) { descriptor, address in
                guard address({ bind(descriptor, $0, $1) }) == 0 else { throw Failure(description: "no free port") }
                var bound = sockaddr_in()
                var count = socklen_t(MemoryLayout<sockaddr_in>.size)
                _ = withUnsafeMutablePointer(to: &bound) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &count) }
                }
                return UInt16(bigEndian: bound.sin_port)
            }
        }

        private static func answers(at port: UInt16) -> Bool {
            (try? withSocket(port: port) { descriptor, address in address { connect(descriptor, $0, $1) } == 0 })
                ?? false
        }

        private static func withSocket<Result>(
            port: UInt16, _ body: (Int32, ((UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32) throws -> Result
        ) throws -> Result {
            #if canImport(Darwin)
                let descriptor = socket(AF_INET, SOCK_STREAM, 0)
            #else
                let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            #endif
            defer { close(descriptor) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            return try body(descriptor) { call in
                withUnsafePointer(to: &address) {
                    $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                        call($0, socklen_t(MemoryLayout<sockaddr_in>.size))
                    }
                }
            }
        }
    }
#endif
