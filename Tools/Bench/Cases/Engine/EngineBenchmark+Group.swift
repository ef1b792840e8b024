import MeshBase
import MeshEngine
import MeshFoundation
import MeshIdentity

/// Any number of engines that call each other directly. They submit in turn, and each confirms every event.
struct BenchmarkedGroup {
    typealias Engine = SessionSyncEngine<Int, Int, SummingReducer, AcceptingConflictPolicy<Int, Int>>

    /// Number of events of all members between two exchanges.
    static let batch = 256

    private var members: [Engine]
    private var now = Date(timeIntervalSince1970: 1_767_225_600)

    init(_ count: Int) throws {
        let sources = (0..<count).map { SessionSource(peerID: "device-\($0)", incarnation: 1) }
        var options = SessionEngineOptions<Int, Int>()
        options.samplesReducer = false
        members = sources.map { source in
            Engine(
                sessionID: UUID(uuid: (1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16)),
                featureID: "bench", localPeerID: source.peerID, payloadType: "event", snapshotPayloadType: "state",
                initialState: 0, reducer: SummingReducer(), conflictPolicy: AcceptingConflictPolicy(), incarnation: 1,
                seed: 1, members: sources, options: options)
        }
        for _ in 0..<4 { try exchange() }
    }

    /// Measures one batch.
    /// - Returns: Time in which all members submit, receive and confirm `batch` events.
    mutating func round() throws -> Duration {
        let start = ContinuousClock.now
        for number in 0..<Self.batch {
            let author = number % members.count
            now += 0.001
            let envelope = try members[author].submitLocal(number, at: now)
            for other in members.indices where other != author { _ = try members[other].receive(envelope) }
        }
        try exchange()
        return ContinuousClock.now - start
    }

    /// Sends each member's control message to all others.
    private mutating func exchange() throws {
        now += 0.001
        for member in members.indices { members[member].tick(at: now) }
        for member in members.indices {
            for message in members[member].takeDirectives().outgoing {
                guard case .control(let control, nil) = message else { continue }
                for other in members.indices where other != member {
                    try members[other].receiveControl(control, at: now)
                }
            }
        }
    }

    /// The lowest number of confirmed events of any member. Everything up to the last exchange must be confirmed, or the
    /// benchmark doesn't measure what it says.
    var confirmedCount: UInt64 { members.map(\.confirmedCount).min() ?? 0 }

    /// A control message, to measure its size on the wire.
    mutating func control() -> SessionControl? {
        members[0].tick(at: now)
        for case .control(let control, _) in members[0].takeDirectives().outgoing { return control.payload }
        return nil
    }
}
