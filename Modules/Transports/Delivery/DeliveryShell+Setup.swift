import MeshBase
import MeshIdentity
import MeshStorage
import MeshTransport
import MeshWire

extension DeliveryShell {
    /// - Throws: `DeliveryError.invalidConfiguration`, `WireError.invalidValue`, `StorageError`.
    convenience init(
        localPeer: SessionPeer, link: any TransportLink, configuration: DeliveryConfiguration,
        store: (any SessionStore)?, clock: any DeliveryClock, diagnostics: Topic<SessionDiagnosticEvent>
    ) throws {
        try configuration.check(link.lanes)
        let codecs = try CodecTable(
            [configuration.codec] + configuration.readableCodecs.filter { $0.id != configuration.codec.id })
        var random = SplitMix64(seed: configuration.seed ?? .random(in: 0 ... .max))
        let setup = LineSetup(
            codec: configuration.codec, codecs: codecs, compression: configuration.compression,
            datagramLimit: link.lanes[.datagram],
            streamBytes: min(link.lanes[.stream]?.bytes ?? .max, DeliveryLine.flushBytes),
            firstFragment: UInt32(truncatingIfNeeded: random.next()))
        let outbox = UInt32(truncatingIfNeeded: random.next())
        let archive = try store.map { try DeliveryArchive($0, setup, outbox: outbox) }
        var settings = DeliveryCore.Settings(
            configuration, lanes: Set(link.lanes.keys), codec: configuration.codec.id.number,
            codecs: codecs.codecs.map(\.id.number))
        settings.returnsOwnPackets = link.traits.returnsOwnPackets
        settings.idleInterval = max(link.traits.idleInterval, .seconds(1)).nanoseconds
        settings.isDurable = archive != nil
        settings.firstConnection = random.next()
        var core = DeliveryCore(localPeer: localPeer, settings: settings, outbox: outbox)
        let inbox = TransportInbox(
            bufferLimit: configuration.bufferLimit, featureLimit: configuration.featureLimit,
            onDrop: { diagnostics.publish(.subscriberFull($0, droppedCount: $1)) })
        let steadyClock = SteadyClock(clock)
        try archive?.restore(&core, inbox, DeliveryTime(clock, steadyClock))
        self.init(
            localPeer: localPeer, link: link, clock: clock, steadyClock: steadyClock, inbox: inbox,
            diagnostics: diagnostics,
            budget: PayloadBudget(limit: configuration.limit(link.lanes), codec: configuration.codec),
            writesPayloads: !link.traits.returnsOwnPackets || archive != nil
                || configuration.payloadLimit != .deliveryMessage,
            archive: archive, setup: setup, core: core)
    }
}

extension DeliveryConfiguration {
    fileprivate func check(_ lanes: [LinkLane: PayloadLimit]) throws(DeliveryError) {
        func invalid(_ message: String) -> DeliveryError { DeliveryError(.invalidConfiguration, message) }
        guard !lanes.isEmpty else { throw invalid("the link has no lane") }
        for (lane, limit) in lanes where limit.bytes < FrameFragmenter.datagramBytesMin {
            throw invalid("packets of \(limit.bytes) bytes on lane '\(lane.rawValue)' are too small for a frame")
        }
        guard (1...Int(IncomingChannel.window)).contains(queueLimit) else {
            throw invalid("queueLimit is \(queueLimit); it must be 1 to \(IncomingChannel.window)")
        }
        guard heartbeat > .zero else { throw invalid("heartbeat is \(heartbeat); it must be positive") }
        guard queueBytesMax > 0, pendingLimit >= 0, bufferLimit > 0, featureLimit > 0 else {
            throw invalid("bufferLimit and featureLimit must be at least 1")
        }
    }

    /// Returns the payload limit of one message. With a live lane it is the configured limit, because messages travel
    /// in pieces. Otherwise one packet of the largest lane must hold the message.
    fileprivate func limit(_ lanes: [LinkLane: PayloadLimit]) -> PayloadLimit {
        guard !lanes.keys.contains(where: \.isLive), let largest = lanes.values.max(by: { $0.bytes < $1.bytes }) else {
            return payloadLimit
        }
        // Header and metadata share the packet.
        let bytes = max(largest.bytes - 4096, largest.bytes / 2)
        guard bytes < payloadLimit.bytes else { return payloadLimit }
        return PayloadLimit(id: largest.id, bytes: bytes, summary: largest.summary, source: largest.source)
    }
}
