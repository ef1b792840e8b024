import MeshBase
import MeshBrokenRules
import Testing

@testable import MeshResume

/// A core in virtual time, with a store, a socket and an app around it. They carry out its directives at once unless a
/// test delays them.
struct ResumeWorld {
    private(set) var core: ResumeCore
    private(set) var now = Duration.zero
    /// The state that a new process would load.
    var stored: SessionSnapshot?
    var storeFails = false
    var token: String? = "token"
    var handshakeFails = false
    /// True if requested tokens wait for `returnToken`.
    var tokensWait = false
    private(set) var waitingTokens: [UInt64] = []
    private(set) var reported: [SessionEvent] = []
    private(set) var handshakes: [HandshakeRequest.Kind] = []
    private(set) var heartbeats: [(at: Duration, lastSeq: UInt64)] = []
    private(set) var writeCount = 0
    let settings: ResumeCore.Settings
    let seed: UInt64

    init(
        _ configuration: SessionCoordinator.Configuration = .init(), writeDelay: Duration = .zero, seed: UInt64 = 1
    ) {
        settings = ResumeCore.Settings(
            configuration: configuration, properties: properties, writeDelay: writeDelay)
        self.seed = seed
        core = ResumeCore(settings, seed: seed)
    }

    var cursor: UInt64? { core.snapshot?.lastSeq }

    // MARK: Inputs

    mutating func open() {
        core.open()
        carryOut()
    }

    mutating func close() {
        core.close()
        carryOut()
    }

    mutating func clear() {
        core.clear()
        carryOut()
    }

    mutating func retryUnacknowledged() {
        core.retryUnacknowledged()
        carryOut()
    }

    mutating func acknowledge(_ sequence: UInt64, in sessionID: String? = nil) {
        core.acknowledge(through: sequence, in: sessionID, now)
        carryOut()
    }

    @discardableResult
    mutating func receive(_ event: IncomingEvent) -> Reception {
        let reception = core.receive(event, now)
        carryOut()
        return reception
    }

    @discardableResult
    mutating func push(_ sequences: UInt64...) -> [Reception] { sequences.map { receive(.pushEvent(seq: $0)) } }

    mutating func returnToken(_ token: String?) {
        guard !waitingTokens.isEmpty else { return }
        core.tokenReturned(token, connection: waitingTokens.removeFirst(), now)
        carryOut()
    }

    /// Starts another process with this one's stored state.
    mutating func relaunch() {
        core = ResumeCore(settings, seed: seed)
        reported = []
    }

    /// Advances time, and acknowledges every heartbeat at once if requested.
    mutating func advance(by duration: Duration, acknowledging: Bool = false) {
        let end = now + duration
        while let due = core.deadline, due <= end {
            now = max(now, due)
            let count = heartbeats.count
            core.tick(now)
            carryOut()
            if acknowledging, heartbeats.count > count { receive(.heartbeatAck) }
        }
        now = end
    }

    mutating func forgetReported() { reported = [] }

    /// Brings the core to live at that sequence.
    mutating func begin(_ id: String = "s", at sequence: UInt64) {
        open()
        receive(.ready(sessionId: id, initialSeq: sequence))
        forgetReported()
    }

    // MARK: Directives

    private mutating func carryOut() {
        var directives = core.takeDirectives()
        while !directives.isEmpty {
            let directive = directives.removeFirst()
            switch directive {
            case .publish(let event): reported.append(event)
            case .load(let number):
                core.loaded(
                    storeFails ? .failure(ResumeError(.unavailable, "no store")) : .success(stored), connection: number)
            case .askToken(let number):
                if tokensWait {
                    waitingTokens.append(number)
                } else {
                    core.tokenReturned(token, connection: number, now)
                }
            case .sendHandshake(let request, let number):
                handshakes.append(request.kind)
                core.handshakeReturned(handshakeFails ? "no socket" : nil, connection: number)
            case .sendHeartbeat(let request, _): heartbeats.append((now, request.lastSeq))
            case .write(let snapshot):
                writeCount += 1
                if !storeFails { stored = snapshot }
                core.writeFinished(storeFails ? ResumeError(.unavailable, "no store") : nil, now)
            }
            directives += core.takeDirectives()
        }
    }
}

let properties = ClientProperties(platform: "test", appVersion: "1", osVersion: "1", deviceName: "t", deviceId: "d")
let contiguous = SessionCoordinator.Configuration(sequencing: .contiguous)

/// Checks that a scenario ends without a complaint, and with one when a rule is broken.
func prove(
    _ mutations: ResumeMutation..., configuration: SessionCoordinator.Configuration = .init(),
    writeDelay: Duration = .zero, sourceLocation: SourceLocation = #_sourceLocation,
    _ story: (inout ResumeWorld) -> String?
) {
    var world = ResumeWorld(configuration, writeDelay: writeDelay)
    let complaint = story(&world)
    #expect(complaint == nil, "\(world.reported)", sourceLocation: sourceLocation)
    guard BrokenRules.areThere else { return }
    for mutation in mutations {
        var twin = ResumeWorld(configuration, writeDelay: writeDelay)
        let complaint = breaking(mutation) { story(&twin) }
        #expect(complaint != nil, "\(mutation) passes: \(twin.reported)", sourceLocation: sourceLocation)
    }
}

/// Returns a complaint if the values differ.
func differs<Value: Equatable>(_ found: Value, _ expected: Value, _ what: String) -> String? {
    found == expected ? nil : "\(what): \(found) instead of \(expected)"
}

extension SessionCoordinator.Configuration {
    /// A copy for busy machines: no timeout of the real clock expires.
    var patient: Self {
        var configuration = self
        (configuration.replayTimeout, configuration.handshakeTimeout) = (86_400, 86_400)
        return configuration
    }
}
