#if MQTT
    import Foundation
    import MeshBase
    import MeshDelivery
    import MeshMQTTLab
    import MeshMQTTTransport
    import MeshPrograms
    import MeshRelay
    import MeshSecurity
    import MeshTransport

    /// A sender and a receiver at one broker.
    protocol MeasuredWay: AnyObject {
        var arrivals: Arrivals { get }
        /// Sends a message. Waits while there is no space for it.
        func send() throws
        func close()
    }

    /// Counts arrived messages that no call has waited for yet.
    final class Arrivals: @unchecked Sendable {
        private let condition = NSCondition()
        private var count = 0

        func add(_ more: Int = 1) {
            condition.withLock {
                count += more
                condition.signal()
            }
        }

        /// - Throws: `MosquittoBroker.Failure` if the messages don't arrive within two minutes.
        func wait(for wanted: Int) throws {
            try condition.withLock {
                let end = Date(timeIntervalSinceNow: 120)
                while count < wanted {
                    guard condition.wait(until: end) else {
                        throw MosquittoBroker.Failure(
                            description: "\(count) of \(wanted) messages arrived in two minutes")
                    }
                }
                count -= wanted
            }
        }

        /// - Returns: True if a message has arrived within that time.
        func comes(within seconds: Double) -> Bool {
            condition.withLock {
                let end = Date(timeIntervalSinceNow: seconds)
                while count == 0, condition.wait(until: end) {}
                defer { count = 0 }
                return count > 0
            }
        }
    }

    /// Sends until the receiver gets a message, at most for a minute: subscriptions take a moment.
    private func warmUp(_ way: some MeasuredWay) throws {
        let end = ContinuousClock.now + .seconds(60)
        repeat {
            guard ContinuousClock.now < end else {
                throw MosquittoBroker.Failure(description: "the receiver gets no message sent to the broker")
            }
            try way.send()
        } while !way.arrivals.comes(within: 0.1)
        // Earlier messages arrive now or never.
        while way.arrivals.comes(within: 0.3) {}
    }

    /// A path through two programs: lines go into one and come out of the other.
    final class MosquittoPrograms: MeasuredWay {
        let arrivals = Arrivals()
        private let line = [UInt8](repeating: UInt8(ascii: "7"), count: MQTTBenchmark.byteCount) + [UInt8(ascii: "\n")]
        private let input = Pipe()
        private let programs: [GuardedProgram]

        init(_ broker: MosquittoBroker) throws {
            let output = Pipe()
            let common = [
                "-h", "127.0.0.1", "-p", "\(broker.port)", "-V", "5", "-q", "1", "--nodelay", "-t", "measured",
            ]
            programs = [
                try Self.start("mosquitto_sub", common, output: output.fileHandleForWriting),
                try Self.start("mosquitto_pub", common + ["-l"], input: input.fileHandleForReading),
            ]
            // The output's write end closes with the program. The input's read end stays open: writing without a reader would
            // end this process.
            try output.fileHandleForWriting.close()
            Thread.detachNewThread { [arrivals] in
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while case let count = read(output.fileHandleForReading.fileDescriptor, &buffer, buffer.count),
                    count > 0
                {
                    arrivals.add(buffer[..<count].count { $0 == UInt8(ascii: "\n") })
                }
            }
            try warmUp(self)
        }

        deinit { close() }

        private static func start(
            _ program: String, _ arguments: [String], input: FileHandle? = nil, output: FileHandle? = nil
        ) throws -> GuardedProgram {
            let places = ["/usr/bin/", "/usr/local/bin/", "/opt/homebrew/bin/"]
            guard let path = places.map({ $0 + program }).first(where: FileManager.default.isExecutableFile) else {
                throw MosquittoBroker.Failure(
                    description: "there is no \(program); on Debian: apt-get install mosquitto-clients")
            }
            return try GuardedProgram([path] + arguments, input: input, output: output)
        }

        func send() {
            var rest = line[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes {
                    write(input.fileHandleForWriting.fileDescriptor, $0.baseAddress, $0.count)
                }
                guard count > 0 else { return }
                rest = rest.dropFirst(count)
            }
        }

        func close() {
            for program in programs { program.end() }
        }
    }

    /// Retries a send until a link or a client has space for it, at most for two minutes.
    private final class Room: @unchecked Sendable {
        private let semaphore = DispatchSemaphore(value: 0)

        func hasCome() { semaphore.signal() }

        func send(_ body: () throws(LinkError) -> Void) throws {
            let end = ContinuousClock.now + .seconds(120)
            while true {
                do throws(LinkError) { return try body() } catch {
                    guard ContinuousClock.now < end else { throw error }
                    _ = semaphore.wait(timeout: .now() + 0.1)
                }
            }
        }
    }

    /// A path through two bare clients.
    final class MeasuredClients: MeasuredWay {
        let arrivals = Arrivals()
        private let room = Room()
        private let clients: [MosquittoClient]
        private let message = RelayMessage(
            topic: "measured/client", bytes: [UInt8](repeating: 7, count: MQTTBenchmark.byteCount))

        init(_ broker: MosquittoBroker) throws {
            clients = try (0..<2).map {
                try MosquittoClient(broker: broker.broker, clientID: "measured-\($0)", sessionExpiry: .zero)
            }
            clients[0].open(Ear(self.arrivals, room) {})
            clients[1].open(
                Ear(self.arrivals, room) { [client = clients[1]] in client.subscribe(to: ["measured/client"]) })
            try warmUp(self)
        }

        func send() throws { try room.send { () throws(LinkError) in try clients[0].publish(message) } }
        func close() { closeAll(clients) { await $0.close() } }

        private final class Ear: RelayClientObserver {
            private let arrivals: Arrivals
            private let room: Room
            private let begin: @Sendable () -> Void

            init(_ arrivals: Arrivals, _ room: Room, begin: @escaping @Sendable () -> Void) {
                (self.arrivals, self.room, self.begin) = (arrivals, room, begin)
            }

            func nextWill() -> RelayMessage { RelayMessage(topic: "measured/gone", bytes: [0]) }
            func connected() { begin() }
            func subscribed() {}
            func received(_ bytes: UnsafeRawBufferPointer, on topic: String) { arrivals.add() }
            func writable() { room.hasCome() }
            func refused(_ reason: String) {}
            func disconnected(_ reason: String) {}
        }
    }

    /// A path through two links, on the lane `queue`.
    final class MeasuredLinks: MeasuredWay {
        let arrivals = Arrivals()
        private let room = Room()
        private let links: [RelayLink]
        private let receiver: LinkAddress
        private let packet = LinkPacket(
            lane: .queue, bytes: [UInt8](repeating: 7, count: MQTTBenchmark.byteCount))

        init(_ broker: MosquittoBroker) throws {
            let identities = [PeerIdentity(), PeerIdentity()]
            receiver = LinkAddress(identities[1].peerID.description)
            links = try LinkFixture.configurations(identities, broker.broker).map { try RelayLink($0) }
            for link in links { try link.open(Ear(arrivals, room)) }
            try warmUp(self)
        }

        func send() throws { try room.send { () throws(LinkError) in try links[0].send(packet, to: receiver) } }
        func close() { closeAll(links) { await $0.close() } }

        private final class Ear: LinkObserver {
            private let arrivals: Arrivals
            private let room: Room

            init(_ arrivals: Arrivals, _ room: Room) { (self.arrivals, self.room) = (arrivals, room) }

            func found(_ address: LinkAddress, as peerID: String?) { room.hasCome() }
            func connected(_ address: LinkAddress, as peerID: String?) {}
            func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
                arrivals.add()
            }
            func writable(_ address: LinkAddress) { room.hasCome() }
            func disconnected(_ address: LinkAddress, reason: String?) {}
            func failed(_ reason: String) {}
        }
    }

    private func closeAll<End: Sendable>(_ ends: [End], _ close: @escaping @Sendable (End) async -> Void) {
        let done = DispatchSemaphore(value: 0)
        Task {
            for end in ends { await close(end) }
            done.signal()
        }
        done.wait()
    }
#endif
