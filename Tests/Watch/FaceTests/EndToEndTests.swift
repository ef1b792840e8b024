import Foundation
import MeshBase
import SessionMeshWatchConnectivity
import Testing

@MainActor
@Suite("A phone and a watch, on a simulated pair")
struct EndToEndTests {
    @Test func `requests are answered both ways, on every lane`() async throws {
        let pair = try PhoneAndWatch()
        await pair.meet()
        for app in [pair.phone, pair.watch] {
            let connection = try pair.connection(app)
            for strategy in DeliveryStrategy.allCases {
                let sum = try await pair.finish {
                    try await connection.send(Add(left: 2, right: 3), strategy: strategy)
                }
                #expect(sum == 5, "\(strategy)")
            }
            #expect(try await pair.finish { try await connection.sendWhenReady(Add(left: 4, right: 3)) } == 7)
        }
        await pair.run(for: .seconds(20))
        #expect(pair.phone.sums.withLock { $0.count } == 6)
        #expect(pair.watch.sums.withLock { $0.count } == 6)
    }

    @Test func `a fire-and-forget request runs once, on every lane`() async throws {
        let pair = try PhoneAndWatch()
        await pair.meet()
        for app in [pair.phone, pair.watch] {
            let connection = try pair.connection(app)
            for (line, strategy) in DeliveryStrategy.allCases.enumerated() {
                try await pair.finish { await connection.send(Note(line: line), strategy: strategy) }
                await pair.run(for: .seconds(1))
            }
        }
        await pair.run(for: .seconds(20))
        #expect(pair.phone.lines.withLock { $0.sorted() } == [0, 1, 2, 3, 4])
        #expect(pair.watch.lines.withLock { $0.sorted() } == [0, 1, 2, 3, 4])
    }

    @Test func `a pairing that the user removes is a problem of the phone's connection`() async throws {
        let pair = try PhoneAndWatch()
        await pair.meet()
        let connection = try pair.connection(pair.phone)
        #expect(connection.problems.isEmpty)
        pair.watch.device.isPaired = false
        await pair.run(for: .seconds(2))
        #expect(connection.problems.map(\.code.description) == ["notPaired"])
    }

    @Test func `two states, updated together and fast, are the same on both`() async throws {
        let pair = try PhoneAndWatch()
        try pair.phone.title?.update(Title(name: "before it is activated"))
        await pair.meet()
        for count in 1...8 {
            try pair.phone.counter?.update(Counter(count: count))
            try pair.phone.title?.update(Title(name: "\(count)"))
        }
        await pair.run { pair.watch.counter?.value.count == 8 && pair.watch.title?.value.name == "8" }
        try pair.watch.counter?.update(Counter(count: 9))
        await pair.run { pair.phone.counter?.value.count == 9 }
        // None of it stays in the context under WatchConnectivitySwift's names.
        await pair.run(for: .seconds(5))
        for device in [pair.pair.phone, pair.pair.watch] {
            let keys = device.session?.applicationContext.keys.filter { $0.hasPrefix("WatchConnectivitySwift.") }
            #expect(keys?.isEmpty == true)
        }
    }

    @Test func `files arrive whole, with their metadata, and are acknowledged`() async throws {
        let pair = try PhoneAndWatch()
        await pair.meet()
        let text = String(repeating: "a track, ", count: 20_000)
        for (from, to) in [(pair.phone, pair.watch), (pair.watch, pair.phone)] {
            let connection = try pair.connection(from)
            let file = try pair.write("track-\(from.peer.id)", text)
            let transfer = try await pair.finish { try await connection.transferFile(file, metadata: ["id": "7"]) }
            try await pair.finish { try await transfer.waitForCompletion() }
            #expect(transfer.fractionCompleted == 1)
            #expect(to.files.withLock { $0 } == ["7: \(text)"])
            await pair.run { connection.activeFileTransferCount == 0 }
        }
    }

    /// The sender's app ends before the system has the file, during the transfer, or after its arrival.
    @Test(arguments: [0, 1000, 5000]) func `a file survives its sender's app, and arrives once`(
        milliseconds: Int
    ) async throws {
        let pair = try PhoneAndWatch()
        await pair.meet()
        let text = String(repeating: "a track, ", count: 200_000)
        let file = try pair.write("track", text)
        let phone = try pair.connection(pair.phone)
        _ = try await pair.finish { try await phone.transferFile(file, metadata: ["id": "7"]) }
        await pair.run(for: .milliseconds(milliseconds))
        pair.phone.end()
        pair.phone.device.kill()
        await pair.run(for: .milliseconds(500))
        // The app checks its files before the session is active.
        pair.pair.conditions.activationDelay = .seconds(1) ... .seconds(1)
        pair.launch(pair.phone)
        await pair.run { pair.watch.files.withLock { $0.count } == 1 }
        await pair.run(for: .seconds(90))
        #expect(try pair.connection(pair.phone).activeFileTransferCount == 0)
        #expect(pair.watch.files.withLock { $0 } == ["7: \(text)"])
    }

    @Test func `a file that arrives while the folder is unusable is reported, and arrives again once it is usable`()
        async throws
    {
        let pair = try PhoneAndWatch()
        await pair.meet()
        pair.watch.end()
        pair.watch.device.kill()
        let folder = pair.watch.folder.appendingPathComponent("Files")
        try FileManager.default.removeItem(at: folder)
        try Data().write(to: folder)
        pair.launch(pair.watch)
        await pair.meet()
        let streamed = Recorder(try pair.connection(pair.watch).receivedFiles)
        let phone = try pair.connection(pair.phone)
        let file = try pair.write("track", "a track")
        let transfer = try await pair.finish { try await phone.transferFile(file, metadata: ["id": "7"]) }
        await pair.run(for: .seconds(10))
        #expect(pair.pair.phone.session?.outstandingFileTransfers.isEmpty == true)
        #expect(transfer.isTransferring)
        #expect(
            pair.watch.events?.all.contains {
                if case .fileTransferFailed(let url, .fileAccessDenied) = $0 { url.path == folder.path } else { false }
            } == true)
        try FileManager.default.removeItem(at: folder)
        await pair.run { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        #expect(pair.watch.files.withLock { $0 } == ["7: a track"])
        #expect(streamed.all.map(\.suggestedName) == ["track"])
    }

    @Test func `messages queued for a watch that isn't running arrive once it runs`() async throws {
        let pair = try PhoneAndWatch()
        await pair.meet()
        pair.watch.end()
        pair.watch.device.kill()
        let phone = try pair.connection(pair.phone)
        for line in 1...5 { try await pair.finish { await phone.send(Note(line: line), strategy: .userInfoOnly) } }
        try pair.phone.counter?.update(Counter(count: 3))
        await pair.run(for: .seconds(30))
        pair.launch(pair.watch)
        await pair.run { pair.watch.lines.withLock { $0.count } == 5 && pair.watch.counter?.value.count == 3 }
        #expect(pair.watch.lines.withLock { $0 } == [1, 2, 3, 4, 5])
    }

    @Test func `every event of a session is reported, even when the user switches watches`() async throws {
        let pair = try PhoneAndWatch(watches: 2)
        await pair.meet()
        pair.pair.switchTo(pair.pair.watches[1])
        await pair.run(for: .seconds(20))
        let all = try #require(pair.phone.events).all
        let sessionEvents = all.filter {
            [.sessionActivated, .sessionBecameInactive, .sessionDeactivated].contains($0)
        }
        #expect(sessionEvents == [.sessionActivated, .sessionBecameInactive, .sessionDeactivated, .sessionActivated])
        #expect(all.contains(.reachabilityChanged(isReachable: true)))
        #expect(all.contains(.reachabilityChanged(isReachable: false)))
        #expect(try pair.connection(pair.phone).activationState.get() == .activated)
    }

    @Test func `recovery of a working pair is proved by a round trip`() async throws {
        let pair = try PhoneAndWatch()
        await pair.meet()
        let phone = try pair.connection(pair.phone)
        try await pair.finish { await phone.attemptRecovery() }
        await pair.run { pair.phone.events?.all.contains(.recoverySucceeded) == true }
        pair.watch.device.suspend()
        pair.phone.device.claimedReachability = true
        await pair.run(for: .seconds(2))
        try await pair.finish { await phone.attemptRecovery() }
        await pair.run {
            pair.phone.events?.all.contains { if case .recoveryFailed = $0 { true } else { false } } == true
        }
    }

    @Test func `a released connection frees the slot, and a later one finds the counterpart`()
        async throws
    {
        let pair = try PhoneAndWatch()
        await pair.meet()
        let app = AppDelegate()
        let session = try #require(pair.pair.phone.session)
        session.delegate = app
        #expect(session.delegate !== app)
        pair.phone.letGo()
        await pair.run { session.delegate === app }
        pair.phone.begin(session)
        await pair.meet()
        let phone = try pair.connection(pair.phone)
        #expect(try await pair.finish { try await phone.send(Add(left: 2, right: 3)) } == 5)
    }

    @Test func `an app's own messages go to its own delegate`() async throws {
        let pair = try PhoneAndWatch()
        let app = AppDelegate()
        let session = try #require(pair.pair.watch.session)
        session.delegate = app
        await pair.meet()
        let sender = try #require(pair.pair.phone.session)
        sender.transferUserInfo(["mine": 1])
        sender.sendMessageData(Data("hello".utf8), replyHandler: nil)
        await pair.run { app.noted.withLock { $0.count } == 2 }
        #expect(Set(app.noted.withLock { $0 }) == [#"info ["mine"]"#, "data 5"])
    }
}
