import Foundation
import MeshDelivery
import MeshEngine
import MeshIdentity
import MeshTransport

/// An event's path from engine to engine on one thread, to measure the cost of each step without any waiting.
struct WayInPieces {
    enum Piece: String, CaseIterable {
        case submit = "engine: submit"
        case send = "send: encode, deliver, frame"
        case arrive = "receive: unframe, deliver, hand over"
        case take = "reader: take what was handed over"
        case decode = "decode"
        case receive = "engine: receive"
    }

    private var asking = LinkPeers.engine(of: LinkPeers.asking, with: LinkPeers.answering)
    private var answering = LinkPeers.engine(of: LinkPeers.answering, with: LinkPeers.asking)
    private let links = (KeepingLink(), KeepingLink())
    private let transports: (LinkTransport, LinkTransport)
    private let incoming: EnvelopeBatches
    private(set) var times: [Piece: Duration] = [:]

    init() async throws {
        transports = (
            try LinkTransport(localPeer: LinkPeers.asking, link: links.0),
            try LinkTransport(localPeer: LinkPeers.answering, link: links.1)
        )
        incoming = transports.1.envelopeBatches { _ in true }
        try transports.0.start()
        try transports.1.start()
        for _ in 0..<8 { exchange() }
        for _ in 0..<4 { try settle() }
    }

    /// Passes `count` events together, and adds up the time of each step.
    mutating func pass(_ count: Int) async throws {
        let now = Date()
        var events: [SessionSyncEnvelope<LinkMessage>] = []
        events.reserveCapacity(count)
        var start = ContinuousClock.now
        for _ in 0..<count { events.append(try asking.submitLocal(.plain, at: now)) }
        end(.submit, &start)
        try await transports.0.send(
            events.map { try AnySessionSyncEnvelope($0) }, mode: .realtimeBestEffort, to: nil)
        end(.send, &start)
        let packets = links.0.takePackets()
        start = .now
        links.1.receive(packets)
        end(.arrive, &start)
        var arrived: [AnySessionSyncEnvelope] = []
        while arrived.count < count, let batch = await incoming.next() { arrived += batch }
        end(.take, &start)
        events.removeAll(keepingCapacity: true)
        for envelope in arrived {
            let message = try envelope.decodePayload(as: LinkMessage.self)
            events.append(SessionSyncEnvelope(metadata: envelope.metadata, payload: message))
        }
        end(.decode, &start)
        for event in events { _ = try answering.receive(event) }
        end(.receive, &start)
    }

    /// Exchanges acknowledgements and lets delivery send its own. Not timed.
    mutating func settle() throws {
        exchange()
        for _ in 0..<2 {
            let now = Date()
            asking.tick(at: now)
            answering.tick(at: now)
            for control in asking.takeControls() { try answering.receiveControl(control, at: now) }
            for control in answering.takeControls() { try asking.receiveControl(control, at: now) }
        }
    }

    mutating func forgetTimes() { times = [:] }

    func close() async {
        await transports.0.close()
        await transports.1.close()
    }

    private mutating func end(_ piece: Piece, _ start: inout ContinuousClock.Instant) {
        let now = ContinuousClock.now
        times[piece, default: .zero] += start.duration(to: now)
        start = .now
    }

    private func exchange() {
        links.1.receive(links.0.takePackets())
        links.0.receive(links.1.takePackets())
    }
}
