#if CommandLineTools && SQLite
    import ArgumentParser
    import Foundation
    import MeshSQLiteStorage
    import SessionMesh

    /// One side: a session over standard input and output that taps as fast as it can, until it is killed or the other
    /// side exits.
    struct CrashingPeer: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "peer", shouldDisplay: false)

        @Option var side: Side
        @Option var folder: String
        @Option var launch: Int
        /// Sends no taps, and reports its state.
        @Flag var settles = false

        @MainActor
        func run() async throws {
            do {
                try await live()
            } catch {
                FileHandle.standardError.write(Data("failed \(error)\n".utf8))
                throw ExitCode.failure
            }
        }

        @MainActor
        private func live() async throws {
            let folder = try SideFolder(side, in: URL(fileURLWithPath: folder))
            let store = try SQLiteStore(path: folder.store.appendingPathComponent("session.sqlite").path, sync: .normal)
            let transport = try PipeSessionSyncTransport(
                localPeer: SessionPeer(
                    id: "\(side)", deviceClass: .unknown, appInstanceID: "\(launch)", topology: .sameHost),
                input: STDIN_FILENO, output: STDOUT_FILENO)
            let session = try await openSession(store, transport, effects: LineFile(folder.effects))
            try transport.start()
            session.start()
            endWithInput()
            if settles {
                try await settle(session)
            } else {
                try await tap(session, accepted: LineFile(folder.accepted), recorded: LineFile(folder.recorded))
            }
        }

        /// Exits at the end of input. The other side may die before its hello, which a transport doesn't report.
        private func endWithInput() {
            Thread {
                var input = pollfd(fd: STDIN_FILENO, events: 0, revents: 0)
                while poll(&input, 1, -1) < 0 {}
                // As abrupt as a kill.
                _exit(0)
            }.start()
        }

        @MainActor
        private func openSession(
            _ store: any SessionStore, _ transport: any SessionSyncTransport, effects: LineFile
        ) async throws -> TapSession {
            var configuration = SyncedSessionConfiguration<Taps, Tap>()
            configuration.exchangeInterval = .milliseconds(20)
            configuration.seriesInterval = .milliseconds(50)
            configuration.isHighRate = { _ in true }
            configuration.onConfirmed = { [launch] event in
                try effects.write(["\(launch) \(event.envelope.payload.rawValue)"])
            }
            return try await TapSession.open(
                sessionID: SideFolder.sessionID, featureID: SideFolder.featureID, transport: transport,
                store: store, initialState: Taps(), reducer: TapReducer(), conflictPolicy: AcceptingConflictPolicy(),
                configuration: configuration)
        }

        /// Taps slowly enough for the other side to keep up: taps that only one store has are lost with it.
        @MainActor
        private func tap(_ session: TapSession, accepted: LineFile, recorded: LineFile) async throws {
            // A peer accepts samples of only this many launches.
            let records = launch <= 300
            var samples = 0
            var storedSamples = 0
            var unwritten: [(id: UUID, tap: Tap)] = []
            var underWay: [UUID] = []
            var number = 0
            var wasMember = false
            while true {
                for _ in 0..<Int.random(in: 1...3) where underWay.count < 200 {
                    number += 1
                    let tap = Tap(side: side, launch: launch, number: number)
                    do {
                        let id = try session.submit(tap).metadata.eventID
                        unwritten.append((id, tap))
                        underWay.append(id)
                    } catch SessionSyncError.logFull, SessionSyncError.queueFull {
                        break
                    }
                }
                for _ in 0..<(records ? Int.random(in: 0...40) : 0) {
                    samples += 1
                    try session.record(Pulse(launch: launch, number: samples), in: .pulse)
                }
                try await Task.sleep(for: .milliseconds(1))
                let stored = session.seriesStatuses.first { $0.isOwn }?.storedCount ?? 0
                if stored > storedSamples {
                    storedSamples = stored
                    try recorded.write(["\(launch) \(stored)"])
                }
                let count = unwritten.prefix { session.delivery(of: $0.id).step != .submitted }.count
                if count > 0 {
                    try accepted.write(unwritten.prefix(count).map { "\($0.tap.rawValue)" })
                    unwritten.removeFirst(count)
                }
                if session.isMember != wasMember {
                    wasMember.toggle()
                    say(of: session)
                }
                underWay.removeFirst(underWay.prefix { session.delivery(of: $0).step == .confirmed }.count)
            }
        }

        @MainActor
        private func settle(_ session: TapSession) async throws {
            while true {
                try await Task.sleep(for: .milliseconds(20))
                say(of: session)
            }
        }

        @MainActor
        private func say(of session: TapSession) {
            let standing = Standing(
                count: session.state.all.count, samples: session.summary(of: .pulse).count,
                digest: session.state.digest, confirmed: session.confirmedCount,
                isMember: session.isMember,
                isSettled: session.peers.allSatisfy { $0.sync == .upToDate } && session.storeError == nil
                    && session.seriesStatuses.allSatisfy { $0.storedCount == $0.count })
            FileHandle.standardError.write(Data((standing.line + "\n").utf8))
        }
    }

    /// The state of a side in its own report.
    struct Standing: Hashable, Sendable {
        var count: Int
        var samples: Int
        var digest: UInt64
        var confirmed: UInt64
        var isMember: Bool
        var isSettled: Bool

        var line: String { "standing \(count) \(samples) \(digest) \(confirmed) \(isMember) \(isSettled)" }
    }

    extension Standing {
        init?(line: Substring) {
            let words = line.split(separator: " ")
            guard words.count == 7, words[0] == "standing", let count = Int(words[1]), let samples = Int(words[2]),
                let digest = UInt64(words[3]), let confirmed = UInt64(words[4]),
                let isMember = Bool(String(words[5])), let isSettled = Bool(String(words[6]))
            else { return nil }
            self.init(
                count: count, samples: samples, digest: digest, confirmed: confirmed, isMember: isMember,
                isSettled: isSettled)
        }
    }

    extension Side: ExpressibleByArgument {
        init?(argument: String) {
            guard let side = Side.allCases.first(where: { "\($0)" == argument }) else { return nil }
            self = side
        }
    }
#endif
