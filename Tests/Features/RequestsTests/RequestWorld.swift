import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshRequests
import MeshScenarioTransport
import MeshStorage
import MeshTestSupport
import MeshTransport
import Testing

let phone = SessionPeer(id: "phone", deviceClass: .phone, appInstanceID: "1", topology: .pairedCompanion)
let watch = SessionPeer(id: "watch", deviceClass: .watch, appInstanceID: "1", topology: .pairedCompanion)
let tablet = SessionPeer(id: "tablet", deviceClass: .tablet, appInstanceID: "1", topology: .pairedCompanion)

/// One launch of an app.
final class Device: Sendable {
    let peer: SessionPeer
    let connection: TransportConnection
    let requests: SessionRequests
    let events: Recorder<DiagnosticEvent>

    init(
        _ peer: SessionPeer, _ transport: any SessionSyncTransport, store: (any SessionStore)?, clock: any DeliveryClock
    )
        throws
    {
        self.peer = peer
        connection = TransportConnection(transport: transport, store: store, clock: clock)
        events = Recorder(connection.diagnostics.subscribe())
        requests = try SessionRequests(connection: connection)
    }
}

/// Collects the elements of a stream.
final class Recorder<Element: Sendable>: Sendable {
    private let noted = Locked<[Element]>([])
    private let tasks = OwnedTasks()

    init(_ stream: AsyncStream<Element>) {
        let noted = noted
        tasks.hold([Task { for await element in stream { noted.withLock { $0.append(element) } } }])
    }

    var all: [Element] { noted.withLock { $0 } }
}

/// A network in virtual time, and its devices.
struct World: Sendable {
    let network: ScenarioNetwork

    init(seed: UInt64 = 1, conditions: ScenarioConditions = .calm) {
        network = ScenarioNetwork(seed: seed, conditions: conditions)
    }

    func device(
        _ peer: SessionPeer, lanes: [LinkLane: PayloadLimit] = ScenarioLanes.network, store: (any SessionStore)? = nil,
        transportStore: (any SessionStore)? = nil, configuration: DeliveryConfiguration = DeliveryConfiguration()
    ) throws -> Device {
        let transport = try network.makeTransport(
            localPeer: peer, lanes: lanes, configuration: configuration, store: transportStore)
        return try Device(peer, transport, store: store, clock: network.clock(of: peer))
    }

    func pair() async throws -> (phone: Device, watch: Device) {
        let here = try device(phone)
        let there = try device(watch)
        await meet(here, there)
        return (here, there)
    }

    /// Waits until the devices have found each other.
    func meet(_ devices: Device...) async {
        await run { devices.allSatisfy { $0.requests.isReachable() } }
    }

    /// Advances time by ten milliseconds and lets every task run as far as it can.
    func step() async {
        network.advance(by: .milliseconds(10))
        for _ in 0..<20 { await Task.yield() }
    }

    func run(for duration: Duration) async {
        let end = network.elapsed + duration
        while network.elapsed < end { await step() }
    }

    /// Advances time until the condition holds.
    func run(
        within patience: Duration = .seconds(120), sourceLocation: SourceLocation = #_sourceLocation,
        until condition: () -> Bool
    ) async {
        let end = network.elapsed + patience
        while !condition() {
            guard network.elapsed < end else {
                Issue.record("nothing settled; seed \(network.seed)", sourceLocation: sourceLocation)
                return
            }
            await step()
        }
    }

    /// Advances time until the body has returned.
    func finish<Value: Sendable>(_ pending: Pending<Value>) async throws -> Value {
        await run { pending.isOver }
        return try await pending.task.value
    }

    func finish<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await finish(Pending(body))
    }
}

/// A pending call.
final class Pending<Value: Sendable>: Sendable {
    let task: Task<Value, any Error>
    private let over: Locked<Bool>

    init(_ body: @escaping @Sendable () async throws -> Value) {
        let over = Locked(false)
        self.over = over
        task = Task {
            defer { over.withLock { $0 = true } }
            return try await body()
        }
    }

    var isOver: Bool { over.withLock { $0 } }
}

// MARK: - Requests

struct Add: SessionRequest {
    typealias Response = Int
    let left: Int
    let right: Int
}

struct Log: FireAndForgetRequest { let line: Int }

struct Find: SessionRequest {
    typealias Response = String
    static var failures: [any (Error & Codable & Sendable).Type] { [NotFound.self] }
    let name: String
}

struct NotFound: Error, Codable, Equatable { let name: String }
struct Unlisted: Error, Codable {}

/// The numbers that handlers have recorded.
final class Done: Sendable {
    private let noted = Locked<[Int]>([])

    func note(_ number: Int) { noted.withLock { $0.append(number) } }
    var all: [Int] { noted.withLock { $0 } }
}
