import Foundation
import MeshBase
import MeshTestSupport
import MeshTransport
import Testing

@testable import MeshPipeTransport

/// A process of another user on the same machine isn't admitted, whether it listens or connects.
@Suite(.enabled(if: Stranger.isPossible, Stranger.needsRoot)) struct StrangerTests {
    /// A folder with the mode of /tmp: every user may create files, and none may remove another's.
    private func sharedPlace() throws -> Place {
        let place = try Place()
        #expect(chmod(place.folder, 0o1777) == 0)
        return place
    }

    private static func endpoints(_ path: String) -> [PipeEndpoint] {
        [.listening(path: path), .connecting(path: path), .meeting(path: path)]
    }

    @Test func `Another user's file or process at the path is refused when the link opens`() async throws {
        for (script, line) in [(Stranger.listens, "listens"), (Stranger.locks, "locks")] {
            let place = try sharedPlace()
            let stranger = try await Stranger.start(script, at: place.path, says: line)
            defer { stranger.terminate() }
            for endpoint in Self.endpoints(place.path) {
                // A connecting link makes no lock, and finds no listener there.
                if script == Stranger.locks, endpoint == .connecting(path: place.path) { continue }
                let transport = try PipeSessionSyncTransport(localPeer: Sample.peer("phone"), over: endpoint)
                let error = #expect(throws: PipeError.self, "\(endpoint)") { try transport.start() }
                #expect(error?.code == .otherUser, "\(endpoint)")
                #expect(error?.message.contains("$XDG_RUNTIME_DIR") == true)
                #expect(error?.message.contains("\(Stranger.user)") == true)
                await transport.close()
            }
        }
    }

    @Test func `Another user's listener gets nothing, even behind a socket that looks like an own one`()
        async throws
    {
        let place = try sharedPlace()
        let stranger = try await Stranger.start(Stranger.listens, at: place.path, says: "listens")
        defer { stranger.terminate() }
        #expect(chown(place.path, geteuid(), getegid()) == 0)
        let diagnostics = Topic<SessionDiagnosticEvent>()
        let events = diagnostics.subscribe()
        let transport = try PipeSessionSyncTransport(
            localPeer: Sample.peer("phone"), over: .connecting(path: place.path), diagnostics: diagnostics)
        var refusals = transport.link.refusals().makeAsyncIterator()
        try transport.start()
        try #require(await stranger.line() == "0 bytes")
        #expect(await refusals.next()?.code == .otherUser)
        await transport.close()
        diagnostics.finish()
        #expect(await drain(events).rejections.first?.contains("user \(Stranger.user)") == true)

        // The link doesn't mistake the other user's socket for one that a dead process left.
        let listener = try PipeLink(.listening(path: place.path))
        let error = #expect(throws: PipeError.self) { try listener.open(LinkRecorder()) }
        #expect(error?.code == .otherUser)
        await listener.close()
        #expect(place.contents.contains("socket"))
    }

    @Test func `Another user's process is rejected unread, and own processes connect`()
        async throws
    {
        let place = try Place()
        let recorder = LinkRecorder()
        let link = try PipeLink(.meeting(path: place.path))
        var refusals = link.refusals().makeAsyncIterator()
        try link.open(recorder)
        // With its original mode, the socket would reject everyone but root.
        #expect(chmod(place.path, 0o666) == 0)
        let stranger = try await Stranger.start(Stranger.connects, at: place.path)
        defer { stranger.terminate() }
        try #require(await stranger.line() == "0 bytes")
        let refusal = await refusals.next()
        #expect(refusal?.code == .otherUser)
        #expect(refusal?.message.contains("user \(Stranger.user)") == true)
        let connector = try UnixSocketTests.Member(.connecting(path: place.path))
        #expect(await connector.recorder.connection() == "unix:0")
        #expect(await recorder.next() == .connected("unix:0"), "the stranger was reported")
        await connector.link.close()
        await link.close()
        #expect(await refusals.next() == nil)
    }

    @Test func `A folder that another user owns is refused`() async throws {
        let place = try Place()
        #expect(chown(place.folder, Stranger.user, Stranger.user) == 0)
        for endpoint in [PipeEndpoint.listening(path: place.path), .meeting(path: place.path)] {
            let link = try PipeLink(endpoint)
            let error = #expect(throws: PipeError.self) { try link.open(LinkRecorder()) }
            #expect(error?.code == .notPrivate)
            await link.close()
        }
        #expect(place.contents == [])
    }
}
