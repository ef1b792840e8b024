import Foundation
import MeshBus
import MeshTransport
import Synchronization

/// A link over two folders, one for each direction, that both sides can reach: on a disk, a network share or a memory stick.
/// Each packet is a file. It appears complete in the other side's folder and stays until the other side has read it.
///
/// The link offers the lane `queue`, because files wait in order even if the other side isn't running. The lanes `stream` and
/// `datagram` need to know whether the other side is connected, and a folder can't tell.
public final class FileDropLink: TransportLink {
    /// Maximum number of packets that wait for the other side. Beyond it the link is full.
    public static let unreadMax = 1_000

    public let lanes: [LinkLane: PayloadLimit] = [.queue: .fileDropPacket]
    public let traits = LinkTraits(expectedLatency: .eventual, discoversPeers: false)

    private static let otherSide: LinkAddress = "other side"

    private struct State {
        /// nil before `open` and after `close`.
        var observer: (any LinkObserver)?
        var watcher: Task<Void, Never>?
        var lastNumber: UInt64 = 0
        /// Upper bound on the number of packets that wait for the other side.
        var unreadCount = 0
        var isFull = false
    }

    private let inbox: URL
    private let outbox: URL
    private let interval: Duration?
    private let state = Mutex(State())

    /// - Parameters:
    ///   - inbox: The folder to which the other side writes. Created if missing, as is `outbox`.
    ///   - outbox: The other side's `inbox`. No other process may write there.
    ///   - interval: Time between two checks of the inbox. If nil, the link checks only when you call `look`.
    public init(inbox: URL, outbox: URL, interval: Duration? = .milliseconds(50)) {
        self.inbox = inbox
        self.outbox = outbox
        self.interval = interval
    }

    public func open(_ observer: any LinkObserver) throws {
        for folder in [inbox, outbox] {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        }
        let unread = packets(in: outbox)
        state.withLock { state in
            state.observer = observer
            state.lastNumber = unread.last ?? 0
            state.unreadCount = unread.count
        }
        observer.found(Self.otherSide, as: nil)
        guard let interval else { return }
        let watcher = Task {
            while !Task.isCancelled {
                look()
                try? await Task.sleep(for: interval)
            }
        }
        state.withLock { $0.watcher = watcher }
    }

    public func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        let number = try state.withLock { state throws(LinkError) in
            guard state.observer != nil else { throw LinkError(.closed) }
            guard address == Self.otherSide, packet.lane == .queue else { throw LinkError(.unreachable) }
            guard packet.bytes.count <= PayloadLimit.fileDropPacket.bytes else { throw LinkError(.oversized) }
            guard state.unreadCount < Self.unreadMax else {
                state.isFull = true
                throw LinkError(.full)
            }
            state.unreadCount += 1
            state.lastNumber &+= 1
            return state.lastNumber
        }
        do {
            // Atomic: written under another name, then renamed, so the other side never reads half a packet.
            try Data(packet.bytes).write(to: file(number, in: outbox), options: .atomic)
        } catch {
            state.withLock { $0.isFull = true }
            throw LinkError(.full, "\(error)")
        }
    }

    public func close() async {
        let watcher = state.withLock { state in
            defer { state = State() }
            return state.watcher
        }
        watcher?.cancel()
        await watcher?.value
    }
}

// MARK: - Looking into the folders

extension FileDropLink {
    /// Passes arrived packets to the observer, and reports when there is space again. Call it from one task at a time.
    public func look() {
        guard let observer = state.withLock({ $0.observer }) else { return }
        // A listing may miss a file that is written meanwhile and still contain a later one. The second listing contains
        // every file up to the newest of the first.
        guard let newest = packets(in: inbox).last else { return checkRoom(observer) }
        for number in packets(in: inbox) where number <= newest {
            let file = file(number, in: inbox)
            do {
                let byteCount = try file.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
                if byteCount <= PayloadLimit.fileDropPacket.bytes {
                    let bytes = try Data(contentsOf: file)
                    bytes.withUnsafeBytes { observer.received($0, on: .queue, from: Self.otherSide) }
                }
                // If the process ends before this line, the packet is read again. Delivery recognizes it.
                try FileManager.default.removeItem(at: file)
            } catch {
                return observer.failed("'\(file.path)' cannot be read and removed: \(error)")
            }
        }
        checkRoom(observer)
    }

    private func checkRoom(_ observer: any LinkObserver) {
        guard state.withLock({ $0.isFull }) else { return }
        let unreadCount = packets(in: outbox).count
        guard unreadCount < Self.unreadMax else { return }
        state.withLock { state in
            state.unreadCount = unreadCount
            state.isFull = false
        }
        observer.writable(Self.otherSide)
    }

    private func file(_ number: UInt64, in folder: URL) -> URL { folder.appending(path: "\(number).packet") }

    /// The numbers of the packets in a folder, in ascending order.
    private func packets(in folder: URL) -> [UInt64] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        return names.compactMap { name in
            let number = UInt64(name.prefix { $0 != "." })
            return number.flatMap { name == "\($0).packet" ? $0 : nil }
        }.sorted()
    }
}

extension PayloadLimit {
    /// The largest packet of the file drop, one file.
    public static let fileDropPacket = PayloadLimit(
        id: "file-drop.packet", bytes: 1 << 20, summary: "A packet of the file drop", source: "chosen: one whole frame")
}
