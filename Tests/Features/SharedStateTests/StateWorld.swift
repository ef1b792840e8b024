import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshScenarioTransport
import MeshStorage
import MeshTestSupport
import MeshTransport

@testable import MeshSharedState

struct Settings: Codable, Sendable, Hashable {
    var volume = 5
    var name = "default"
    var gain = 1.0
    var note: String?
}

/// Peers on one simulated network. They can be disconnected, die and return.
@MainActor
final class StateWorld {
    let network: ScenarioNetwork
    private(set) var devices: [Device] = []

    init(seed: UInt64 = 3, _ ids: [String] = ["phone", "watch"], conditions: ScenarioConditions = .calm) {
        network = ScenarioNetwork(seed: seed, conditions: conditions)
        devices = ids.map { Device($0, on: network) }
    }

    subscript(_ id: String) -> Device {
        guard let device = devices.first(where: { $0.peer.id == id }) else { preconditionFailure("no \(id)") }
        return device
    }

    /// Lets all devices finish their current work.
    func rest() async {
        for _ in 0..<8 { await Task.yield() }
        var patience = 20_000
        while patience > 0, devices.contains(where: \.isWorking) {
            await Task.yield()
            patience -= 1
        }
    }

    /// Advances virtual time in small steps until the condition holds.
    @discardableResult
    func run(for duration: Duration = .seconds(20), until condition: () -> Bool = { false }) async -> Bool {
        let end = network.elapsed + duration
        while network.elapsed < end {
            await rest()
            if condition() { return true }
            network.advance(by: .milliseconds(100))
        }
        await rest()
        return condition()
    }

    func cut(_ first: String, _ second: String) { network.partition([self[first].peer], [self[second].peer]) }
    func heal() { network.heal() }
}

/// One peer, whose store outlives its process unless it is lost.
@MainActor
final class Device {
    let peer: SessionPeer
    private let network: ScenarioNetwork
    private var disk: Disk?
    private var launchCount = 0
    private(set) var connection: TransportConnection
    private var replicas: [@MainActor () -> Bool] = []

    init(_ id: String, on network: ScenarioNetwork, hasStore: Bool = true) {
        self.network = network
        peer = SessionPeer(id: id, deviceClass: .phone, appInstanceID: "1", topology: .sameHost)
        let disk = hasStore ? Disk() : nil
        self.disk = disk
        connection = Self.connect(peer, network, disk)
    }

    private static func connect(_ peer: SessionPeer, _ network: ScenarioNetwork, _ disk: Disk?) -> TransportConnection {
        TransportConnection(
            transport: network.makeTransport(localPeer: peer), store: disk, clock: network.clock(of: peer))
    }

    var isWorking: Bool { replicas.contains { $0() } }
    var store: Disk? { disk }

    func state<State: Codable & Sendable & Equatable>(
        _ initialValue: State, id: String? = nil, merge: SharedStateMerge<State> = .whole,
        encoder: JSONEncoder? = nil
    ) -> SharedState<State> {
        let state = SharedState(
            initialValue: initialValue, connection: connection, id: id, merge: merge, encoder: encoder)
        let replica = state.replica
        replicas.append { [weak replica] in replica?.isWorking ?? false }
        return state
    }

    enum Loss {
        case nothing, store
        /// The store is replaced by an earlier copy of it.
        case changesSince(Disk)
    }

    /// Kills the process and launches it again. Its unfinished work has no further effect.
    func relaunch(losing loss: Loss = .nothing) {
        disk?.cutOff()
        network.crash(peer)
        replicas = []
        switch loss {
        case .nothing: disk = disk?.reopened()
        case .store: disk = disk.map { _ in Disk() }
        case .changesSince(let copy): disk = copy.copied()
        }
        connection = Self.connect(peer, network, disk)
    }

    /// Ends the process for good.
    func die() {
        disk?.cutOff()
        network.crash(peer)
    }
}

/// A store that outlives the process that writes it, and refuses writes on request.
final class Disk: SessionStore {
    private struct Contents {
        var values: [String: [UInt8]] = [:]
    }

    private let contents: Locked<Contents>
    private let flags = Locked((isCutOff: false, isFull: false, commitCount: 0))

    private init(_ contents: Locked<Contents>) { self.contents = contents }
    convenience init() { self.init(Locked(Contents())) }

    func cutOff() { flags.withLock { $0.isCutOff = true } }
    func setFull(_ isFull: Bool) { flags.withLock { $0.isFull = isFull } }
    func reopened() -> Disk { Disk(contents) }
    func copied() -> Disk { Disk(Locked(contents.withLock { $0 })) }
    var commitCount: Int { flags.withLock { $0.commitCount } }
    var keys: [String] { contents.withLock { $0.values.keys.sorted() } }
    func overwrite(_ bytes: [UInt8]) { contents.withLock { for key in $0.values.keys { $0.values[key] = bytes } } }

    var durability: StoreDurability { .machine }

    func commit(_ batch: StoreBatch) throws {
        try check()
        if flags.withLock({ $0.isFull }) { throw StorageError(.full, "no room") }
        flags.withLock { $0.commitCount += 1 }
        contents.withLock { contents in
            for case .set(let key, let bytes) in batch.operations { contents.values[key] = bytes }
        }
    }

    func value(for key: String) throws -> [UInt8]? {
        try check()
        return contents.withLock { $0.values[key] }
    }

    func catalog(prefix: String) -> StoreCatalog { StoreCatalog(keys: keys.filter { $0.hasPrefix(prefix) }) }
    func entries(of journal: String, from position: UInt64, maxBytes: Int) -> [StoreEntry] { [] }
    func close() {}

    private func check() throws {
        if flags.withLock({ $0.isCutOff }) { throw StorageError(.closed, "the process is dead") }
    }
}
