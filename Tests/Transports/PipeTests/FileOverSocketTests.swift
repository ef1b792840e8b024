import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshTestSupport
import Testing

@testable import MeshFileTransfer
@testable import MeshPipeTransport

/// Files over a real socket, whose lane is lossless. Disks that are slow, or stop for a while, lose no bytes.
@MainActor @Suite struct FileOverSocketTests {
    private static let fileBytes = 8 << 20

    fileprivate enum Slow: CaseIterable { case neither, reader, writer, both }

    /// Blocks for 5 ms per call, and for 1.5 seconds on the 40th.
    private nonisolated static func wait(_ calls: Locked<Int>) {
        let number = calls.withLock { count in
            count += 1
            return count
        }
        usleep(number == 40 ? 1_500_000 : 5_000)
    }

    private func join(_ name: String, at socket: String, in folder: URL, _ system: SystemFiles) throws
        -> (PipeSessionSyncTransport, FileTransfers)
    {
        let peer = SessionPeer(id: name, deviceClass: .desktop, appInstanceID: name, topology: .sameHost)
        let transport = try PipeSessionSyncTransport(localPeer: peer, over: .meeting(path: socket))
        let files = try FileTransfers(
            connection: TransportConnection(transport: transport), folder: folder.appendingPathComponent(name),
            carrier: nil, limits: FileTransferLimits(), system: system)
        try transport.start()
        return (transport, files)
    }

    @Test(arguments: Slow.allCases) fileprivate func `A slow disk costs no bytes on a socket`(who: Slow) async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("f\(UUID().uuidString.prefix(8))")
        let library = root.appendingPathComponent("library")
        try FileManager.default.createDirectory(at: library, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        let (reads, writes) = (Locked(0), Locked(0))
        var (reader, writer) = (SystemFiles(), SystemFiles())
        if who == .reader || who == .both {
            reader.read = { descriptor, buffer, offset in
                Self.wait(reads)
                return SystemFiles().read(descriptor, buffer, offset)
            }
        }
        if who == .writer || who == .both {
            writer.write = { descriptor, bytes in
                Self.wait(writes)
                return SystemFiles().write(descriptor, bytes)
            }
        }
        let url = root.appendingPathComponent("a.bin")
        var random = SplitMix64(seed: 202_611_261_530)
        try Data((0..<Self.fileBytes).map { _ in UInt8(truncatingIfNeeded: random.next()) }).write(to: url)
        let (phone, received) = try join("phone", at: root.path + "/s", in: root, writer)
        let (watch, sent) = try join("watch", at: root.path + "/s", in: root, reader)
        received.onFileReceived = { file in try file.move(into: library) }
        try await sent.transferFile(url).waitForCompletion()
        #expect(try Data(contentsOf: library.appendingPathComponent("a.bin")) == Data(contentsOf: url))
        let share = Double(watch.statistics.bytesSent) / Double(Self.fileBytes)
        #expect(share <= 1.01, "\(who): \(share)")
        await sent.close()
        await received.close()
        await watch.close()
        await phone.close()
    }
}
