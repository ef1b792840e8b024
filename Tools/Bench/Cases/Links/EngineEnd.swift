import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshToolOutput
import MeshTransport

/// One end of a measured link: an engine directly on a transport. Used by one task.
struct EngineEnd {
    /// Number of events that are submitted together. `ask` also acknowledges after this many.
    static let batch = 256
    /// Maximum number of events in flight: fewer than an engine or a transport keeps.
    private static let window: UInt64 = 2048
    private static let acknowledgedTogether = 512

    private let transport: any SessionSyncTransport
    private let mode: SessionDeliveryMode
    private let pump: @Sendable () -> Void
    private let other: SessionSource
    private var engine: LinkEngine
    private let incoming: EnvelopeBatches
    private var unacknowledgedCount = 0
    private var unansweredCount = 0

    init(
        _ local: SessionPeer, with peer: SessionPeer, on transport: any SessionSyncTransport,
        mode: SessionDeliveryMode = .realtimeBestEffort, pump: @escaping @Sendable () -> Void = {}
    ) {
        self.transport = transport
        self.mode = mode
        self.pump = pump
        other = LinkPeers.source(of: peer)
        engine = LinkPeers.engine(of: local, with: peer)
        incoming = transport.envelopeBatches { _ in true }
    }

    private var source: SessionSource { engine.source }
    private var acknowledgedCount: UInt64 { engine.acknowledged(by: other)[source] }
    private var submittedCount: UInt64 { engine.held[source] }
}

// MARK: - Asking

extension EngineEnd {
    /// Sends hellos until the other end answers.
    mutating func meet() async throws {
        engine.tick(at: Date())
        let controls = engine.takeDirectives().outgoing.compactMap(\.control)
        // Repeated until there is an answer: the other end may not exist or listen yet.
        let greeting = Task { [transport, pump] in
            while !Task.isCancelled {
                for control in controls { try? await transport.send(control, mode: .acknowledgement, to: nil) }
                pump()
                try await Task.sleep(for: .milliseconds(5))
            }
        }
        while try await !take() {}
        greeting.cancel()
        try await exchange()
    }

    /// - Returns: Time until `count` more events have been acknowledged.
    mutating func flood(_ count: Int) async throws -> Duration {
        let goal = acknowledgedCount + UInt64(count)
        let start = ContinuousClock.now
        // Submits more than `count`: the other end may acknowledge the last ones only together with later events.
        while acknowledgedCount < goal {
            while submittedCount + UInt64(Self.batch) <= acknowledgedCount + Self.window {
                try await submit((0..<Self.batch).map { _ in .plain })
            }
            _ = try await take()
        }
        return start.duration(to: .now)
    }

    /// Asks one question after the other.
    /// - Returns: Time from each question to its answer.
    mutating func ask(_ count: Int) async throws -> [Duration] {
        var times: [Duration] = []
        for number in 1...count {
            let start = ContinuousClock.now
            let expected = engine.held[other] + 1
            try await submit([.question])
            while engine.held[other] < expected { _ = try await take() }
            times.append(start.duration(to: .now))
            if number % Self.batch == 0 { try await exchange() }
        }
        return times
    }
}

// MARK: - Answering

extension EngineEnd {
    /// Answers and acknowledges until the stream ends.
    mutating func serve() async throws {
        while true {
            let isControl: Bool
            do { isControl = try await take() } catch is LinkEnded { return }
            if unansweredCount > 0 {
                let answers = Array(repeating: LinkMessage.plain, count: unansweredCount)
                unansweredCount = 0
                try await submit(answers)
            }
            if isControl || unacknowledgedCount >= Self.acknowledgedTogether { try await exchange() }
        }
    }
}

/// The other end has closed: no more envelopes arrive.
struct LinkEnded: Error {}

// MARK: - Both

extension EngineEnd {
    private mutating func submit(_ messages: [LinkMessage]) async throws {
        let now = Date()
        let events = try messages.map { try engine.submitLocal($0, at: now) }
        try await transport.send(events.map { try AnySessionSyncEnvelope($0) }, mode: mode, to: nil)
        pump()
    }

    /// Sends an acknowledgement of the events held here.
    private mutating func exchange() async throws {
        unacknowledgedCount = 0
        engine.tick(at: Date())
        try await sendDirectives()
    }

    private mutating func sendDirectives() async throws {
        let directives = engine.takeDirectives()
        if let last = directives.confirmed.last { engine.markSideEffects(through: last.position) }
        for message in directives.outgoing {
            // Events that the other end lacks are in flight: these links lose nothing.
            guard let control = message.control else { continue }
            try await transport.send(control, mode: .acknowledgement, to: nil)
        }
        pump()
    }

    /// Waits for the next batch of envelopes and applies it.
    /// - Returns: True if the batch contained a control message.
    private mutating func take() async throws -> Bool {
        guard let batch = await incoming.next(isolation: nil) else { throw LinkEnded() }
        var isControl = false
        for envelope in batch where envelope.metadata.sourcePeerID == other.peerID {
            if envelope.metadata.payloadType == SessionControl.payloadType {
                isControl = true
                let control = try envelope.decodePayload(as: SessionControl.self)
                try engine.receiveControl(
                    SessionSyncEnvelope(metadata: envelope.metadata, payload: control), at: Date())
            } else {
                let message = try envelope.decodePayload(as: LinkMessage.self)
                let event = SessionSyncEnvelope(metadata: envelope.metadata, payload: message)
                switch try engine.receive(event) {
                case .applied:
                    unacknowledgedCount += 1
                    if message.wantsAnswer { unansweredCount += 1 }
                // A session sends events again until they are acknowledged.
                case .duplicate: break
                case .ignored: throw ToolError("event \(event.metadata.sequence) was not applied")
                case .snapshotRequired(let expected, let received):
                    throw ToolError("event \(received) arrived instead of \(expected), but these links lose nothing")
                }
            }
        }
        if isControl { try await sendDirectives() }
        return isControl
    }
}

extension SessionOutgoing {
    fileprivate var control: AnySessionSyncEnvelope? {
        if case .control(let control, _) = self { try? AnySessionSyncEnvelope(control) } else { nil }
    }
}
