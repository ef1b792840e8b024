import Foundation
import MeshBase
import MeshDelivery
import MeshIdentity
import MeshSimulatedWatch
import MeshStorage
import MeshTestSupport
import MeshTransport
import MeshWatchConnectivityTransport

/// A phone and a watch with one of our apps on each, in virtual time: two instances that share nothing but the pair.
final class World: Sendable {
    enum Side: CaseIterable {
        case phone, watch
    }

    let pair: SimulatedWatchPair
    private let stores: [Side: MemoryStore]?
    private let launches = Locked<UInt64>(0)
    private let transports = Locked<[Side: WatchConnectivitySessionSyncTransport]>([:])

    init(seed: UInt64 = 1, _ conditions: SimulatedWatchConditions = .ideal, watches: Int = 1, hasStores: Bool = false) {
        pair = SimulatedWatchPair(seed: seed, conditions: conditions, watches: watches)
        stores = hasStores ? [.phone: MemoryStore(), .watch: MemoryStore()] : nil
    }

    /// A world in which both apps run in the foreground and have met.
    static func running(
        seed: UInt64 = 1, _ conditions: SimulatedWatchConditions = .ideal, hasStores: Bool = false
    ) throws -> World {
        let world = World(seed: seed, conditions, hasStores: hasStores)
        for side in Side.allCases { try world.launch(side) }
        world.pair.advance(by: .seconds(2))
        return world
    }

    func device(_ side: Side) -> SimulatedDevice { side == .phone ? pair.phone : pair.watch }

    @discardableResult
    func launch(_ side: Side, inForeground: Bool = true) throws -> WatchConnectivitySessionSyncTransport {
        guard let session = device(side).launch(inForeground: inForeground) else { throw NotInstalled() }
        return try begin(side, session)
    }

    /// Runs the app's launch code, regardless of what launched it.
    @discardableResult
    func begin(_ side: Side, _ session: WCSession) throws -> WatchConnectivitySessionSyncTransport {
        var configuration = DeliveryConfiguration.watchConnectivity
        let launch = launches.withLock { count in
            count += 1
            return count
        }
        configuration.seed = pair.seed ^ launch << 32
        let transport = try WatchConnectivitySessionSyncTransport(
            localPeer: Self.peer(side), session: session, store: stores?[side], configuration: configuration,
            clock: pair.clock)
        transports.withLock { $0[side] = transport }
        return transport
    }

    /// Kills the app without notice, as the system does.
    func kill(_ side: Side) {
        device(side).kill()
        let transport = transports.withLock { $0.removeValue(forKey: side) }
        transport?.delivery.abandon()
    }

    subscript(side: Side) -> WatchConnectivitySessionSyncTransport {
        get throws {
            guard let transport = transports.withLock({ $0[side] }) else { throw NotInstalled() }
            return transport
        }
    }

    static func peer(_ side: Side) -> SessionPeer {
        SessionPeer(
            id: side == .phone ? "phone" : "watch", deviceClass: side == .phone ? .phone : .watch,
            appInstanceID: "1", topology: .pairedCompanion)
    }

    struct NotInstalled: Error {}
}

let sessionID = UUID(uuid: (0x5E, 0x55, 0x10, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 8))

func metadata(_ sequence: UInt64, from side: World.Side, feature: String = "workout") -> SessionSyncMetadata {
    SessionSyncMetadata(
        sessionID: sessionID, featureID: feature, sourcePeerID: World.peer(side).id, sequence: sequence,
        causalTimestamp: Date(timeIntervalSince1970: 1_767_225_600), payloadType: "test.text")
}

func envelope(
    _ sequence: UInt64, from side: World.Side, feature: String = "workout", byteCount: Int = 10
) throws -> AnySessionSyncEnvelope {
    try AnySessionSyncEnvelope(
        SessionSyncEnvelope(
            metadata: metadata(sequence, from: side, feature: feature),
            payload: [String(repeating: "x", count: byteCount)]))
}

func snapshot(
    _ revision: UInt64, from side: World.Side, feature: String = "workout", byteCount: Int = 10
) throws -> AnySessionSyncSnapshot {
    try AnySessionSyncSnapshot(
        SessionSyncSnapshot(
            metadata: metadata(revision, from: side, feature: feature), revision: revision,
            state: [String(repeating: "x", count: byteCount)], peerSequenceVector: [World.peer(side).id: revision]))
}

/// The elements that a stream has brought so far.
final class Log<Element: Sendable>: Sendable {
    private let elements = Locked<[Element]>([])
    private let task: Task<Void, Never>

    init(_ stream: AsyncStream<Element>) {
        let elements = elements
        task = Task { for await element in stream { elements.withLock { $0.append(element) } } }
    }

    deinit { task.cancel() }

    var all: [Element] { elements.withLock { $0 } }

    /// Waits for at least `count` elements.
    func atLeast(_ count: Int) async -> [Element] {
        await eventually { all.count >= count }
        return all
    }
}

extension Log where Element == AnySessionSyncEnvelope {
    func sequences(_ count: Int) async -> [UInt64] { await atLeast(count).map(\.metadata.sequence) }
}
