import Foundation
import MeshBase
import MeshTransport
import Testing

@testable import MeshPipeTransport

/// Links over Unix sockets: roles at the start, and successors when the listener leaves.
@Suite struct UnixSocketTests {
    struct Member {
        let link: PipeLink
        let recorder: LinkRecorder

        init(_ endpoint: PipeEndpoint, seed: UInt64 = 1, whenChanged: @escaping @Sendable () -> Void = {}) throws {
            recorder = LinkRecorder(whenChanged: whenChanged)
            link = try PipeLink(endpoint, seed: seed)
            try link.open(recorder)
        }
    }

    @Test func `Two processes connect; the files are private to this user and gone afterwards`() async throws {
        let place = try Place()
        let listener = try Member(.listening(path: place.path))
        #expect(try place.mode(of: place.path) == 0o600)
        #expect(try place.mode(of: place.path + ".lock") == 0o600)
        let connector = try Member(.connecting(path: place.path))
        #expect(await listener.recorder.next() == .connected("unix:0"))
        #expect(await connector.recorder.next() == .connected("unix:0"))
        try listener.link.send(.text("ping"), to: "unix:0")
        #expect(await connector.recorder.bytes(4) == Array("ping".utf8))
        try connector.link.send(.text("pong"), to: "unix:0")
        #expect(await listener.recorder.bytes(4) == Array("pong".utf8))
        await connector.link.close()
        #expect(await listener.recorder.untilEnd() == ([], nil))
        await listener.link.close()
        #expect(place.contents == [])
    }

    @Test func `Each connection has its own address, and connections beyond the bound are rejected`() async throws {
        let place = try Place()
        let listener = try Member(.listening(path: place.path))
        var members: [Member] = []
        for number in 0..<PipeLink.connectionsMax {
            members.append(try Member(.connecting(path: place.path), seed: UInt64(number)))
            #expect(await members[number].recorder.connection() == "unix:0")
            #expect(await listener.recorder.connection() == LinkAddress("unix:\(number)"))
        }
        for number in 0..<PipeLink.connectionsMax {
            try listener.link.send(.text("\(number % 10)"), to: LinkAddress("unix:\(number)"))
            #expect(await members[number].recorder.bytes(1) == Array("\(number % 10)".utf8))
        }
        let oneTooMany = try Member(.connecting(path: place.path))
        #expect(
            await oneTooMany.recorder.untilEnd().reason == "the other side ended the connection before it sent anything"
        )
        #expect(listener.recorder.connections.count == PipeLink.connectionsMax)
        // It keeps trying, and replaces a member that leaves, under an address not used before.
        await members[3].link.close()
        let address = try #require(await listener.recorder.connection())
        let earlier = (0..<PipeLink.connectionsMax).map { LinkAddress("unix:\($0)") }
        #expect(!earlier.contains(address))
        try listener.link.send(.text("welcome"), to: address)
        #expect(await oneTooMany.recorder.bytes(7) == Array("welcome".utf8))
        for member in members + [oneTooMany, listener] { await member.link.close() }
        #expect(place.contents == [])
    }

    @Test func `A connector waits for a listener, and finds a restarted one`() async throws {
        let place = try Place()
        let connector = try Member(.connecting(path: place.path))
        var addresses: Set<LinkAddress> = []
        for round in 0..<3 {
            let listener = try Member(.listening(path: place.path))
            let address = try #require(await connector.recorder.connection())
            #expect(addresses.insert(address).inserted, "round \(round)")
            #expect(await listener.recorder.connection() == "unix:0", "round \(round)")
            try connector.link.send(.text("round \(round)"), to: address)
            #expect(await listener.recorder.bytes(7) == Array("round \(round)".utf8))
            await listener.link.close()
        }
        await connector.link.close()
    }

    @Test func `An exited process's socket is replaced`() async throws {
        let place = try Place()
        // A killed process leaves both files, without a listener.
        let dead = try UnixSocketPath(place.path).listen(backlog: 1)
        close(dead)
        try Data().write(to: URL(fileURLWithPath: place.path + ".lock"))
        for endpoint in [PipeEndpoint.listening(path: place.path), .meeting(path: place.path)] {
            let listener = try Member(endpoint)
            let connector = try Member(.connecting(path: place.path))
            #expect(await connector.recorder.connection() == "unix:0")
            await connector.link.close()
            await listener.link.close()
        }
    }

    @Test func `A path at which another process listens is refused`() async throws {
        let place = try Place()
        let listener = try Member(.listening(path: place.path))
        let second = try PipeLink(.listening(path: place.path))
        let error = #expect(throws: PipeError.self) { try second.open(LinkRecorder()) }
        #expect(error?.description == "addressInUse: another process listens at \(place.path)")
        // The first listener wasn't disturbed.
        let connector = try Member(.connecting(path: place.path))
        #expect(await connector.recorder.connection() == "unix:0")
        await connector.link.close()
        await listener.link.close()
        // Now the address is free.
        try second.open(LinkRecorder())
        await second.close()

        // A process that doesn't use our lock files.
        let stranger = try UnixSocketPath(place.path).listen(backlog: 4)
        let third = try PipeLink(.listening(path: place.path))
        let refusal = #expect(throws: PipeError.self) { try third.open(LinkRecorder()) }
        #expect(refusal?.code == .addressInUse)
        await third.close()
        let guest = try Member(.meeting(path: place.path))
        #expect(await guest.recorder.connection() == "unix:0")
        await guest.link.close()
        close(stranger)
    }

    @Test func `Another kind of file at the path is left alone`() async throws {
        let place = try Place()
        try Data("precious".utf8).write(to: URL(fileURLWithPath: place.path))
        for endpoint in [PipeEndpoint.listening(path: place.path), .meeting(path: place.path)] {
            let link = try PipeLink(endpoint)
            let error = #expect(throws: PipeError.self) { try link.open(LinkRecorder()) }
            #expect(error?.code == .invalidPath)
            await link.close()
        }
        #expect(FileManager.default.contents(atPath: place.path) == Data("precious".utf8))
        #expect(place.contents == ["socket"])
        let nowhere = try PipeLink(.listening(path: place.folder + "/missing/socket"))
        let error = #expect(throws: PipeError.self) { try nowhere.open(LinkRecorder()) }
        #expect(error?.code == .systemCallFailed)
        await nowhere.close()
    }

    @Test func `A socket stays if the error doesn't show that no process listens`() async throws {
        let place = try Place()
        let socket = try Plumbing.datagramSocket(at: place.path)
        defer { close(socket) }
        let link = try PipeLink(.listening(path: place.path))
        let error = #expect(throws: PipeError.self) { try link.open(LinkRecorder()) }
        #expect(error?.code == .systemCallFailed)
        #expect(error?.errorNumber == EPROTOTYPE)
        #expect(place.contents == ["socket"])
        await link.close()
    }

    @Test func `A folder that others may write to is rejected, unless they can't remove each other's files`()
        async throws
    {
        let place = try Place()
        for (mode, isFit) in [(0o777, false), (0o757, false), (0o1777, true), (0o755, true), (0o700, true)] {
            #expect(chmod(place.folder, mode_t(mode)) == 0)
            for endpoint in [PipeEndpoint.listening(path: place.path), .meeting(path: place.path)] {
                let link = try PipeLink(endpoint)
                var code: PipeError.Code?
                do { try link.open(LinkRecorder()) } catch { code = (error as? PipeError)?.code }
                #expect(code == (isFit ? nil : .notPrivate), "\(String(mode, radix: 8)) \(endpoint)")
                await link.close()
            }
        }
        #expect(place.contents == [])
    }

    @Test func `A path must fit the system's address`() throws {
        for count in 0...200 {
            let path = String(repeating: "x", count: count)
            let fits = (1...UnixSocketPath.bytesMax).contains(count)
            for endpoint in [PipeEndpoint.listening(path: path), .connecting(path: path), .meeting(path: path)] {
                let code: PipeError.Code?
                do throws(PipeError) {
                    _ = try PipeLink(endpoint)
                    code = nil
                } catch { code = error.code }
                #expect(code == (fits ? nil : .invalidPath), "\(count) bytes")
            }
        }
        #expect(throws: PipeError.self) { try PipeLink(.listening(path: "a\0b")) }
    }

    @Test("One of many processes listens; when it exits another does", arguments: 0..<10 as Range<UInt64>)
    func meeting(round: UInt64) async throws {
        let place = try Place()
        let changes = AsyncStream.makeStream(of: Void.self)
        var members = try await withThrowingTaskGroup(of: Member.self) { group in
            for number in 0..<5 as Range<UInt64> {
                group.addTask {
                    try Member(.meeting(path: place.path), seed: round &* 100 &+ number) {
                        changes.continuation.yield()
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        var random = SplitMix64(seed: round)
        var change = changes.stream.makeAsyncIterator()
        while members.count > 1 {
            while Self.listener(of: members) == nil { await change.next() }
            // Most of the time the listener leaves.
            let listener = try #require(Self.listener(of: members))
            let gone = members.remove(at: random.upTo(3) == 0 ? 0 : listener)
            await gone.link.close()
        }
        await members[0].link.close()
        #expect(place.contents == [])
    }

    /// The index of the listener, once all others are connected to it and only to it.
    private static func listener(of members: [Member]) -> Int? {
        let listeners = members.indices.filter { members[$0].link.isListening }
        guard listeners.count == 1, let listener = listeners.first else { return nil }
        let isStar = members.indices.allSatisfy { index in
            members[index].recorder.connections.count == (index == listener ? members.count - 1 : 1)
        }
        return isStar ? listener : nil
    }

    @Test func `Waits double from 100 ms to 5 s, reduced by up to half`() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var backoff = SocketKeeper.backoff
            for round in 0..<2 {
                for longest in [100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000] {
                    let wait = backoff.next(&random)
                    #expect(wait > .milliseconds(longest / 2) && wait <= .milliseconds(longest), "seed \(seed)")
                }
                if round == 0 { backoff.reset() }
            }
        }
    }
}
