import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import Testing

@testable import MeshFileTransfer

@MainActor @Suite struct FileTransferTests {
    @Test(arguments: [0, 1, 959, 16_384, 300_000])
    func `A file arrives whole with its name and metadata, and completes once the app has it`(bytes: Int) async throws {
        let pair = try TestPair(seed: 1)
        try pair.phone.launch()
        let watchFiles = try pair.watch.launch()
        var received: [ReceivedFile] = []
        let take = watchFiles.onFileReceived
        watchFiles.onFileReceived = { file in
            received.append(file)
            try take?(file)
        }
        let url = try pair.makeFile("track.gpx", bytes: bytes)
        let transfer = try await pair.begin(url, metadata: ["kind": "track", "count": 3])
        #expect(pair.phone.files?.outstandingFileTransfers.map(\.id) == [transfer.id])
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        #expect(transfer.fractionCompleted == 1)
        #expect(pair.watch.imports == ["track.gpx": 1])
        #expect(try pair.watch.contents["track.gpx"] == Data(contentsOf: url))
        #expect(pair.phone.files?.outstandingFileTransfers.isEmpty == true)
        #expect(received.map(\.id) == [transfer.id])
        #expect(received.first?.metadata?["kind"] as? String == "track")
        #expect(received.first?.metadata?["count"] as? Int == 3)
        #expect(received.first?.byteCount == UInt64(bytes))
        #expect(received.first?.senderID == "phone")
        try await transfer.waitForCompletion()
        // Only the data for a lost acknowledgement is left, and it is removed too.
        await pair.settle(steps: 50)
        #expect(try FileManager.default.contentsOfDirectory(atPath: pair.watch.folder.path).isEmpty)
        #expect(pair.phone.storedNames.isEmpty)
    }

    /// Regression: an empty file is complete without an answer from its sender, so the late offer imported it again.
    @Test func `An offer that arrives after its transfer has ended imports nothing`() async throws {
        let pair = try TestPair(seed: 65)
        try pair.phone.launch()
        try pair.watch.launch()
        let transfer = try await pair.begin(pair.makeFile("track.gpx", bytes: 0))
        await pair.settle { !transfer.isTransferring }
        await pair.settle(steps: 50)
        #expect(try FileManager.default.contentsOfDirectory(atPath: pair.watch.folder.path).isEmpty)
        let header = FileHeader(
            id: transfer.id, name: "track.gpx", byteCount: 0, digest: FileHeader.noDigest, metadata: nil,
            isCarried: false)
        let metadata = SessionSyncMetadata(
            sessionID: TransportConnection.sharedScope, featureID: FileMessage.featureID, sourcePeerID: "phone",
            sequence: 0, causalTimestamp: pair.network.now, payloadType: FileMessage.payloadType)
        let message = FileMessage.offer(header, chunkBytesMax: 1000)
        let envelope = try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: message))
        await pair.watch.connection?.pass(envelope)
        await pair.settle(steps: 50)
        #expect(pair.watch.imports == ["track.gpx": 1])
    }

    @Test func `Both sides report what happens`() async throws {
        let pair = try TestPair(seed: 2)
        try pair.phone.launch()
        try pair.watch.launch()
        let url = try pair.makeFile("a.txt", bytes: 1000)
        let transfer = try await pair.begin(url, metadata: ["a": 1])
        await pair.settle { !transfer.isTransferring }
        let second = try await pair.begin(url)
        second.cancel()
        await pair.settle(steps: 20)
        let sent = pair.phone.diagnostics.map(\.description)
        #expect(
            sent
                == [
                    DiagnosticEvent.fileTransferStarted(fileURL: url, hasMetadata: true),
                    .fileTransferCompleted(fileURL: url),
                    .fileTransferStarted(fileURL: url, hasMetadata: false),
                    .fileTransferFailed(fileURL: url, error: .cancelled),
                ].map(\.description))
        let received = pair.watch.diagnostics.filter { if case .fileReceived = $0 { true } else { false } }
        #expect(received.count == 1)
        #expect(received.first?.description == "received a.txt with metadata")
    }

    @Test func `Progress is multicast, rises, begins with what is and ends with the transfer`() async throws {
        let pair = try TestPair(seed: 3)
        try pair.phone.launch()
        try pair.watch.launch()
        let transfer = try await pair.begin(pair.makeFile("a.bin", bytes: 3_000_000))
        func collect() -> Task<[Double], Never> {
            let updates = transfer.progressUpdates
            return Task {
                var seen: [Double] = []
                for await fraction in updates { seen.append(fraction) }
                return seen
            }
        }
        let first = collect()
        await pair.settle(step: .milliseconds(1)) {
            let far = pair.watch.files?.incomingFileTransfers.first?.fractionCompleted ?? 0
            return transfer.fractionCompleted > 0.3 && far > 0.3
        }
        let now = transfer.fractionCompleted
        let second = collect()
        let incoming = try #require(pair.watch.files?.incomingFileTransfers.first)
        #expect(incoming.isIncoming && incoming.id == transfer.id && incoming.fractionCompleted > 0.3)
        await pair.settle { !transfer.isTransferring }
        #expect(incoming.isCompleted)
        let (all, late) = (await first.value, await second.value)
        #expect(all.first == 0 && all.last == 1 && all == all.sorted() && all.count > 3)
        #expect(late.first == now && late.last == 1)
        #expect(await collect().value == [1])
    }

    @Test(arguments: [true, false]) func `Either side cancels, and nothing is left`(isSender: Bool) async throws {
        let pair = try TestPair(seed: 4)
        try pair.phone.launch()
        try pair.watch.launch()
        let transfer = try await pair.begin(pair.makeFile("a.bin", bytes: 4_000_000))
        await pair.settle(step: .milliseconds(1)) { transfer.fractionCompleted > 0.1 }
        let incoming = try #require(pair.watch.files?.incomingFileTransfers.first)
        #expect(transfer.isTransferring && incoming.isTransferring)
        if isSender { pair.phone.files?.cancelAllFileTransfers() } else { incoming.cancel() }
        await pair.settle { !transfer.isTransferring && !incoming.isTransferring }
        #expect(transfer.error == .cancelled && incoming.error == .cancelled)
        await #expect(throws: ConnectionError.cancelled) { try await transfer.waitForCompletion() }
        await pair.settle(steps: 50)
        #expect(pair.watch.imports.isEmpty)
        #expect(try FileManager.default.contentsOfDirectory(atPath: pair.watch.folder.path).isEmpty)
        #expect(pair.phone.storedNames.isEmpty)
        #expect(pair.phone.files?.outstandingFileTransfers.isEmpty == true)
        #expect(pair.watch.files?.incomingFileTransfers.isEmpty == true)
    }

    @Test func `Sending waits for a peer, and goes to the one that asks first`() async throws {
        let pair = try TestPair(seed: 5)
        try pair.phone.launch()
        let transfer = try await pair.begin(pair.makeFile("a.txt", bytes: 5000))
        await pair.settle(steps: 100)
        #expect(transfer.isTransferring)
        try pair.watch.launch()
        let tablet = TestDevice("tablet", pair.network, root: pair.root)
        try tablet.launch()
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        await pair.settle(steps: 100)
        #expect(pair.watch.imports.count + tablet.imports.count == 1)
        #expect(tablet.files?.incomingFileTransfers.isEmpty == true)
        let named = try await pair.begin(pair.makeFile("b.txt", bytes: 5000), to: tablet.peer)
        await pair.settle { !named.isTransferring }
        #expect(tablet.imports["b.txt"] == 1)
    }

    @Test func `One full peer of several doesn't keep a file from the others`() async throws {
        let pair = try TestPair(seed: 61)
        pair.watch.limits.inboxBytesMax = 10
        try pair.watch.launch()
        let tablet = TestDevice("tablet", pair.network, root: pair.root)
        try tablet.launch()
        try pair.phone.launch()
        await pair.settle(steps: 20)
        pair.network.partition([pair.phone.peer], [tablet.peer])
        let transfer = try await pair.begin(pair.makeFile("a.txt", bytes: 5000))
        await pair.settle(steps: 200)
        pair.network.heal()
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted, "\(transfer.error as Any)")
        #expect(tablet.imports == ["a.txt": 1])
    }

    @Test func `More files than may arrive at once arrive one after the other`() async throws {
        let pair = try TestPair(seed: 6)
        pair.watch.limits.receivingMax = 2
        try pair.phone.launch()
        try pair.watch.launch()
        var transfers: [FileTransfer] = []
        for number in 0..<12 {
            transfers.append(try await pair.begin(pair.makeFile("\(number).bin", bytes: 30_000, seed: UInt64(number))))
        }
        await pair.settle { transfers.allSatisfy { !$0.isTransferring } }
        #expect(transfers.map(\.isCompleted) == Array(repeating: true, count: 12))
        #expect(pair.watch.imports.count == 12)
        #expect(pair.watch.imports.values.allSatisfy { $0 == 1 })
    }

    /// The silent sender's device is either gone, or connected without answering.
    @Test(arguments: [true, false]) func `Silent senders delay no other file, and continue when they are back`(
        isGone: Bool
    ) async throws {
        let pair = try TestPair(seed: 56)
        pair.watch.limits.receivingMax = 2
        try pair.phone.launch()
        try pair.watch.launch()
        let tablet = TestDevice("tablet", pair.network, root: pair.root)
        try tablet.launch()
        for number in 0..<3 {
            let url = try pair.makeFile("\(number)", bytes: 500_000, seed: UInt64(number))
            _ = try await #require(tablet.files).transferFile(url, to: pair.watch.peer)
        }
        await pair.settle(step: .milliseconds(1)) { pair.watch.files?.incomingFileTransfers.count == 3 }
        if isGone { await tablet.crash() } else { pair.network.partition(from: tablet.peer, to: pair.watch.peer) }
        let transfer = try await pair.begin(pair.makeFile("a.bin", bytes: 100_000), to: pair.watch.peer)
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        #expect(pair.watch.imports == ["a.bin": 1])
        if isGone { try tablet.launch() } else { pair.network.heal() }
        await pair.settle(steps: 10_000) { pair.watch.imports.count == 4 }
        #expect(pair.watch.imports == ["a.bin": 1, "0": 1, "1": 1, "2": 1])
    }

    @Test func `More files than may be in flight are rejected, even if they start together`() async throws {
        let pair = try TestPair(seed: 55)
        pair.phone.limits.outstandingMax = 3
        try pair.phone.launch()
        let url = try pair.makeFile("a.bin", bytes: 300_000)
        let begun = (0..<10).map { _ in Task { try await pair.begin(url) } }
        var errors: [ConnectionError] = []
        for task in begun { if case .failure(let error) = await task.result { errors.append(ConnectionError(error)) } }
        let tooMany = ConnectionError.deliveryFailed(reason: "3 transfers are already under way")
        #expect(errors == Array(repeating: tooMany, count: 7))
        #expect(pair.phone.storedNames.count == 3)
        #expect(pair.phone.files?.outstandingFileTransfers.count == 3)
    }

    @Test func `A late subscriber gets the waiting files, and accepting one is enough`() async throws {
        let pair = try TestPair(seed: 7)
        pair.watch.importsFiles = false
        try pair.phone.launch()
        let files = try pair.watch.launch()
        let transfer = try await pair.begin(pair.makeFile("a.txt", bytes: 100))
        await pair.settle { transfer.fractionCompleted == 1 }
        let first = Task { await next(of: files.receivedFiles) }
        let second = Task { await next(of: files.receivedFiles) }
        let file = try #require(await first.value)
        #expect(await second.value?.id == file.id)
        #expect(try Data(contentsOf: file.fileURL).count == 100)
        #expect(transfer.isTransferring)
        await file.accept()
        await file.accept()
        #expect(!FileManager.default.fileExists(atPath: file.fileURL.path))
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted)
    }

    @Test func `Moving a file away accepts it, also for a reader of the stream`() async throws {
        let pair = try TestPair(seed: 8)
        pair.watch.importsFiles = false
        try pair.phone.launch()
        let files = try pair.watch.launch()
        let received = files.receivedFiles
        let transfer = try await pair.begin(pair.makeFile("a.txt", bytes: 100))
        let reader = Task { await next(of: received) }
        await pair.settle { transfer.fractionCompleted == 1 }
        let file = try #require(await reader.value)
        let destination = pair.root.appendingPathComponent("kept.txt")
        try FileManager.default.moveItem(at: file.fileURL, to: destination)
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        #expect(try Data(contentsOf: destination).count == 100)
    }

    @Test func `Transfers that can't continue end with an error for the tasks that wait`() async throws {
        let pair = try TestPair(seed: 9)
        try pair.phone.launch()
        let transfer = try await pair.begin(pair.makeFile("a.txt", bytes: 100))
        let waiter = Task { try await transfer.waitForCompletion() }
        await pair.phone.crash()
        await #expect(throws: ConnectionError.notActivated) { try await waiter.value }
    }

    @Test func `A connection has one FileTransfers, which is released with its last reference`() async throws {
        let pair = try TestPair(seed: 10)
        try pair.phone.launch()
        let connection = try #require(pair.phone.connection)
        let folder = pair.root.appendingPathComponent("other")
        let second = Result { try FileTransfers(connection: connection, folder: folder) }
        #expect(throws: ConnectionError.idInUse(id: "sessionmesh.files")) { try second.get() }
        weak var weakFiles: FileTransfers?
        let other = TestDevice("tablet", pair.network, root: pair.root)
        let transport = pair.network.makeTransport(localPeer: other.peer)
        do {
            let files = try FileTransfers(
                connection: TransportConnection(transport: transport, clock: pair.network.clock), folder: other.folder)
            _ = try await files.transferFile(pair.makeFile("a", bytes: 10))
            weakFiles = files
        }
        await pair.settle { weakFiles == nil }
        #expect(weakFiles == nil)
    }
}
