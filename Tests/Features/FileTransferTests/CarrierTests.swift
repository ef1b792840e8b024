import Foundation
import MeshConnection
import Testing

@testable import MeshFileTransfer

@MainActor @Suite struct CarrierTests {
    private struct Setting {
        let pair: TestPair
        let platform: TestPlatform
        let near: TestCarrier
        let far: TestCarrier

        @MainActor init(seed: UInt64) throws {
            pair = try TestPair(seed: seed)
            platform = TestPlatform(root: pair.root)
            (near, far) = (TestCarrier(platform), TestCarrier(platform))
            pair.phone.carrier = near
            pair.watch.carrier = far
            try pair.phone.launch()
            try pair.watch.launch()
        }

        /// Makes the platform hand over the next file and report that.
        @MainActor func deliver() throws {
            let id = try platform.deliver(to: #require(far.current))
            if let id { near.current?.finished(id, error: nil) }
        }
    }

    @Test func `No chunk is sent; the platform reports progress, and the app's import completes the transfer`()
        async throws
    {
        let setting = try Setting(seed: 40)
        let (pair, near) = (setting.pair, setting.near)
        pair.watch.importsFiles = false
        let transfer = try await pair.begin(pair.makeFile("a.bin", bytes: 50_000), metadata: ["k": "v"])
        await pair.settle(steps: 200)
        #expect(pair.watch.files?.incomingFileTransfers.isEmpty == true)
        near.current?.carried(transfer.id, fractionCompleted: 0.5)
        await pair.settle { transfer.fractionCompleted == 0.5 }
        #expect(transfer.fractionCompleted == 0.5)
        try setting.deliver()
        await pair.settle { transfer.fractionCompleted == 1 }
        await pair.settle(steps: 200)
        #expect(transfer.isTransferring)
        pair.watch.importsFiles = true
        pair.watch.files?.onFileReceived = pair.watch.files?.onFileReceived
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        #expect(pair.watch.imports == ["a.bin": 1])
    }

    @Test func `Cancelling withdraws the file from the platform, and the platform's rejection ends the transfer`()
        async throws
    {
        let setting = try Setting(seed: 41)
        let (pair, platform) = (setting.pair, setting.platform)
        let url = try pair.makeFile("a.bin", bytes: 100)
        let transfer = try await pair.begin(url)
        #expect(platform.outstandingIDs == [transfer.id])
        transfer.cancel()
        await pair.settle { platform.outstandingIDs.isEmpty }
        #expect(platform.outstandingIDs.isEmpty && transfer.error == .cancelled)
        let second = try await pair.begin(url)
        setting.near.current?.finished(second.id, error: .insufficientSpace)
        await pair.settle { !second.isTransferring }
        #expect(second.error == .insufficientSpace)
    }

    @Test(arguments: 0..<4) func `Relaunches around the delivery lose nothing and import once`(mask: Int) async throws {
        let setting = try Setting(seed: 42)
        let pair = setting.pair
        let url = try pair.makeFile("a.bin", bytes: 3000)
        _ = try await pair.begin(url)
        if mask & 1 != 0 {
            await pair.phone.crash()
            try pair.phone.launch()
        }
        // The platform launches the receiver's app to hand over the file.
        if mask & 2 != 0 {
            await pair.watch.crash()
            try pair.watch.launch()
        }
        try setting.deliver()
        if mask & 2 != 0 {
            await pair.watch.crash()
            try pair.watch.launch()
        }
        await pair.settle { pair.phone.diagnostics.contains(.fileTransferCompleted(fileURL: url)) }
        #expect(pair.phone.diagnostics.contains(.fileTransferCompleted(fileURL: url)))
        #expect(pair.watch.imports == ["a.bin": 1])
        #expect(setting.platform.outstandingIDs.isEmpty)
    }

    @Test func `A file that the platform refuses throws, and is not carried at the next launch`() async throws {
        let setting = try Setting(seed: 48)
        let pair = setting.pair
        let url = try pair.makeFile("a.bin", bytes: 100)
        setting.near.error = .notActivated
        await #expect(throws: ConnectionError.notActivated) { try await pair.begin(url) }
        #expect(pair.phone.storedNames.isEmpty)
        let failed = DiagnosticEvent.fileTransferFailed(fileURL: url, error: .notActivated)
        await pair.settle { pair.phone.diagnostics.contains(failed) }
        #expect(pair.phone.diagnostics.contains(failed))
        setting.near.error = nil
        await pair.phone.crash()
        try pair.phone.launch()
        await pair.settle(steps: 20)
        #expect(setting.platform.outstandingIDs.isEmpty)
    }

    /// The cases: the platform has kept the file or not, and delivers it before or after it starts.
    @Test(arguments: [(true, true), (true, false), (false, false)])
    func `A platform that starts after the app continues its files`(isKept: Bool, isEarly: Bool) async throws {
        let setting = try Setting(seed: 49)
        let (pair, platform) = (setting.pair, setting.platform)
        let url = try pair.makeFile("a.bin", bytes: 3000)
        let id = try await pair.begin(url).id
        if !isKept { platform.cancel(id) }
        await pair.phone.crash()
        setting.near.error = .notActivated
        try pair.phone.launch()
        await pair.settle(steps: 20)
        let transfer = try #require(pair.phone.files?.outstandingFileTransfers.first)
        if isEarly { try setting.deliver() }
        setting.near.error = nil
        await pair.settle(steps: 700)
        if !isEarly {
            #expect(platform.takenCount == (isKept ? 1 : 2) && platform.outstandingIDs == [id])
            try setting.deliver()
        }
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        #expect(pair.watch.imports == ["a.bin": 1])
        #expect(pair.phone.storedNames.isEmpty)
    }

    @Test func `A platform that rejects a file after a relaunch ends its transfer`() async throws {
        let setting = try Setting(seed: 50)
        let (pair, platform) = (setting.pair, setting.platform)
        platform.cancel(try await pair.begin(pair.makeFile("a.bin", bytes: 100)).id)
        await pair.phone.crash()
        setting.near.error = .payloadTooLarge(bytes: 2, limit: 1, limitID: "platform")
        try pair.phone.launch()
        await pair.settle { pair.phone.storedNames.isEmpty }
        #expect(pair.phone.storedNames.isEmpty)
        #expect(pair.phone.files?.outstandingFileTransfers.isEmpty == true)
    }

    @Test func `A file that the platform lost is carried again, and one that arrives twice is imported once`()
        async throws
    {
        let setting = try Setting(seed: 43)
        let (pair, platform, near) = (setting.pair, setting.platform, setting.near)
        let url = try pair.makeFile("a.bin", bytes: 3000)
        let transfer = try await pair.begin(url)
        // Reported as delivered, but lost.
        platform.cancel(transfer.id)
        near.current?.finished(transfer.id, error: nil)
        await pair.settle { !platform.outstandingIDs.isEmpty }
        #expect(platform.outstandingIDs == [transfer.id])
        try platform.take(url, transfer.id, JSONEncoder().encode(Data()))
        try setting.deliver()
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        #expect(pair.watch.imports == ["a.bin": 1])
    }

    @Test func `A file that arrives during a launch is not discarded`() throws {
        let pair = try TestPair(seed: 46)
        let path = pair.root.appendingPathComponent("inbox").path
        let url = try pair.makeFile("a.bin", bytes: 10)
        for round in 0..<200 {
            let inbox = try FileInbox(path: path, limits: .init(), system: .init())
            let header = FileHeader(
                id: UUID(), name: "a", byteCount: 10, digest: "0", metadata: nil, isCarried: true)
            let offer = try #require(FileOffer(header, from: "phone", chunkBytesMax: 1))
            let cargo = pair.root.appendingPathComponent("cargo")
            try FileManager.default.copyItem(at: url, to: cargo)
            // The platform's callback runs on one thread, the restore of an earlier launch's files on another.
            DispatchQueue.concurrentPerform(iterations: 2) { side in
                if side == 0 { _ = inbox.restore() } else { try? inbox.adopt(cargo.path, for: offer) }
            }
            let later = try FileInbox(path: path, limits: .init(), system: .init())
            #expect(later.restore().map(\.status) == [.partial(10)], "round \(round)")
            later.discard(offer.key)
        }
    }

    @Test func `A file that is carried again leaves the stored one unchanged`() throws {
        let pair = try TestPair(seed: 53)
        let path = pair.root.appendingPathComponent("inbox").path
        let header = FileHeader(id: UUID(), name: "a", byteCount: 10, digest: "0", metadata: nil, isCarried: true)
        let offer = try #require(FileOffer(header, from: "phone", chunkBytesMax: 1))
        let first = try FileInbox(path: path, limits: .init(), system: .init())
        try first.adopt(pair.makeFile("a.bin", bytes: 10).path, for: offer)
        let kept = try first.complete(offer)
        // Adopted again: before anything was read, onto a full disk, and damaged.
        var full = SystemFiles()
        full.freeBytes = { _ in 0 }
        for system in [SystemFiles(), full] {
            let inbox = try FileInbox(path: path, limits: .init(), system: system)
            let again = try pair.makeFile("b.bin", bytes: 9)
            let adopted = Result { try inbox.adopt(again.path, for: offer) }
            #expect(throws: ConnectionError.idInUse(id: header.id.uuidString)) { try adopted.get() }
            #expect(inbox.restore().map(\.status) == [.whole])
            #expect(try Data(contentsOf: URL(fileURLWithPath: kept)).count == 10)
        }
    }

    @Test func `A file that is carried twice is not refused, in either order of the reports`() async throws {
        let setting = try Setting(seed: 54)
        let (pair, platform) = (setting.pair, setting.platform)
        for number in 0..<2 {
            let url = try pair.makeFile("\(number)", bytes: 100)
            let transfer = try await pair.begin(url)
            let exchange = try #require(pair.watch.files?.exchange)
            let offer = try #require(
                FileOffer(
                    FileHeader(
                        id: transfer.id, name: "\(number)", byteCount: 100,
                        digest: try await FileDigest.digest(
                            of: .init(reading: url.path, system: .init()), byteCount: 100),
                        metadata: nil, isCarried: true), from: "phone", chunkBytesMax: 1))
            let copy = pair.root.appendingPathComponent("copy")
            try FileManager.default.copyItem(at: url, to: copy)
            try exchange.inbox.adopt(copy.path, for: offer)
            await exchange.adoptionFailed(offer, .idInUse(id: ""))
            await exchange.adopted(offer)
            platform.cancel(transfer.id)
            await pair.settle { !transfer.isTransferring }
            #expect(transfer.isCompleted, "\(transfer.error as Any)")
            #expect(pair.watch.imports["\(number)"] == 1)
        }
    }

    @Test func `A partial copy of a carried file is discarded, because it is carried again`() throws {
        let pair = try TestPair(seed: 47)
        let path = pair.root.appendingPathComponent("inbox").path
        let inbox = try FileInbox(path: path, limits: .init(), system: .init())
        let header = FileHeader(id: UUID(), name: "a", byteCount: 10, digest: "0", metadata: nil, isCarried: true)
        let offer = try #require(FileOffer(header, from: "phone", chunkBytesMax: 1))
        try inbox.begin(offer)
        try inbox.openPartial(offer.key).append([1, 2, 3])
        let later = try FileInbox(path: path, limits: .init(), system: .init())
        #expect(later.restore().isEmpty)
        try later.adopt(pair.makeFile("a.bin", bytes: 10).path, for: offer)
    }

    @Test func `A file that arrives again after its import is dropped and acknowledged`() async throws {
        let setting = try Setting(seed: 44)
        let (pair, platform) = (setting.pair, setting.platform)
        let url = try pair.makeFile("a.bin", bytes: 3000)
        let source = try OpenFile(reading: url.path, system: .init())
        let header = FileHeader(
            id: UUID(), name: "a.bin", byteCount: 3000,
            digest: try await FileDigest.digest(of: source, byteCount: 3000),
            metadata: nil, isCarried: true)
        let offer = try JSONEncoder().encode(#require(FileOffer(header, from: "tablet", chunkBytesMax: 1)))
        for round in 0..<3 {
            try platform.take(url, header.id, offer)
            if round == 2 {
                await pair.watch.crash()
                try pair.watch.launch()
            }
            platform.deliver(to: try #require(setting.far.current))
            await pair.settle { !pair.watch.imports.isEmpty }
            await pair.settle(steps: 20)
        }
        #expect(pair.watch.imports == ["a.bin": 1])
    }

    @Test func `Damaged, foreign and oversized cargo is not taken`() async throws {
        let setting = try Setting(seed: 45)
        let pair = setting.pair
        pair.watch.limits.inboxBytesMax = 1000
        await pair.watch.crash()
        try pair.watch.launch()
        let observer = try #require(setting.far.current)
        let url = try pair.makeFile("a.bin", bytes: 3000)
        #expect(observer.received(url, header: Data("{}".utf8)) == false)
        #expect(FileManager.default.fileExists(atPath: url.path))
        let refused = try await pair.begin(url)
        try setting.deliver()
        await pair.settle { !refused.isTransferring }
        #expect(refused.error == .insufficientSpace)
        // Correct size, wrong content.
        let small = try pair.makeFile("b.bin", bytes: 100)
        let damaged = try await pair.begin(small)
        setting.platform.cancel(damaged.id)
        let header = FileHeader(
            id: damaged.id, name: "b.bin", byteCount: 100, digest: "other", metadata: nil, isCarried: true)
        let offer = try #require(FileOffer(header, from: "phone", chunkBytesMax: 1))
        try setting.platform.take(small, damaged.id, JSONEncoder().encode(offer))
        try setting.deliver()
        await pair.settle { !damaged.isTransferring }
        guard case .deliveryFailed = damaged.error else {
            Issue.record("\(damaged.error as Any)")
            return
        }
        #expect(pair.watch.imports.isEmpty)
    }
}
