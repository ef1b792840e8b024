import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

@testable import MeshFileTransfer

@MainActor @Suite struct DiskTests {
    private func offer(
        _ name: String, bytes: UInt64 = 100, id: UUID = UUID(), peerID: String = "phone"
    ) throws -> FileOffer {
        let header = FileHeader(
            id: id, name: name, byteCount: bytes, digest: "0", metadata: nil, isCarried: false)
        return try #require(FileOffer(header, from: peerID, chunkBytesMax: 1000))
    }

    private func inbox(_ pair: TestPair, _ limits: FileTransferLimits = .init(), _ system: SystemFiles = .init()) throws
        -> FileInbox
    {
        try FileInbox(path: pair.root.appendingPathComponent("inbox").path, limits: limits, system: system)
    }

    @Test func `Numbers of the system become errors with a meaning`() {
        #expect(ConnectionError(systemError: ENOENT, path: "/a") == .fileNotFound(url: "/a"))
        for number in [EACCES, EPERM, EROFS, ELOOP] {
            #expect(ConnectionError(systemError: number, path: "/a") == .fileAccessDenied(url: "/a"))
        }
        for number in [ENOSPC, EDQUOT, EFBIG] {
            #expect(ConnectionError(systemError: number, path: "/a") == .insufficientSpace)
        }
        guard case .sessionError(code: Int(EIO), _) = ConnectionError(systemError: EIO, path: "/a") else {
            Issue.record("EIO")
            return
        }
    }

    @Test func `A file that can't be sent throws, and leaves nothing`() async throws {
        let pair = try TestPair(seed: 30)
        let files = try pair.phone.launch()
        func error(_ url: URL, _ metadata: [String: Any]? = nil) async -> ConnectionError? {
            do {
                _ = try await files.transferFile(url, metadata: metadata)
                return nil
            } catch {
                return error
            }
        }
        let missing = pair.root.appendingPathComponent("missing")
        #expect(await error(missing) == .fileNotFound(url: missing.path))
        #expect(await error(pair.root) == .fileAccessDenied(url: pair.root.path))
        let web = try #require(URL(string: "https://example.org/a"))
        #expect(await error(web) == .fileNotFound(url: "https://example.org/a"))
        let url = try pair.makeFile("a", bytes: 10)
        guard
            case .payloadTooLarge(_, _, "file.header") = await error(url, ["a": String(repeating: "x", count: 40_000)])
        else {
            Issue.record("too much metadata")
            return
        }
        guard case .encodingFailed = await error(url, ["a": pair]) else {
            Issue.record("metadata of no property list")
            return
        }
        #expect(files.outstandingFileTransfers.isEmpty)
        #expect(pair.phone.storedNames.isEmpty)
    }

    @Test(arguments: [
        "../../x", "/absolute/path", "", String(repeating: "long", count: 2500), "a\u{0}b", "CON", "..", "offer",
    ])
    func `No name leads out of the folder`(name: String) async throws {
        let pair = try TestPair(seed: 31)
        let files = try pair.watch.launch()
        var received: ReceivedFile?
        files.onFileReceived = { received = $0 }
        // A peer that sends an arbitrary header, with correct bytes.
        let id = UUID()
        let bytes = Data("hello".utf8)
        let path = try pair.makeFile("source", bytes: 0).path
        try bytes.write(to: URL(fileURLWithPath: path))
        let source = try OpenFile(reading: path, system: .init())
        let digest = try await FileDigest.digest(of: source, byteCount: 5)
        let transport = pair.network.makeTransport(localPeer: pair.phone.peer)
        let phone = TransportConnection(transport: transport, clock: pair.network.clock)
        await pair.settle(steps: 20)
        let header = FileHeader(id: id, name: name, byteCount: 5, digest: digest, metadata: nil, isCarried: false)
        try await phone.send(.offer(header, chunkBytesMax: 1000), mode: .reliableEventually, to: "watch")
        await pair.settle(steps: 10)
        let chunk = FileMessage.chunk(id, offset: 0, checksum: FileDigest.checksum(of: bytes), bytes: bytes)
        try await phone.send(chunk, mode: .realtimeBestEffort, to: "watch")
        await pair.settle { received != nil }
        let file = try #require(received)
        #expect(try Data(contentsOf: file.fileURL) == bytes)
        let components = file.fileURL.standardizedFileURL.pathComponents
        #expect(components.starts(with: pair.watch.folder.standardizedFileURL.pathComponents))
        #expect(components.count == pair.watch.folder.pathComponents.count + 3)
        #expect(file.suggestedName == SuggestedName.sanitize(name))
        #expect(
            try FileManager.default.contentsOfDirectory(atPath: pair.root.path).sorted()
                == ["source", "watch"])
    }

    @Test func `A link in the folder is not followed`() throws {
        let pair = try TestPair(seed: 32)
        let inbox = try inbox(pair)
        let outside = pair.root.appendingPathComponent("outside")
        try FileManager.default.createDirectory(at: outside, withIntermediateDirectories: true)
        let first = try offer("a")
        try FileManager.default.createSymbolicLink(
            at: pair.root.appendingPathComponent("inbox/\(first.key)"), withDestinationURL: outside)
        let begun = Result { try inbox.begin(first) }
        #expect(throws: ConnectionError.self) { try begun.get() }
        let second = try offer("b")
        try inbox.begin(second)
        try FileManager.default.createSymbolicLink(
            at: pair.root.appendingPathComponent("inbox/\(second.key)/data"),
            withDestinationURL: outside.appendingPathComponent("b"))
        let opened = Result { try inbox.openPartial(second.key) }
        #expect(throws: ConnectionError.self) { try opened.get() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path).isEmpty)
        // A file from the platform may also be a link.
        let link = pair.root.appendingPathComponent("link")
        try FileManager.default.createSymbolicLink(at: link, withDestinationURL: outside)
        let third = try offer("c")
        let adopted = Result { try inbox.adopt(link.path, for: third) }
        #expect(throws: ConnectionError.self) { try adopted.get() }
    }

    @Test func `A full disk is detected before a transfer, and when it fills up during one`() async throws {
        let pair = try TestPair(seed: 33)
        try pair.phone.launch()
        pair.watch.system.freeBytes = { _ in 1 << 20 }
        try pair.watch.launch()
        let url = try pair.makeFile("a.bin", bytes: 500_000)
        let first = try await pair.begin(url)
        await pair.settle { !first.isTransferring }
        #expect(first.error == .insufficientSpace)
        await pair.watch.crash()
        pair.watch.system = Meter().system(writesMax: 200_000)
        try pair.watch.launch()
        let second = try await pair.begin(url)
        await pair.settle { !second.isTransferring }
        #expect(second.error == .insufficientSpace)
        #expect(second.fractionCompleted < 1)
        await pair.settle(steps: 10)
        #expect(try FileManager.default.contentsOfDirectory(atPath: pair.watch.folder.path).isEmpty)
        #expect(
            pair.watch.diagnostics.contains { event in
                if case .fileTransferFailed(_, .insufficientSpace) = event { true } else { false }
            })
        await pair.watch.crash()
        pair.watch.system = SystemFiles()
        try pair.watch.launch()
        let third = try await pair.begin(url)
        await pair.settle { !third.isTransferring }
        #expect(third.isCompleted)
    }

    @Test func `The inbox is bounded by count and bytes, and has space again once files are taken`() async throws {
        let pair = try TestPair(seed: 34)
        pair.watch.importsFiles = false
        pair.watch.limits.inboxCountMax = 3
        pair.watch.limits.inboxBytesMax = 10_000
        try pair.phone.launch()
        let files = try pair.watch.launch()
        func send(_ name: String, _ bytes: Int) async throws -> FileTransfer {
            let transfer = try await pair.begin(pair.makeFile(name, bytes: bytes))
            await pair.settle { !transfer.isTransferring || transfer.fractionCompleted == 1 }
            return transfer
        }
        let first = try await send("1", 4000)
        let second = try await send("2", 4000)
        #expect(try await send("too many bytes", 4000).error == .insufficientSpace)
        _ = try await send("3", 100)
        #expect(try await send("too many files", 100).error == .insufficientSpace)
        #expect(first.isTransferring && second.isTransferring)
        let waiting = files.receivedFiles
        let file = try #require(await next(of: waiting))
        await file.accept()
        await pair.settle { !first.isTransferring }
        #expect(first.isCompleted)
        #expect(try await send("4", 4000).error == nil)
        // The limit also holds after a relaunch.
        await pair.watch.crash()
        try pair.watch.launch()
        #expect(try await send("5", 100).error == .insufficientSpace)
    }

    @Test func `Every state in which a crash can leave a folder is recognized`() throws {
        let pair = try TestPair(seed: 35)
        func status(_ prepare: (FileInbox, FileOffer, URL) throws -> Void) throws -> FileInbox.Status? {
            let offer = try offer("name.txt", bytes: 5)
            let first = try inbox(pair)
            try first.begin(offer)
            try prepare(first, offer, pair.root.appendingPathComponent("inbox/\(offer.key)"))
            let second = try inbox(pair)
            let status = second.restore().first { $0.key == offer.key }?.status
            second.discard(offer.key)
            #expect(
                !FileManager.default.fileExists(atPath: pair.root.appendingPathComponent("inbox/\(offer.key)").path))
            return status
        }
        func write(_ inbox: FileInbox, _ offer: FileOffer) throws {
            try inbox.openPartial(offer.key).append(Array("hello".utf8))
        }
        #expect(try status { _, _, _ in } == .partial(0))
        #expect(try status { inbox, offer, _ in try inbox.openPartial(offer.key).append([1, 2]) } == .partial(2))
        #expect(
            try status { inbox, offer, folder in
                // Between the two steps of completion.
                try write(inbox, offer)
                let new = folder.appendingPathComponent("file.new")
                try FileManager.default.createDirectory(at: new, withIntermediateDirectories: false)
                try FileManager.default.moveItem(
                    at: folder.appendingPathComponent("data"), to: new.appendingPathComponent("name.txt"))
            } == .partial(5))
        #expect(
            try status { inbox, offer, _ in
                try write(inbox, offer)
                _ = try inbox.complete(offer)
            } == .whole)
        #expect(
            try status { inbox, offer, _ in
                try write(inbox, offer)
                try FileManager.default.removeItem(atPath: inbox.complete(offer))
            } == .moved)
        #expect(
            try status { inbox, offer, _ in
                try write(inbox, offer)
                _ = try inbox.complete(offer)
                inbox.markImported(offer)
            } == .imported)
        #expect(
            try status { _, _, folder in
                try Data("no note".utf8).write(to: folder.appendingPathComponent("offer"))
            } == nil)
    }

    @Test(arguments: ["offer", "settled", "data"])
    func `A folder that can't be read at one launch is kept for the next`(name: String) async throws {
        let pair = try TestPair(seed: 51)
        let first = try inbox(pair)
        let offer = try offer("name.txt", bytes: 5)
        try first.begin(offer)
        try first.openPartial(offer.key).append(Array("hello".utf8))
        if name != "data" { _ = try first.complete(offer) }
        if name == "settled" { first.markImported(offer) }
        let before = first.restore().map(\.status)
        // As on a phone that hasn't been unlocked, or in a process with too many open files.
        var locked = SystemFiles()
        locked.read = { _, _, _ in -Int(EPERM) }
        let unreadable = try inbox(pair, .init(), locked)
        #expect(unreadable.restore().isEmpty)
        // Meanwhile the offer isn't accepted again either.
        let begun = Result { try unreadable.begin(offer) }
        #expect(throws: ConnectionError.idInUse(id: offer.header.id.uuidString)) { try begun.get() }
        let later = try inbox(pair)
        #expect(later.restore().map(\.status) == before && before.count == 1)
        #expect(later.isUnclaimed(offer) == (name == "offer"))
        later.discard(offer.key)
        #expect(try inbox(pair).restore().isEmpty)
    }

    @Test(arguments: ["partial", "whole", "settled"])
    func `Folders that an earlier version named are found`(standing: String) throws {
        let pair = try TestPair(seed: 53)
        let first = try inbox(pair)
        let offer = try offer("name.txt", bytes: 5)
        try first.begin(offer)
        try first.openPartial(offer.key).append(Array("hello".utf8))
        if standing != "partial" { _ = try first.complete(offer) }
        if standing == "settled" { first.markImported(offer) }
        let before = first.restore().map(\.status)
        let root = pair.root.appendingPathComponent("inbox")
        try FileManager.default.moveItem(
            at: root.appendingPathComponent(offer.key), to: root.appendingPathComponent(offer.formerKey))
        // A folder under another file's name belongs to no file.
        let stray = root.appendingPathComponent(String(repeating: "0", count: 32))
        try FileManager.default.copyItem(at: root.appendingPathComponent(offer.formerKey), to: stray)

        let later = try inbox(pair)
        let early = Result { try later.begin(offer) }
        #expect(throws: ConnectionError.idInUse(id: offer.header.id.uuidString)) { try early.get() }
        for _ in 0..<2 {
            let entries = later.restore()
            #expect(entries.map(\.status) == before && entries.map(\.key) == [offer.key])
        }
        #expect(!FileManager.default.fileExists(atPath: stray.path))
        #expect(later.isImported(offer.key) == (standing == "settled"))
    }

    @Test func `A folder that others may write to accepts no files`() throws {
        let pair = try TestPair(seed: 54)
        let path = pair.root.appendingPathComponent("inbox").path
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        for (mode, isFit) in [(0o777, false), (0o757, false), (0o755, true), (0o700, true)] {
            #expect(chmod(path, mode_t(mode)) == 0)
            let result = Result { try inbox(pair) }
            if isFit {
                _ = try result.get()
            } else {
                #expect(throws: ConnectionError.fileAccessDenied(url: path)) { try result.get() }
            }
        }
    }

    @Test func `A folder without a readable note is emptied, whatever it contains`() throws {
        let pair = try TestPair(seed: 52)
        let first = try inbox(pair)
        let offer = try offer("name.txt", bytes: 0)
        try first.begin(offer)
        _ = try first.openPartial(offer.key)
        _ = try first.complete(offer)
        let folder = pair.root.appendingPathComponent("inbox/\(offer.key)")
        try Data("no note".utf8).write(to: folder.appendingPathComponent("offer"))
        #expect(try inbox(pair).restore().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: folder.path))
    }

    @Test(arguments: [29, 31]) func `A partial file whose sender is gone isn't kept forever`(days: Int)
        async throws
    {
        let pair = try TestPair(seed: 39)
        try pair.watch.launch()
        let offer = try offer("a", bytes: 100)
        await pair.watch.crash()
        let inbox = try FileInbox(path: pair.watch.folder.path, limits: .init(), system: .init())
        try inbox.begin(offer)
        let note = pair.watch.folder.appendingPathComponent("\(offer.key)/offer")
        let date = pair.network.now.addingTimeInterval(-Double(days) * 86_400)
        try FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: note.path)
        try pair.watch.launch()
        await pair.settle(steps: 20)
        #expect(FileManager.default.fileExists(atPath: note.path) == (days < 30))
        #expect(pair.watch.files?.incomingFileTransfers.count == (days < 30 ? 1 : 0))
    }

    @Test func `A file that an earlier version left under another name is offered again`() throws {
        let pair = try TestPair(seed: 36)
        let offer = try offer("10:00:00.gpx", bytes: 1)
        let first = try inbox(pair)
        try first.begin(offer)
        try [7].withUnsafeBytes { try first.openPartial(offer.key).append(UnsafeRawBufferPointer(rebasing: $0[..<1])) }
        let place = URL(fileURLWithPath: try first.complete(offer))
        let former = place.deletingLastPathComponent().appendingPathComponent("00.gpx")
        try FileManager.default.moveItem(at: place, to: former)
        #expect(try inbox(pair).restore().map(\.status) == [.whole])
        #expect(FileManager.default.fileExists(atPath: place.path))
    }

    @Test func `Notes of what was imported are bounded`() throws {
        let pair = try TestPair(seed: 36)
        let inbox = try inbox(pair)
        for _ in 0..<FileInbox.importedMax + 5 {
            let offer = try offer("a", bytes: 0)
            try inbox.begin(offer)
            inbox.markImported(offer)
        }
        let left = try FileManager.default.contentsOfDirectory(atPath: pair.root.appendingPathComponent("inbox").path)
        #expect(left.count == FileInbox.importedMax)
    }

    @Test func `Two peers with one ID each have a folder, and neither ends the other's transfer`() async throws {
        let pair = try TestPair(seed: 37)
        try pair.phone.launch()
        try pair.watch.launch()
        let stranger = TestDevice("stranger", pair.network, root: pair.root)
        try stranger.launch()
        let id = UUID()
        #expect(FileInbox.key(peerID: "a", id: id) != FileInbox.key(peerID: "b", id: id))
        let transfer = try await pair.begin(pair.makeFile("a.bin", bytes: 2_000_000), to: pair.watch.peer)
        await pair.settle(step: .milliseconds(1)) { transfer.fractionCompleted > 0.1 }
        let connection = try #require(stranger.connection)
        let lies: [FileMessage] = [
            .imported(transfer.id), .refused(transfer.id, .cancelled), .held(transfer.id), .withdrawn(transfer.id),
            .settled(transfer.id), .missing(transfer.id),
            .ask(transfer.id, held: .max, ranges: [FileRange(offset: .max, count: .max)]),
            .chunk(transfer.id, offset: 0, checksum: 0, bytes: Data(count: 5)),
        ]
        for lie in lies {
            try await connection.send(lie, mode: .reliableEventually, to: "phone")
            try await connection.send(lie, mode: .reliableEventually, to: "watch")
        }
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        #expect(pair.watch.imports == ["a.bin": 1])
    }

    @Test func `Requests for ranges outside a file are ignored`() async throws {
        let pair = try TestPair(seed: 38)
        try pair.phone.launch()
        try pair.watch.launch()
        pair.watch.limits.receivingMax = 0
        let transfer = try await pair.begin(pair.makeFile("a.bin", bytes: 1000))
        let watch = try #require(pair.watch.connection)
        await pair.settle(steps: 20)
        let ranges = [
            FileRange(offset: 0, count: -1), FileRange(offset: 0, count: 0), FileRange(offset: 999, count: 2),
            FileRange(offset: .max, count: 1), FileRange(offset: 0, count: .max), FileRange(offset: 1000, count: 1),
        ]
        try await watch.send(.ask(transfer.id, held: .max, ranges: ranges), mode: .reliableEventually, to: "phone")
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted)
    }
}
