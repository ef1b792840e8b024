import MeshBase
public import MeshDelivery
public import MeshFoundation
public import MeshIdentity
public import MeshTransport

/// The tools of a transport rule: a pair of ends, ways to let time pass, and messages to send.
///
/// The fixture's patience bounds every wait, so a rule ends even if the transport does nothing.
public struct TransportBench: Sendable {
    /// The two ends under examination.
    public let pair: TransportPair
    /// Maximum number of times that a wait lets time pass.
    public let patience: Int
    /// The fixture of the link below the transports; nil if they have none.
    public let links: LinkFixture?
    /// Closes what the rule has made in addition to the pair.
    private let extras = Locked<[@Sendable () async -> Void]>([])
    /// The session of all messages that the bench makes.
    public let sessionID = UUID(uuid: (0x5E, 0x55, 0x10, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 7))

    /// The end that usually sends.
    public var first: any SessionSyncTransport { pair.first }
    /// The end that usually receives.
    public var second: any SessionSyncTransport { pair.second }

    /// Creates a bench for a pair, which the caller closes.
    public init(pair: TransportPair, patience: Int, links: LinkFixture? = nil) {
        self.pair = pair
        self.patience = patience
        self.links = links
    }

    private init(_ pair: TransportPair, alongside bench: TransportBench) {
        self.init(pair: pair, patience: bench.patience, links: bench.links)
        bench.keep([pair.first, pair.second])
    }

    /// Starts recording a stream.
    public func record<Element: Sendable>(_ stream: AsyncStream<Element>) -> Recorder<Element> { Recorder(stream) }

    /// Lets time pass until the condition holds.
    /// - Throws: `ConformanceFailure` with the text of `expectation` if the patience ends first.
    public func wait(
        in crowd: TransportCrowd? = nil, for expectation: @autoclosure () -> String, until condition: () -> Bool
    ) async throws {
        guard try await Patience(turns: patience).settle(by: crowd?.settle ?? pair.settle, until: condition) else {
            throw ConformanceFailure("timed out waiting for \(expectation())")
        }
    }

    /// Lets enough time pass for everything in flight to arrive.
    public func settle() async {
        for _ in 0..<100 { await pair.settle() }
    }

    /// Disconnects the pair and waits until both ends have noticed.
    public func disconnect() async throws {
        guard let disconnect = pair.disconnect else { throw ConformanceFailure("the fixture can't disconnect") }
        try await disconnect()
        await settle()
    }

    /// Connects the pair and waits until both ends know each other.
    public func connect() async throws {
        try await pair.connect()
        guard !pair.ownSendsComeBack else { return }
        try await wait(for: "both ends to know each other") {
            first.knownPeers.contains { $0.id == second.localPeer.id }
                && second.knownPeers.contains { $0.id == first.localPeer.id }
        }
        // Peers can be known before they are reachable.
        await settle()
    }
}

// MARK: - More than a pair

extension TransportBench {
    /// Returns a bench with a pair that can be relaunched.
    public func durable() async throws -> TransportBench {
        guard let make = pair.makeDurable else { throw ConformanceFailure("the fixture makes no durable pair") }
        return TransportBench(try await make(), alongside: self)
    }

    /// Returns a bench with a pair that buffers little for a subscriber that doesn't read.
    func narrow() async throws -> TransportBench {
        guard let make = pair.makeNarrow else { throw ConformanceFailure("the fixture makes no narrow pair") }
        return TransportBench(try await make(), alongside: self)
    }

    /// Returns a bench with the same peers after both have crashed and been relaunched.
    public func relaunched(alongside bench: TransportBench) async throws -> TransportBench {
        guard let relaunch = pair.relaunch else { throw ConformanceFailure("the pair can't be relaunched") }
        return TransportBench(try await relaunch(), alongside: bench)
    }

    /// The former name of ``relaunched(alongside:)``.
    @available(*, deprecated, renamed: "relaunched(alongside:)")
    public func relaunched(beside bench: TransportBench) async throws -> TransportBench {
        try await relaunched(alongside: bench)
    }

    /// Returns `count` peers that know each other.
    public func crowd(_ count: Int) async throws -> TransportCrowd {
        guard let make = pair.makeCrowd else { throw ConformanceFailure("the fixture makes no crowd") }
        let crowd = try await make(count)
        keep(crowd.ends)
        try requireEqual(crowd.ends.count, count, "the number of peers in the fixture's crowd")
        try await crowd.connect()
        _ = try await Patience(turns: patience).settle(by: crowd.settle) {
            crowd.ends.allSatisfy { $0.knownPeers.count >= count - 1 }
        }
        try require(
            crowd.ends.allSatisfy { $0.knownPeers.count == count - 1 },
            "one of \(count) peers knows only \(crowd.ends.map(\.knownPeers.count).min() ?? 0) others")
        return crowd
    }

    func faults() throws -> TransportFaults {
        guard let faults = pair.faults else { throw ConformanceFailure("the fixture has no faults") }
        return faults
    }

    /// Closes these transports with the pair.
    func keep(_ transports: [any SessionSyncTransport]) {
        extras.withLock { extras in
            for transport in transports { extras.append { await transport.close() } }
        }
    }

    /// Keeps a group of links until the pair is closed, and closes them with it.
    func keep(_ group: LinkGroup) {
        extras.withLock { $0.append { for link in group.links { await link.close() } } }
    }

    func closeAll() async {
        for transport in [pair.first, pair.second] + [pair.bystander].compactMap({ $0 }) { await transport.close() }
        for close in extras.withLock({ $0 }) { await close() }
    }
}

// MARK: - Messages

extension TransportBench {
    /// Returns metadata for a test event.
    ///
    /// - Parameter source: the event's author; by default the first end's peer.
    public func metadata(
        _ sequence: UInt64, feature: String = "workout", from source: SessionPeer? = nil
    ) -> SessionSyncMetadata {
        SessionSyncMetadata(
            sessionID: sessionID, featureID: feature, sourcePeerID: (source ?? first.localPeer).id, sequence: sequence,
            causalTimestamp: Date(timeIntervalSince1970: 1_767_225_600), payloadType: "conformance.text")
    }

    /// Returns an envelope of the session. By default its source is the first end's peer.
    public func envelope(
        _ sequence: UInt64, feature: String = "workout", text: String = "event", from source: SessionPeer? = nil
    ) throws -> AnySessionSyncEnvelope {
        try AnySessionSyncEnvelope(
            SessionSyncEnvelope(metadata: metadata(sequence, feature: feature, from: source), payload: [text]))
    }

    /// Returns a snapshot of the session by the first end's peer.
    public func snapshot(
        _ revision: UInt64, feature: String = "workout", text: String = "state"
    ) throws -> AnySessionSyncSnapshot {
        try snapshot(revision, feature: feature, text: text, from: first.localPeer)
    }

    /// Returns a test snapshot.
    ///
    /// - Parameter source: the apparent author.
    public func snapshot(
        _ revision: UInt64, feature: String = "workout", text: String = "state", from source: SessionPeer
    ) throws -> AnySessionSyncSnapshot {
        try AnySessionSyncSnapshot(
            SessionSyncSnapshot(
                metadata: metadata(revision, feature: feature, from: source), revision: revision, state: [text],
                peerSequenceVector: [first.localPeer.id: revision]))
    }

    /// Sends envelopes from the first end to all peers.
    public func send(
        _ sequences: ClosedRange<UInt64>, feature: String = "workout", mode: SessionDeliveryMode = .reliableEventually
    ) async throws {
        for sequence in sequences { try await first.send(envelope(sequence, feature: feature), mode: mode, to: nil) }
    }

    /// Sends a snapshot from the first end to all peers.
    public func publish(_ revision: UInt64, feature: String = "workout") async throws {
        try await first.sendSnapshot(snapshot(revision, feature: feature), mode: .latestSnapshot, to: nil)
    }
}

extension Recorder where Element == AnySessionSyncEnvelope {
    /// The sequences of a feature's envelopes, in the order of their arrival.
    public func sequences(feature: String = "workout") -> [UInt64] {
        elements.filter { $0.metadata.featureID == feature }.map(\.metadata.sequence)
    }
}

extension Recorder where Element == AnySessionSyncSnapshot {
    /// The revisions of a feature's snapshots, in the order of their arrival.
    public func revisions(feature: String = "workout") -> [UInt64] {
        elements.filter { $0.metadata.featureID == feature }.map(\.revision)
    }
}
