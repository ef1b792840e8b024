#if CommandLineTools && SQLite
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshSQLiteStorage
    import SessionMesh

    /// One side of the delivery test: a `LinkTransport` with a durable store over a Unix socket, which sends as fast as it
    /// is let and writes down what it receives, until it is killed.
    ///
    /// What a receiving app must do to be exact: **do** what the element asks for, and write down that it has, with the
    /// event's id, before it asks its stream for the next element. By asking it says that it is done, and delivery forgets
    /// the element a moment later. A process that dies in between, after the one and before the other, is offered the
    /// element again when it comes back; so it leaves out what it has written down. Here the deed and the note are the
    /// same line of a file. Without such a note an app gets everything at least once, and a few elements twice for each
    /// time that it is killed.
    struct DeliveringPeer: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "delivering-peer", shouldDisplay: false)

        @Option var side: Side
        @Option var folder: String
        @Option var launch: Int
        /// Sends nothing, and receives what is still under way.
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
                    throw CrashTestError("was given \(receipt.tap) twice in one launch")
                }
                try (known.contains(id) ? again : file).write([receipt.line])
            }
        }

        /// A tap is accepted once `send` has returned. One that is killed before it could write that down may arrive all
        /// the same.
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
                        // The other side is gone, and what it is to get fills the queue.
                        break
                    }
                }
                try await Task.sleep(for: .milliseconds(Int.random(in: 0...4)))
            }
        }

        /// The parent holds the other end of standard input and never writes to it.
        private func endWithParent() {
            Thread {
                var byte: UInt8 = 0
                while read(STDIN_FILENO, &byte, 1) != 0 {}
                _exit(0)
            }.start()
        }
    }

    /// One line of what a side has received.
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
        /// Taps of the other side, in the order in which they came.
        var received: URL { url.appendingPathComponent("received") }
        /// Those that came again after a relaunch.
        var receivedAgain: URL { url.appendingPathComponent("received-again") }
        /// Where both sides meet.
        var socket: String { url.deletingLastPathComponent().appendingPathComponent("socket").path }
    }
#endif
