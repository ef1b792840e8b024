import Foundation
import MeshBase
import MeshTransport

@testable import MeshPipeTransport

/// Records the events of a link, and lets a test follow them.
final class LinkRecorder: LinkObserver {
    enum Event: Hashable, Sendable {
        case found(LinkAddress)
        case connected(LinkAddress)
        case received([UInt8], LinkAddress)
        case writable(LinkAddress)
        case disconnected(LinkAddress, reason: String?)
        case failed(String)
    }

    private let channel = AsyncStream.makeStream(of: Event.self)
    private let iterator: Locked<AsyncStream<Event>.Iterator?>
    /// Addresses that are currently connected.
    private let current = Locked<Set<LinkAddress>>([])

    private let whenChanged: @Sendable () -> Void

    /// - Parameter whenChanged: called when a connection begins or ends.
    init(whenChanged: @escaping @Sendable () -> Void = {}) {
        self.whenChanged = whenChanged
        iterator = Locked(channel.stream.makeAsyncIterator())
    }

    var connections: Set<LinkAddress> { current.withLock { $0 } }

    func found(_ address: LinkAddress, as peerID: String?) { channel.continuation.yield(.found(address)) }

    func connected(_ address: LinkAddress, as peerID: String?) {
        _ = current.withLock { $0.insert(address) }
        channel.continuation.yield(.connected(address))
        whenChanged()
    }

    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
        channel.continuation.yield(.received(Array(bytes), address))
    }

    func writable(_ address: LinkAddress) { channel.continuation.yield(.writable(address)) }

    func disconnected(_ address: LinkAddress, reason: String?) {
        _ = current.withLock { $0.remove(address) }
        channel.continuation.yield(.disconnected(address, reason: reason))
        whenChanged()
    }

    func failed(_ reason: String) { channel.continuation.yield(.failed(reason)) }
}

// MARK: - For the test, one task at a time

extension LinkRecorder {
    func next() async -> Event? {
        var taken = iterator.withLock { iterator in
            defer { iterator = nil }
            return iterator
        }
        let event = await taken?.next()
        iterator.withLock { $0 = taken }
        return event
    }

    /// Returns the first event that matches, and discards those before it.
    @discardableResult
    func first(where isWanted: (Event) -> Bool) async -> Event? {
        while let event = await next() {
            if isWanted(event) { return event }
        }
        return nil
    }

    func connection() async -> LinkAddress? {
        while let event = await next() {
            if case .connected(let address) = event { return address }
        }
        return nil
    }

    /// The next `count` bytes. Discards other events meanwhile.
    func bytes(_ count: Int) async -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count, let event = await next() {
            if case .received(let piece, _) = event { bytes += piece }
        }
        return bytes
    }

    /// The bytes up to the end of the connection, and the reason given for the end.
    func untilEnd() async -> (bytes: [UInt8], reason: String?) {
        var bytes: [UInt8] = []
        while let event = await next() {
            switch event {
            case .received(let piece, _): bytes += piece
            case .disconnected(_, let reason): return (bytes, reason)
            case .found, .connected, .writable, .failed: break
            }
        }
        return (bytes, "the recorder was released")
    }
}

extension LinkPacket {
    static func stream(_ bytes: [UInt8]) -> LinkPacket { LinkPacket(lane: .stream, bytes: bytes) }
    static func text(_ text: String) -> LinkPacket { .stream(Array(text.utf8)) }
}

extension PipeLink {
    /// Sends over a pair of descriptors.
    /// - Returns: the code of the refusal, or nil if the link took the packet.
    func refusal(of packet: LinkPacket) -> LinkError.Code? {
        do {
            try send(packet, to: "pipe")
            return nil
        } catch {
            return error.code
        }
    }
}

/// One end of a connection over descriptors.
struct LinkEnd {
    let link: PipeLink
    let recorder = LinkRecorder()

    init(_ input: Int32, _ output: Int32, closes: Bool = true) throws {
        link = try PipeLink(.descriptors(input: input, output: output, closes: closes))
    }

    func open() throws { try link.open(recorder) }

    /// Sends all packets, waits for space as often as necessary, and receives `count` bytes.
    func exchange(_ packets: [LinkPacket], expecting count: Int) async -> [UInt8] {
        var (rest, bytes, isFull) = (packets[...], [UInt8](), false)
        while true {
            while !isFull, let packet = rest.first {
                switch link.refusal(of: packet) {
                case nil: rest.removeFirst()
                case .full: isFull = true
                case .some: return bytes
                }
            }
            guard !rest.isEmpty || bytes.count < count, let event = await recorder.next() else { return bytes }
            switch event {
            case .received(let piece, _): bytes += piece
            case .writable: isFull = false
            default: return bytes
            }
        }
    }
}
