#if CommandLineTools && SQLite
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshSQLiteStorage
    import SessionMesh

    /// One side of the delivery test: a `LinkTransport` with a durable store over a Unix socket. It sends as fast as it
    /// may and records what it receives, until it is killed.
    ///
    /// To process each element exactly once, a receiving app must **do** its work and record that, with the event's ID,
    /// before it requests the next element from its stream. The request signals that the element is done, and delivery
    /// forgets it a moment later. If a process dies after the record and before the request, it is offered the element
    /// again when it returns. It then skips what it has recorded. Here the work and the record are the same line of a
    /// file. Without such a record an app gets everything at least once, and a few elements twice for each kill.
    struct DeliveringPeer: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "delivering-peer", shouldDisplay: false)

        @Option var side: Side
        @Option var folder: String
        @Option var launch: Int
        /// Sends nothing, and receives what is still in flight.
        @Flag var settles = false

        func run() async throws {
            do {
                try await live()
            } catch {
                FileHandle.standardError.write(Data("failed \(error)\n".utf8))
                throw ExitCode.failure
            }
        }

        private func live() async throws {
            endWithParent()
            let folder = try SideFolder(side, in: URL(fileURLWithPath: folder))
            let store = try SQLiteStore(
                path: folder.store.appendingPathComponent("delivery.sqlite").path, sync: .normal)
            let transport = try LinkTransport(
                localPeer: SessionPeer(
                    id: "\(side)", deviceClass: .unknown, appInstanceID: "\(launch)", topology: .sameHost),
                link: PipeLink(.meeting(path: folder.socket)), store: store)
            let envelopes = transport.receiveEnvelopes()
            try transport.start()
            async let receiving: Void = receive(envelopes, folder)
            if !settles { try await send(over: transport, folder) }
            try await receiving
        }

        private func receive(_ envelopes: AsyncStream<AnySessionSyncEnvelope>, _ folder: SideFolder) async throws {
            let (file, again) = (try LineFile(folder.received), try LineFile(folder.receivedAgain))
            let known = Set(Receipt.all(in: folder.received).map(\.eventID))
            var new: Set<UUID> = []
            for await envelope in envelopes {
                let id = envelope.metadata.eventID
                let receipt = Receipt(tap: try envelope.decodePayload(as: Tap.self), eventID: id, launch: launch)
                guard new.insert(id).inserted else {
                    throw CrashTestError("got \(receipt.tap) twice in one launch")
                }
                try (known.contains(id) ? again : file).write([receipt.line])
            }
        }

        /// Sends taps. A tap is accepted once `send` has returned. If the process is killed before it can record that,
        /// the tap may arrive anyway.
        private func send(over transport: LinkTransport, _ folder: SideFolder) async throws {
            let accepted = try LineFile(folder.accepted)
            var number = 0
            while true {
                let count = Int.random(in: 1...20)
                let taps = (1...count).map { Tap(side: side, launch: launch, number: number + $0) }
                for tap in taps {
                    let metadata = SessionSyncMetadata(
                        sessionID: SideFolder.sessionID, featureID: SideFolder.featureID, sourcePeerID: "\(side)",
                        sequence: tap.rawValue, causalTimestamp: Date(), payloadType: "tap")
                    let envelope = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: tap))
                    do {
                        try await transport.send(envelope, mode: .reliableEventually, to: nil)
                        number += 1
                        try accepted.write(["\(tap.rawValue)"])
                    } catch SessionSyncError.queueFull {
                        // The other side is gone, and messages for it fill the queue.
                        break
                    }
                }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...4)))
            }
        }

        /// Exits with the parent, which holds the other end of standard input and never writes to it.
        private func endWithParent() {
            Thread {
                var byte: UInt8 = 0
                while read(STDIN_FILENO, &byte, 1) != 0 {}
                _exit(0)
            }.start()
        }
    }

    /// One line of a side's record of received taps.
    struct Receipt {
        let tap: Tap
        let eventID: UUID
        let launch: Int

        init(tap: Tap, eventID: UUID, launch: Int) {
            self.tap = tap
            self.eventID = eventID
            self.launch = launch
        }

        init?(line: Substring) {
            let words = line.split(separator: " ")
            guard words.count == 3, let tap = UInt64(words[0]), let eventID = UUID(uuidString: String(words[1])),
                let launch = Int(words[2])
            else { return nil }
            self.init(tap: Tap(rawValue: tap), eventID: eventID, launch: launch)
        }

        var line: String { "\(tap.rawValue) \(eventID.uuidString) \(launch)" }

        static func all(in file: URL) -> [Receipt] { LineFile.lines(of: file).compactMap(Receipt.init) }
    }

    extension SideFolder {
        /// The other side's taps, in order of arrival.
        var received: URL { url.appendingPathComponent("received") }
        /// Taps that arrived again after a relaunch.
        var receivedAgain: URL { url.appendingPathComponent("received-again") }
        /// The socket at which both sides meet.
        var socket: String { url.deletingLastPathComponent().appendingPathComponent("socket").path }
    }
#endif
