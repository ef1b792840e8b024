import Foundation
import MeshBase
import MeshConnection
import MeshScenarioTransport
import Testing

@testable import MeshFileTransfer

/// Counts the bytes that are read from and written to files.
final class Meter: Sendable {
    private let counts = Locked((read: 0, written: 0, largest: 0, lowest: UInt64.max))

    var read: Int { counts.withLock { $0.read } }
    var written: Int { counts.withLock { $0.written } }
    var largest: Int { counts.withLock { $0.largest } }
    /// The lowest offset that was read.
    var lowest: UInt64 { counts.withLock { $0.lowest } }

    /// - Parameter writesMax: the number of bytes that fit on the disk.
    func system(writesMax: Int = .max) -> SystemFiles {
        let usual = SystemFiles()
        var system = usual
        system.read = { [counts] descriptor, buffer, offset in
            let count = usual.read(descriptor, buffer, offset)
            counts.withLock {
                $0.read += max(0, count)
                $0.lowest = min($0.lowest, offset)
                $0.largest = max($0.largest, buffer.count)
            }
            return count
        }
        system.write = { [counts] descriptor, bytes in
            let room = writesMax - counts.withLock { $0.written }
            guard room > 0 else { return -Int(ENOSPC) }
            let count = usual.write(descriptor, UnsafeRawBufferPointer(rebasing: bytes.prefix(room)))
            counts.withLock {
                $0.written += max(0, count)
                $0.largest = max($0.largest, bytes.count)
            }
            return count
        }
        return system
    }
}

@MainActor @Suite struct ResumeTests {
    private enum Fault: CaseIterable { case drop, sender, receiver, both }

    @Test(arguments: Fault.allCases)
    private func `A transfer continues after the last good chunk`(fault: Fault) async throws {
        let pair = try TestPair(seed: 20)
        try pair.phone.launch()
        try pair.watch.launch()
        let bytes = 3_000_000
        var transfer = try await pair.begin(pair.makeFile("a.bin", bytes: bytes))
        await pair.settle(step: .milliseconds(1)) { transfer.fractionCompleted > 0.5 }
        #expect(transfer.isTransferring)
        let meter = Meter()
        pair.phone.system = meter.system()
        let partial = FileInbox.key(peerID: "phone", id: transfer.id) + "/data"
        let held = try Data(contentsOf: pair.watch.folder.appendingPathComponent(partial)).count
        #expect(held > bytes / 2)
        switch fault {
        case .drop:
            pair.network.partition([pair.phone.peer], [pair.watch.peer])
            await pair.settle(steps: 3000)
            pair.network.heal()
        case .sender, .receiver, .both:
            if fault != .receiver { await pair.phone.crash() }
            if fault != .sender { await pair.watch.crash() }
            if fault != .receiver { try pair.phone.launch() }
            if fault != .sender { try pair.watch.launch() }
            await pair.settle { pair.phone.files?.outstandingFileTransfers.isEmpty == false }
            transfer = try #require(pair.phone.files?.outstandingFileTransfers.first)
        }
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted, "\(transfer.error as Any)")
        #expect(pair.watch.imports == ["a.bin": 1])
        let url = pair.root.appendingPathComponent("a.bin")
        #expect(try pair.watch.contents["a.bin"] == Data(contentsOf: url))
        // The bytes that had arrived aren't even read again.
        #expect(meter.lowest >= UInt64(held))
    }

    @Test func `A lost acknowledgement is sent again, and nothing is imported twice`() async throws {
        let pair = try TestPair(seed: 21)
        try pair.phone.launch()
        try pair.watch.launch()
        pair.watch.importsFiles = false
        let url = try pair.makeFile("a.txt", bytes: 1000)
        let transfer = try await pair.begin(url)
        await pair.settle { transfer.fractionCompleted == 1 }
        pair.network.partition([pair.phone.peer], [pair.watch.peer])
        await pair.settle(steps: 10)
        pair.watch.importsFiles = true
        pair.watch.files?.onFileReceived = pair.watch.files?.onFileReceived
        await pair.settle(steps: 10)
        #expect(pair.watch.imports == ["a.txt": 1])
        // Neither transport has a store, so posted messages are lost.
        await pair.watch.crash()
        await pair.phone.crash()
        pair.network.heal()
        try pair.watch.launch()
        try pair.phone.launch()
        await pair.settle { pair.phone.diagnostics.contains(.fileTransferCompleted(fileURL: url)) }
        #expect(pair.phone.diagnostics.contains(.fileTransferCompleted(fileURL: url)))
        #expect(pair.watch.imports == ["a.txt": 1])
        await pair.settle(steps: 50)
        #expect(try FileManager.default.contentsOfDirectory(atPath: pair.watch.folder.path).isEmpty)
    }

    private enum Change: CaseIterable { case content, size, gone, date }

    @Test(arguments: Change.allCases)
    private func `A file that has changed after a relaunch is rejected, and an unchanged one continues`(
        change: Change
    ) async throws {
        let pair = try TestPair(seed: 22)
        try pair.phone.launch()
        let url = try pair.makeFile("a.bin", bytes: 100_000)
        _ = try await pair.begin(url)
        await pair.phone.crash()
        switch change {
        case .content: _ = try pair.makeFile("a.bin", bytes: 100_000, seed: 9)
        case .size: _ = try pair.makeFile("a.bin", bytes: 100_001)
        case .gone: try FileManager.default.removeItem(at: url)
        case .date: _ = try pair.makeFile("a.bin", bytes: 100_000)
        }
        try pair.phone.launch()
        try pair.watch.launch()
        func end() -> DiagnosticEvent? {
            pair.phone.diagnostics.first {
                switch $0 {
                case .fileTransferFailed, .fileTransferCompleted: true
                default: false
                }
            }
        }
        await pair.settle { end() != nil }
        switch (change, end()) {
        case (.date, .fileTransferCompleted), (.gone, .fileTransferFailed(_, .fileNotFound)),
            (.content, .fileTransferFailed(_, .deliveryFailed)), (.size, .fileTransferFailed(_, .deliveryFailed)):
            break
        default: Issue.record("\(change): \(end() as Any)")
        }
        #expect(pair.watch.imports.isEmpty == (change != .date))
        #expect(pair.phone.storedNames.isEmpty)
    }

    private enum Refusal: CaseIterable { case opening, reading }

    @Test(arguments: Refusal.allCases)
    private func `A file that cannot be opened or read at a launch is tried again`(refusal: Refusal) async throws {
        let pair = try TestPair(seed: 63)
        try pair.phone.launch()
        let url = try pair.makeFile("a.bin", bytes: 100_000)
        _ = try await pair.begin(url)
        await pair.phone.crash()
        let isLocked = Locked(true)
        let aside = pair.root.appendingPathComponent("aside")
        switch refusal {
        case .opening:
            try FileManager.default.moveItem(at: url, to: aside)
            try FileManager.default.createSymbolicLink(atPath: url.path, withDestinationPath: url.path)
        case .reading:
            // Another date makes the sender read the file again.
            _ = try pair.makeFile("a.bin", bytes: 100_000)
            let usual = SystemFiles()
            pair.phone.system.read = { descriptor, buffer, offset in
                isLocked.withLock { $0 } ? -Int(EPERM) : usual.read(descriptor, buffer, offset)
            }
        }
        try pair.phone.launch()
        try pair.watch.launch()
        await pair.settle(steps: 3000)
        let transfer = try #require(pair.phone.files?.outstandingFileTransfers.first)
        #expect(transfer.isTransferring && pair.watch.imports.isEmpty)
        if refusal == .opening {
            try FileManager.default.removeItem(at: url)
            try FileManager.default.moveItem(at: aside, to: url)
        }
        isLocked.withLock { $0 = false }
        await pair.settle(steps: 7000) { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        #expect(pair.watch.imports == ["a.bin": 1])
    }

    @Test func `An app whose container has moved continues its files`() async throws {
        let pair = try TestPair(seed: 57)
        let containers = ["first", "second"].map { pair.root.appendingPathComponent($0) }
        try FileManager.default.createDirectory(at: containers[0], withIntermediateDirectories: true)
        let (before, after) = (containers[0], containers[1])
        pair.phone.folder = before.appendingPathComponent("Library/Files")
        try pair.phone.launch()
        for number in 0..<5 {
            _ = try await pair.begin(pair.makeFile("first/\(number)", bytes: 1000))
            await pair.settle(steps: 1)
        }
        await pair.phone.crash()
        try FileManager.default.moveItem(at: before, to: after)
        pair.phone.folder = after.appendingPathComponent("Library/Files")
        try pair.phone.launch()
        await pair.settle(steps: 1)
        let transfers = try #require(pair.phone.files?.outstandingFileTransfers)
        #expect(transfers.map(\.fileURL) == (0..<5).map { after.appendingPathComponent("\($0)") })
        try pair.watch.launch()
        await pair.settle { pair.watch.imports.count == 5 }
        #expect(pair.watch.imports.count == 5)
    }

    @Test func `An imported file is not imported again while its folder can't be read`() async throws {
        let pair = try TestPair(seed: 62)
        try pair.phone.launch()
        try pair.watch.launch()
        pair.watch.importsFiles = false
        let transfer = try await pair.begin(pair.makeFile("a.bin", bytes: 1000))
        await pair.settle { transfer.fractionCompleted == 1 }
        // The sender never learns of the import.
        pair.network.partition([pair.phone.peer], [pair.watch.peer])
        pair.watch.importsFiles = true
        pair.watch.files?.onFileReceived = pair.watch.files?.onFileReceived
        await pair.settle { pair.watch.imports.count == 1 }
        await pair.watch.crash()
        await pair.phone.crash()
        pair.network.heal()
        pair.watch.system.read = { _, _, _ in -Int(EPERM) }
        try pair.watch.launch()
        try pair.phone.launch()
        await pair.settle(steps: 2000)
        let waiting = try #require(pair.phone.files?.outstandingFileTransfers.first)
        #expect(waiting.isTransferring)
        await pair.watch.crash()
        pair.watch.system = SystemFiles()
        try pair.watch.launch()
        await pair.settle { !waiting.isTransferring }
        #expect(waiting.isCompleted)
        #expect(pair.watch.imports == ["a.bin": 1])
    }

    @Test func `A transfer that the store couldn't delete is not imported again`() async throws {
        let pair = try TestPair(seed: 59)
        try pair.phone.launch()
        try pair.watch.launch()
        let transfer = try await pair.begin(pair.makeFile("a.bin", bytes: 1000))
        pair.phone.store.failsCommits = true
        await pair.settle { !transfer.isTransferring }
        await pair.settle(steps: 50)
        #expect(transfer.isCompleted)
        await pair.phone.crash()
        pair.phone.store.failsCommits = false
        try pair.phone.launch()
        await pair.settle { pair.phone.storedNames.isEmpty }
        await pair.settle(steps: 50)
        #expect(pair.phone.storedNames.isEmpty)
        #expect(pair.watch.imports == ["a.bin": 1])
        #expect(try FileManager.default.contentsOfDirectory(atPath: pair.watch.folder.path).isEmpty)
    }

    /// Regression: nothing tried again to delete the record, so a relaunch sent a file that the user had cancelled.
    @Test(arguments: [false, true])
    func `A cancelled transfer that the store couldn't delete isn't sent after a relaunch`(
        hasNewTransfer: Bool
    ) async throws {
        let pair = try TestPair(seed: 64)
        try pair.phone.launch()
        _ = try await pair.begin(pair.makeFile("a.bin", bytes: 1000))
        pair.phone.store.failsCommits = true
        pair.phone.files?.cancelAllFileTransfers()
        await pair.settle(steps: 1200)
        pair.phone.store.failsCommits = false
        if hasNewTransfer {
            // Its record and the deletion are one write.
            _ = try await pair.begin(pair.makeFile("b.bin", bytes: 1000))
        } else {
            await pair.settle(steps: 1200)
        }
        await pair.phone.crash()
        #expect(pair.phone.storedNames.count == (hasNewTransfer ? 1 : 0))
        try pair.phone.launch()
        try pair.watch.launch()
        await pair.settle(steps: 500)
        #expect(pair.phone.storedNames.isEmpty)
        #expect(pair.watch.imports == (hasNewTransfer ? ["b.bin": 1] : [:]))
    }

    @Test func `While the store can't be read, no peer is told that a transfer doesn't exist`() async throws {
        let pair = try TestPair(seed: 60)
        try pair.phone.launch()
        try pair.watch.launch()
        let transfer = try await pair.begin(pair.makeFile("a.bin", bytes: 2_000_000))
        await pair.settle(step: .milliseconds(1)) { transfer.fractionCompleted > 0.3 }
        let incoming = try #require(pair.watch.files?.incomingFileTransfers.first)
        await pair.phone.crash()
        pair.phone.store.failsReads = true
        try pair.phone.launch()
        await pair.settle(steps: 500)
        #expect(incoming.isTransferring)
        pair.phone.store.failsReads = false
        await pair.settle { !incoming.isTransferring }
        #expect(incoming.isCompleted)
        #expect(pair.watch.imports == ["a.bin": 1])
    }

    @Test func `Files with a changed date are read again one after the other`() async throws {
        let pair = try TestPair(seed: 58)
        try pair.phone.launch()
        for number in 0..<20 { _ = try await pair.begin(pair.makeFile("\(number)", bytes: 600_000)) }
        await pair.phone.crash()
        for number in 0..<20 { _ = try pair.makeFile("\(number)", bytes: 600_000) }
        let descriptors = Locked(Set<Int32>())
        let open = Locked(0)
        let usual = SystemFiles()
        pair.phone.system.read = { descriptor, buffer, offset in
            descriptors.withLock { _ = $0.insert(descriptor) }
            defer { if offset + UInt64(buffer.count) == 600_000 { descriptors.withLock { _ = $0.remove(descriptor) } } }
            open.withLock { [count = descriptors.withLock { $0.count }] in $0 = max($0, count) }
            return usual.read(descriptor, buffer, offset)
        }
        try pair.phone.launch()
        await pair.settle(steps: 5)
        #expect(open.withLock { $0 } == 1)
        try pair.watch.launch()
        await pair.settle { pair.watch.imports.count == 20 }
        #expect(pair.watch.imports.count == 20)
    }

    @Test(arguments: [
        ("/a/b/c", "/a/b", "/x/b", "/x/b/c"), ("/a/c", "/a/b", "/x/y/b", "/x/y/c"), ("/c", "/a/b", "/x/y", "/c"),
        ("/a/b", "/a/b", "/x", "/x/"), ("/a/../c", "/a/b", "/x/b", "/x/../c"), ("/a//b/c/", "/a/b/", "/x", "/x/c"),
        ("/a", "/a/b/c/d", "/", "/"),
    ])
    func `A stored path is found again wherever its folder has moved`(
        path: String, folder: String, newFolder: String, found: String
    ) {
        let place = RelativePath(of: path, from: folder)
        #expect(place.path(from: newFolder) == found)
        let names = place.path(from: folder).split(separator: "/")
        #expect(names == path.split(separator: "/"))
    }

    @Test func `A file that changes during its transfer ends it on both sides`() async throws {
        let pair = try TestPair(seed: 23)
        try pair.phone.launch()
        try pair.watch.launch()
        let url = try pair.makeFile("a.bin", bytes: 2_000_000)
        let transfer = try await pair.begin(url)
        await pair.settle(step: .milliseconds(1)) { transfer.fractionCompleted > 0.2 }
        let handle = try FileHandle(forWritingTo: url)
        try handle.write(contentsOf: Data("changed".utf8))
        try handle.close()
        await pair.settle { !transfer.isTransferring && pair.watch.files?.incomingFileTransfers.isEmpty == true }
        guard case .deliveryFailed = transfer.error else {
            Issue.record("\(transfer.error as Any)")
            return
        }
        #expect(pair.watch.imports.isEmpty)
        #expect(pair.watch.files?.incomingFileTransfers.isEmpty == true)
    }

    @Test func `Data that the receiver's disk has lost is detected, and fetched once more`() async throws {
        let pair = try TestPair(seed: 24)
        try pair.phone.launch()
        try pair.watch.launch()
        let transfer = try await pair.begin(pair.makeFile("a.bin", bytes: 2_000_000))
        await pair.settle(step: .milliseconds(1)) { transfer.fractionCompleted > 0.3 }
        let key = FileInbox.key(peerID: "phone", id: transfer.id)
        let handle = try FileHandle(forUpdating: pair.watch.folder.appendingPathComponent("\(key)/data"))
        try handle.write(contentsOf: Data(count: 1000))
        try handle.close()
        await pair.settle { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        let url = pair.root.appendingPathComponent("a.bin")
        #expect(try pair.watch.contents["a.bin"] == Data(contentsOf: url))
    }

    /// The size of the file in MiB. For a GiB, set FILE_MEBIBYTES=1024, in release mode.
    private nonisolated static let mebibytes =
        ProcessInfo.processInfo.environment["FILE_MEBIBYTES"].flatMap(Int.init) ?? 8

    @Test func `Many megabytes pass through buffers of constant size`() async throws {
        let pair = try TestPair(seed: 25)
        pair.watch.readsFiles = false
        let (near, far) = (Meter(), Meter())
        pair.phone.system = near.system()
        pair.watch.system = far.system()
        try pair.phone.launch()
        try pair.watch.launch()
        let bytes = Self.mebibytes << 20
        let transfer = try await pair.begin(pair.makeFile("a.bin", bytes: bytes))
        await pair.settle(steps: 100_000, step: .milliseconds(2)) { !transfer.isTransferring }
        #expect(transfer.isCompleted)
        // Read once for its hash and once to be sent. Written once, and read once to be verified.
        #expect(near.read >= 2 * bytes && near.read < 2 * bytes + bytes / 4)
        #expect(far.written >= bytes && far.written < bytes + 10_000)
        #expect(max(near.largest, far.largest) <= FileDigest.blockBytes)
    }
}
