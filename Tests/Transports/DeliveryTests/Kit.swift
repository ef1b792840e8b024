import Foundation
import MeshBase
import MeshDelivery
import MeshIdentity
import MeshStorage
import MeshTestSupport
import MeshTesting
import MeshTransport
import MeshWire

/// Two links that hand packets directly to each other, on the sender's thread.
final class MemoryWire: Sendable {
    private struct State {
        var isConnected = false
        var observers: [LinkAddress: any LinkObserver] = [:]
        /// The owners of the observers: a link that has been replaced doesn't close the connection.
        var links: [LinkAddress: ObjectIdentifier] = [:]
        /// The number of packets that the links accept before they report `full`, or nil for any number.
        var room: Int?
        /// An end that can't send any more, and doesn't know it yet.
        var severed: LinkAddress?
        /// Packets sent before both ends knew of the connection, or held in flight.
        var early: [(packet: LinkPacket, from: LinkAddress, to: LinkAddress)]?
        var launchCount: UInt64 = 0
        /// The packets that the ends have sent. Recorded once a test has called `takeSent()`.
        var sent: [(packet: LinkPacket, from: LinkAddress)]?
        /// The peers that each end was asked to admit, in the order of the calls.
        var admitted: [LinkAddress: [Set<String>]] = [:]
    }

    private let state = Locked(State())
    let lanes: [LinkLane: PayloadLimit]

    /// True if the wire gives each end the other's peer id.
    let provesPeers: Bool
    /// The ends at which the other side is only a guest.
    private let guestEnds: Locked<Set<LinkAddress>>

    init(
        lanes: [LinkLane: PayloadLimit] = [.stream: .deliveryMessage], provesPeers: Bool = false,
        guestsAt ends: Set<LinkAddress> = []
    ) {
        self.lanes = lanes
        self.provesPeers = provesPeers
        guestEnds = Locked(ends)
    }

    /// The number of pairs so far on this wire, including the next one.
    fileprivate func nextLaunch() -> UInt64 {
        state.withLock { state in
            state.launchCount += 1
            return state.launchCount
        }
    }

    /// Takes effect with the next connection.
    func setGuests(at ends: Set<LinkAddress>) { guestEnds.withLock { $0 = ends } }
    func admitted(at address: LinkAddress) -> [Set<String>] { state.withLock { $0.admitted[address] ?? [] } }
    fileprivate func admit(_ peerIDs: Set<String>, at address: LinkAddress) {
        state.withLock { $0.admitted[address, default: []].append(peerIDs) }
    }

    /// The packets that the ends have sent since the last call.
    func takeSent() -> [(packet: LinkPacket, from: LinkAddress)] {
        state.withLock { state in
            defer { state.sent = [] }
            return state.sent ?? []
        }
    }

    var left: MemoryLink { MemoryLink(self, at: "left", peer: "right") }
    var right: MemoryLink { MemoryLink(self, at: "right", peer: "left") }

    fileprivate func enter(_ link: MemoryLink, at address: LinkAddress, _ observer: any LinkObserver) {
        state.withLock { state in
            state.observers[address] = observer
            state.links[address] = ObjectIdentifier(link)
        }
    }

    fileprivate func leave(_ link: MemoryLink, at address: LinkAddress) {
        guard state.withLock({ $0.links[address] == ObjectIdentifier(link) }) else { return }
        disconnect()
        state.withLock { $0.observers[address] = nil }
    }

    func connect() {
        let observers = state.withLock { state in
            state.isConnected = true
            state.early = []
            return state.observers
        }
        for (address, observer) in observers.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            let peer: LinkAddress = address == "left" ? "right" : "left"
            if guestEnds.withLock({ $0.contains(address) }) {
                observer.connected(peer, asGuest: peer.rawValue)
            } else {
                observer.connected(peer, as: provesPeers ? peer.rawValue : nil)
            }
        }
        deliverHeld()
    }

    /// Delivers packets in the order in which they were sent, followed by those that are sent meanwhile.
    private func deliverHeld() {
        while let (packet, from, observer) = nextHeld() {
            observer?.received(packet.bytes, on: packet.lane, from: from)
        }
    }

    private func nextHeld() -> (LinkPacket, from: LinkAddress, (any LinkObserver)?)? {
        state.withLock { state in
            guard let (packet, from, to) = state.early?.first else {
                state.early = nil
                return nil
            }
            state.early?.removeFirst()
            return (packet, from, state.observers[to])
        }
    }

    func disconnect(reason: String? = nil) {
        let observers = state.withLock { state in
            defer { state.isConnected = false }
            return state.isConnected ? state.observers : [:]
        }
        for (address, observer) in observers.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
            observer.disconnected(address == "left" ? "right" : "left", reason: reason)
        }
    }

    /// Holds packets in flight from now on. They arrive when the connection ends.
    func hold() { state.withLock { $0.early = [] } }

    /// Stops an end from sending, because the other end closed. Later the end gets the packets in flight, then the end.
    func sever(_ address: LinkAddress) { state.withLock { $0.severed = address } }

    func disconnectAfterWhatIsHeld() {
        deliverHeld()
        state.withLock { $0.severed = nil }
        disconnect()
    }

    /// Sets the number of packets that the links accept before they report `full`, or nil for any number.
    func setRoom(_ room: Int?) {
        state.withLock { $0.room = room }
        guard room != 0 else { return }
        for (address, observer) in state.withLock({ $0.observers }) {
            observer.writable(address == "left" ? "right" : "left")
        }
    }

    func inject(_ bytes: [UInt8], into address: LinkAddress, on lane: LinkLane = .stream) {
        state.withLock { $0.observers[address] }?.received(bytes, on: lane, from: address == "left" ? "right" : "left")
    }

    fileprivate func send(_ packet: LinkPacket, from: LinkAddress, to: LinkAddress) throws(LinkError) {
        let outcome: Result<(any LinkObserver)?, LinkError> = state.withLock { state in
            guard state.isConnected, state.severed != from else { return .failure(LinkError(.unreachable)) }
            if let room = state.room {
                guard room > 0 else { return .failure(LinkError(.full)) }
                state.room = room - 1
            }
            state.sent?.append((packet, from))
            guard state.early == nil else {
                state.early?.append((packet, from, to))
                return .success(nil)
            }
            return .success(state.observers[to])
        }
        try outcome.get()?.received(packet.bytes, on: packet.lane, from: from)
    }
}

final class MemoryLink: GuestAdmittingLink {
    private let wire: MemoryWire
    private let address: LinkAddress
    private let peer: LinkAddress

    fileprivate init(_ wire: MemoryWire, at address: LinkAddress, peer: LinkAddress) {
        self.wire = wire
        self.address = address
        self.peer = peer
    }

    var lanes: [LinkLane: PayloadLimit] { wire.lanes }
    func open(_ observer: any LinkObserver) { wire.enter(self, at: address, observer) }
    func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
        try wire.send(packet, from: self.address, to: address)
    }
    func disconnect(_ address: LinkAddress) { wire.disconnect() }
    func admit(guests peerIDs: Set<String>) { wire.admit(peerIDs, at: address) }
    func close() async { wire.leave(self, at: address) }
}

func peer(_ id: String) -> SessionPeer {
    SessionPeer(id: id, deviceClass: .unknown, appInstanceID: "1", topology: .sameHost)
}

let sessionID = UUID(uuid: (0x5E, 0x55, 0x10, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 7))

func metadata(
    _ sequence: UInt64, feature: String = "workout", from source: String = "left", session: UUID = sessionID
) -> SessionSyncMetadata {
    SessionSyncMetadata(
        sessionID: session, featureID: feature, sourcePeerID: source, sequence: sequence,
        causalTimestamp: Date(timeIntervalSince1970: 1_767_225_600), payloadType: "test.text")
}

func envelope(
    _ sequence: UInt64, feature: String = "workout", text: String = "event", from source: String = "left",
    session: UUID = sessionID
) throws -> AnySessionSyncEnvelope {
    try AnySessionSyncEnvelope(
        SessionSyncEnvelope(
            metadata: metadata(sequence, feature: feature, from: source, session: session), payload: [text]))
}

func snapshot(
    _ revision: UInt64, feature: String = "workout", from source: String = "left", session: UUID = sessionID
) throws -> AnySessionSyncSnapshot {
    try AnySessionSyncSnapshot(
        SessionSyncSnapshot(
            metadata: metadata(revision, feature: feature, from: source, session: session), revision: revision,
            state: ["state \(revision)"],
            peerSequenceVector: ["left": revision]))
}

/// Two transports on a wire, with one clock.
struct Pair {
    let wire: MemoryWire
    let clock = ManualClock()
    let left: LinkTransport
    let right: LinkTransport

    init(
        _ wire: MemoryWire = MemoryWire(), configuration: DeliveryConfiguration = .init(),
        rightConfiguration: DeliveryConfiguration? = nil,
        leftStore: (any SessionStore)? = nil, rightStore: (any SessionStore)? = nil,
        earlierVersions: Set<CoreWorld.Side> = []
    ) throws {
        self.wire = wire
        var configuration = configuration
        func abilities(of side: CoreWorld.Side) -> WireAbilities { earlierVersions.contains(side) ? [] : .all }
        configuration.abilities = abilities(of: .left)
        let launch = wire.nextLaunch()
        configuration.seed = configuration.seed ?? launch * 2
        left = try LinkTransport(
            localPeer: peer("left"), link: wire.left, configuration: configuration, store: leftStore, clock: clock)
        configuration = rightConfiguration ?? configuration
        configuration.seed = launch * 2 + 1
        configuration.abilities = abilities(of: .right)
        right = try LinkTransport(
            localPeer: peer("right"), link: wire.right, configuration: configuration, store: rightStore, clock: clock)
        try left.start()
        try right.start()
    }

    func settle(_ duration: Duration = .milliseconds(100)) { clock.advance(by: duration) }
}

/// The elements that a stream has brought so far. Tests read it after the stream's producers have finished.
final class Log<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])
    private let task: Task<Void, Never>

    init(_ stream: AsyncStream<Element>) {
        let elements = elements
        task = Task { for await element in stream { elements.withLock { $0.append(element) } } }
    }

    init(batches: EnvelopeBatches) where Element == [AnySessionSyncEnvelope] {
        let elements = elements
        task = Task { while let batch = await batches.next() { elements.withLock { $0.append(batch) } } }
    }

    deinit { task.cancel() }

    var all: [Element] { elements.withLock { $0 } }

    /// Waits for at least `count` elements.
    func atLeast(_ count: Int) async -> [Element] {
        await eventually { all.count >= count }
        return all
    }

    /// Waits for an element that matches, for as long as `atLeast(_:)` does.
    func has(_ predicate: (Element) -> Bool) async -> Bool {
        await eventually { all.contains(where: predicate) }
        return all.contains(where: predicate)
    }
}

extension Log where Element == AnySessionSyncEnvelope {
    func sequences(_ count: Int, feature: String = "workout") async -> [UInt64] {
        await atLeast(count).filter { $0.metadata.featureID == feature }.map(\.metadata.sequence)
    }
}
