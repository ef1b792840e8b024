#if CommandLineTools && SQLite
    import ArgumentParser
    import Foundation
    import MeshSQLiteStorage
    import SessionMesh

    /// One side: a session over standard input and output that taps as fast as it can, until it is killed or the other
    /// side is gone.
    struct CrashingPeer: AsyncParsableCommand {
        static let configuration = CommandConfiguration(commandName: "peer", shouldDisplay: false)

        @Option var side: Side
        @Option var folder: String
        @Option var launch: Int
        /// Taps nothing, and says how it stands.
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
            let hangUps = transport.reachabilityChanges()
            let session = try await openSession(store, transport, effects: LineFile(folder.effects))
            try transport.start()
            session.start()
            let watcher = Task {
                for await change in hangUps where !change.isReachable { break }
                // As abruptly as a kill.
                _exit(0)
            }
            defer { watcher.cancel() }
            if settles {
                try await settle(session)
            } else {
                try await tap(session, accepted: LineFile(folder.accepted))
            }
        }

        @MainActor
        private func openSession(
            _ store: any SessionStore, _ transport: any SessionSyncTransport, effects: LineFile
        ) async throws -> TapSession {
            var configuration = SyncedSessionConfiguration<Taps, Tap>()
            configuration.store = store
            configuration.exchangeInterval = .milliseconds(20)
            configuration.isHighRate = { _ in true }
            configuration.onConfirmed = { [launch] event in
                try effects.write(["\(launch) \(event.envelope.payload.rawValue)"])
            }
            return try await TapSession.open(
                sessionID: SideFolder.sessionID, featureID: SideFolder.featureID, transport: transport,
                initialState: Taps(), reducer: TapReducer(), conflictPolicy: AcceptingConflictPolicy(),
                configuration: configuration)
        }

        @MainActor
        private func tap(_ session: TapSession, accepted: LineFile) async throws {
            var waiting: [(id: UUID, tap: Tap)] = []
            var number = 0
            while true {
                for _ in 0..<Int.random(in: 1...3) where waiting.count < 500 {
                    number += 1
                    let tap = Tap(side: side, launch: launch, number: number)
                    do {
                        waiting.append((try session.submit(tap).metadata.eventID, tap))
                    } catch SessionSyncError.logFull, SessionSyncError.queueFull {
                        break
                    }
                }
                try await Task.sleep(for: .milliseconds(1))
                let count = waiting.prefix { isAccepted($0.id, session) }.count
                if count > 0 {
                    try accepted.write(waiting.prefix(count).map { "\($0.tap.rawValue)" })
                    waiting.removeFirst(count)
                }
            }
        }

        @MainActor
        private func isAccepted(_ id: UUID, _ session: TapSession) -> Bool {
            switch session.delivery(of: id) {
            case .submitted: false
            default: true
            }
        }

        @MainActor
        private func settle(_ session: TapSession) async throws {
            while true {
                try await Task.sleep(for: .milliseconds(20))
                let standing = Standing(
                    count: session.state.all.count, digest: session.state.digest, confirmed: session.confirmedCount,
                    isSettled: session.isMember && session.peers.allSatisfy { $0.sync == .upToDate }
                        && session.storeError == nil)
                FileHandle.standardError.write(Data((standing.line + "\n").utf8))
            }
        }
    }

    /// How a side stands, as it says itself.
    struct Standing: Hashable, Sendable {
        var count: Int
        var digest: UInt64
        var confirmed: UInt64
        var isSettled: Bool

        init(count: Int, digest: UInt64, confirmed: UInt64, isSettled: Bool) {
            self.count = count
            self.digest = digest
            self.confirmed = confirmed
            self.isSettled = isSettled
        }

        var line: String { "standing \(count) \(digest) \(confirmed) \(isSettled ? 1 : 0)" }

        init?(line: Substring) {
            let words = line.split(separator: " ")
            guard words.count == 5, words[0] == "standing", let count = Int(words[1]), let digest = UInt64(words[2]),
                let confirmed = UInt64(words[3])
            else { return nil }
            self.init(count: count, digest: digest, confirmed: confirmed, isSettled: words[4] == "1")
        }
    }

    extension Side: ExpressibleByArgument {
        init?(argument: String) {
            guard let side = Side.allCases.first(where: { "\($0)" == argument }) else { return nil }
            self = side
        }
    }
#endif
