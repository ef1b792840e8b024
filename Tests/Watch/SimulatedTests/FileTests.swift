import Foundation
import MeshBase
import MeshSimulatedWatch
import Testing

@Suite struct FileTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("FileTests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func file(_ name: String, _ bytes: [UInt8]) throws -> URL {
        let url = folder.appendingPathComponent(name)
        try Data(bytes).write(to: url)
        return url
    }

    @Test("A file arrives with its name and metadata, and is removed once the delegate returns")
    func delivery() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        final class Receiver: NSObject, WCSessionDelegate, @unchecked Sendable {
            var received: [(url: URL, name: String, exists: Bool, lap: Int?)] = []
            func session(
                _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState,
                error: (any Error)?
            ) {}
            func session(_ session: WCSession, didReceive file: WCSessionFile) {
                let exists = FileManager.default.fileExists(atPath: file.fileURL.path)
                received.append((file.fileURL, file.fileURL.lastPathComponent, exists, file.metadata?["lap"] as? Int))
            }
        }
        let running = try Running()
        let receiver = Receiver()
        running.watch.session.delegate = receiver
        let url = try file("track.gpx", [1, 2, 3])
        let transfer = running.phone.session.transferFile(url, metadata: ["lap": 3])
        running.phone.session.transferFile(url, metadata: nil)
        #expect(running.phone.session.outstandingFileTransfers.first === transfer)
        #expect(transfer.file.fileURL == url && transfer.isTransferring)
        #expect(transfer.progress.totalUnitCount == 3 && transfer.progress.completedUnitCount == 0)
        running.pair.runUntilIdle()
        #expect(receiver.received.map(\.name) == ["track.gpx", "track.gpx"])
        #expect(receiver.received.allSatisfy { $0.exists } && receiver.received.map(\.lap) == [3, nil])
        #expect(!receiver.received.contains { FileManager.default.fileExists(atPath: $0.url.path) })
        #expect(running.phone.events == [.finishedFile("track.gpx", nil), .finishedFile("track.gpx", nil)])
        #expect(FileManager.default.fileExists(atPath: url.path))
        #expect(!transfer.isTransferring && transfer.progress.completedUnitCount == 3)
    }

    @Test("Large files take their time, and progress moves")
    func progress() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        var conditions = SimulatedWatchConditions.ideal
        conditions.fileBytesPerSecond = 1_000_000
        let running = try Running(conditions)
        let url = folder.appendingPathComponent("large")
        _ = FileManager.default.createFile(atPath: url.path, contents: nil)
        try FileHandle(forWritingTo: url).truncate(atOffset: 8_000_000)
        let transfer = running.phone.session.transferFile(url, metadata: nil)
        running.pair.advance(by: .seconds(5))
        #expect(transfer.progress.fractionCompleted == 0.5)
        running.pair.advance(by: .seconds(4))
        #expect(transfer.progress.fractionCompleted == 1 && !transfer.isTransferring)
    }

    @Test("Files wait for their app in the inbox, and are removed with the app")
    func inbox() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let running = try Running()
        running.pair.watch.kill()
        running.phone.session.transferFile(try file("a", [1]), metadata: nil)
        running.phone.session.transferFile(try file("b", [2]), metadata: nil)
        running.pair.runUntilIdle()
        let watch = TestApp(try running.pair.watch.launched())
        watch.onEvent.withLock {
            $0 = { event in if event == .file("a", [1]) { running.pair.watch.uninstall() } }
        }
        running.pair.runUntilIdle()
        #expect(watch.events.suffix(1) == [.file("a", [1])])
        running.pair.watch.install()
        let fresh = TestApp(try running.pair.watch.launched())
        running.pair.runUntilIdle()
        #expect(!fresh.events.contains(.file("b", [2])))
        let enumerator = FileManager.default.enumerator(
            at: running.pair.directory, includingPropertiesForKeys: [.isRegularFileKey])
        let files = (enumerator?.allObjects as? [URL] ?? []).filter { !$0.hasDirectoryPath }
        #expect(files.isEmpty)
    }

    @Test("An app that dies while it receives a file gets it again, unless it has moved it")
    func crash() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        for isMoved in [false, true] {
            let running = try Running()
            defer { running.watch.onEvent.withLock { $0 = nil } }
            running.watch.onEvent.withLock {
                $0 = { event in
                    guard case .file = event else { return }
                    if isMoved {
                        let inbox = running.pair.directory.appendingPathComponent("watch/Inbox")
                        try? FileManager.default.removeItem(at: inbox)
                    }
                    running.pair.watch.kill()
                }
            }
            running.phone.session.transferFile(try file("a", [7]), metadata: nil)
            running.pair.runUntilIdle()
            #expect(running.watch.events == [.file("a", [7])])
            let again = TestApp(try running.pair.watch.launched())
            running.pair.runUntilIdle()
            #expect(again.events.contains(.file("a", [7])) == !isMoved)
        }
    }

    @Test("A file that can't be read, isn't a file or doesn't fit ends with its code")
    func refusals() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let running = try Running()
        let session = running.phone.session
        session.transferFile(folder.appendingPathComponent("missing"), metadata: nil)
        session.transferFile(folder, metadata: nil)
        session.transferFile(try #require(URL(string: "https://example.com/x")), metadata: nil)
        session.transferFile(try file("a", [1]), metadata: ["x": NotLaunched()])
        running.pair.runUntilIdle()
        let gone = try file("gone", [1])
        session.transferFile(gone, metadata: nil)
        try FileManager.default.removeItem(at: gone)
        running.pair.runUntilIdle()
        running.pair.watch.isDiskFull = true
        session.transferFile(try file("b", [1]), metadata: nil)
        running.pair.runUntilIdle()
        let codes = running.phone.events.map { event -> WCError.Code? in
            if case .finishedFile(_, let code) = event { code } else { nil }
        }
        #expect(
            codes == [
                .fileAccessDenied, .invalidParameter, .invalidParameter, .payloadUnsupportedTypes, .fileAccessDenied,
                .insufficientSpace,
            ])
        #expect(running.watch.events.isEmpty)
    }

    @Test("A cancelled file is not delivered")
    func cancelling() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let running = try Running(.calm)
        let first = running.phone.session.transferFile(try file("a", [1]), metadata: nil)
        running.phone.session.transferFile(try file("b", [2]), metadata: nil)
        running.pair.advance(by: .milliseconds(10))
        first.cancel()
        running.pair.runUntilIdle()
        #expect(running.watch.events == [.file("b", [2])])
        #expect(running.phone.events == [.finishedFile("b", nil)])
    }

    @Test("A file of a quarter of a gigabyte is not read into memory")
    func boundedMemory() throws {
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("huge")
        _ = FileManager.default.createFile(atPath: url.path, contents: nil)
        try FileHandle(forWritingTo: url).truncate(atOffset: 256 << 20)
        final class Receiver: NSObject, WCSessionDelegate, @unchecked Sendable {
            var size: Int64 = 0
            func session(
                _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState,
                error: (any Error)?
            ) {}
            func session(_ session: WCSession, didReceive file: WCSessionFile) {
                let attributes = try? FileManager.default.attributesOfItem(atPath: file.fileURL.path)
                size = (attributes?[.size] as? NSNumber)?.int64Value ?? 0
            }
        }
        let running = try Running()
        let receiver = Receiver()
        running.watch.session.delegate = receiver
        let before = Self.peakMemoryKilobytes
        running.phone.session.transferFile(url, metadata: nil)
        running.pair.runUntilIdle()
        #expect(receiver.size == 256 << 20)
        #expect(Self.peakMemoryKilobytes - before < 64 << 10)
    }

    private static var peakMemoryKilobytes: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        return line.flatMap { Int($0.filter(\.isNumber)) } ?? 0
    }
}
