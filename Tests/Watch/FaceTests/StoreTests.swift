import Foundation
import MeshBase
import MeshStorage
import SessionMeshWatchConnectivity
import Testing

@MainActor
@Suite("State that outlives a launch")
struct StoreTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private var file: String { folder.url.appendingPathComponent("Connection.sqlite").path }

    /// The connection of an app without a counterpart.
    private func connection(
        _ session: any WCSessionProviding = WCSession(), _ store: WatchConnection.Configuration.Store = .default
    ) -> WatchConnection {
        WatchConnection(session: session, configuration: .init(localPeer: here, store: store, folder: folder.url))
    }

    @Test func `a stand-in session leaves no file`() {
        for session in [MockWCSession(), PreviewWCSession.connected] as [any WCSessionProviding] {
            let connection = connection(session)
            #expect(connection.store == nil && connection.storeError == nil)
        }
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test func `an app that chooses an in-memory store leaves no file`() {
        let connection = connection(WCSession(), .memory)
        #expect(connection.store == nil && connection.storeError == nil)
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    #if SQLite
        /// Virtual time to wait. It is long, because it passes while the real disk is slow.
        private static let patience = Duration.seconds(1200)

        @Test func `by default, unsent messages and changes survive a relaunch`()
            async throws
        {
            let pair = try PhoneAndWatch(store: .default)
            let (phone, watch) = (pair.phone, pair.watch)
            watch.device.kill()
            await pair.run { phone.connection != nil && watch.connection == nil }
            try await pair.isKept(Note(line: 1), by: phone, Self.patience)
            try phone.counter?.update(Counter(count: 5))
            await pair.run(within: Self.patience) { (try? phone.storedStates().isEmpty) == false }

            pair.launch(phone)
            await pair.run(within: Self.patience) { phone.counter?.value.count == 5 }
            watch.device.launch()
            await pair.run(within: Self.patience) {
                watch.counter?.value.count == 5 && watch.lines.withLock { $0 } == [1]
            }

            pair.launch(watch)
            await pair.run(within: Self.patience) { watch.counter?.value.count == 5 }
            await pair.run(for: .seconds(60))
            #expect(watch.lines.withLock { $0 } == [1])
        }

        @Test func `a second connection finds the file in use, reports it, and works without it`() async throws {
            let first = connection()
            #expect(first.storeError == nil && first.store?.durability == .machine)
            let second = connection()
            #expect((second.storeError as? StorageError)?.code == .busy)
            #expect(second.store == nil)
            #expect(first.problems.isEmpty && second.problems.map(\.code) == [.storeFailed])
            await first.close()
            let third = connection()
            #expect(third.storeError == nil && third.store != nil)
        }

        @Test func `a folder that can't be created is reported, and the connection works without it`() throws {
            try Data().write(to: folder.url.appendingPathComponent("file"))
            let connection = WatchConnection(
                session: WCSession(),
                configuration: .init(localPeer: here, folder: folder.url.appendingPathComponent("file/folder")))
            #expect(connection.storeError != nil && connection.store == nil)
        }
    #else
        @Test func `by default, without the trait, nothing is stored`() {
            #expect(connection().store == nil)
            #expect(!FileManager.default.fileExists(atPath: file))
        }
    #endif
}

#if SQLite
    extension PhoneAndWatch {
        fileprivate func isKept(_ note: Note, by app: App, _ patience: Duration) async throws {
            let connection = try connection(app)
            var isKept = false
            Task {
                await connection.send(note, strategy: .userInfoOnly)
                isKept = true
            }
            await run(within: patience) { isKept }
        }
    }

    extension PhoneAndWatch.App {
        fileprivate func storedStates() throws -> [String] {
            try connection?.store?.catalog(prefix: "sessionmesh.state/").keys ?? []
        }
    }
#endif
