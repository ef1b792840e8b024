import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshTransport

/// A peer's newest values: all of them, or only changes.
struct EphemeralMessage: Sendable, Codable {
    static let payloadType = "sessionmesh.newest"

    var samples: [EphemeralLane<[UInt8]>.Sample]
}

/// Bounds of the values that peers show.
enum EphemeralLimits {
    static let keysMax = 64
    static let peersMax = 64
    static let nameBytesMax = 128
    static let valueBytesMax = 4096
    /// Maximum number of bytes in one message, unless the transport takes less.
    static let messageBytesMax = 16 << 10
}

/// The schedule on which values are sent again, in case they were lost. The interval of each value doubles each time.
struct EphemeralRepeats {
    private var entries: [String: (sentAt: Date, interval: TimeInterval)] = [:]

    /// Notes that values were sent. A new value is due again after `first` seconds. Later intervals last at most `most`
    /// seconds.
    mutating func send(
        _ names: Set<String>, new: Set<String>, at moment: Date, after first: TimeInterval, most: TimeInterval
    ) {
        for name in names {
            let known = new.contains(name) ? nil : entries[name]
            entries[name] = (moment, known.map { min(2 * $0.interval, most) } ?? first)
        }
    }

    /// Forgets values that are no longer kept.
    mutating func forget(allBut names: Set<String>) { entries = entries.filter { names.contains($0.key) } }

    func due(at moment: Date) -> Set<String> {
        Set(entries.filter { abs(moment.timeIntervalSince($0.value.sentAt)) >= $0.value.interval - 0.001 }.keys)
    }

    /// Seconds until the next repeat; nil if there is none.
    func wait(at moment: Date) -> TimeInterval? {
        entries.values.map { max(0, $0.interval - abs(moment.timeIntervalSince($0.sentAt))) }.min()
    }
}

/// Values of which only the newest counts. They bypass the engine: no order, no log, no store.
extension SessionCore {
    mutating func show(_ bytes: [UInt8], as name: String, at moment: Date) throws {
        guard (1...EphemeralLimits.nameBytesMax).contains(name.utf8.count) else {
            throw SessionSyncError.outOfRange(field: "ephemeral key")
        }
        guard bytes.count <= EphemeralLimits.valueBytesMax else {
            throw SessionSyncError.payloadTooLarge(
                bytes: bytes.count, limit: EphemeralLimits.valueBytesMax, limitID: "session.ephemeral")
        }
        record(bytes, as: name, at: moment)
        sendEphemerals([name])
    }

    /// Stops showing a value. Sends an empty value, which no version displays, as the newest.
    mutating func hide(_ name: String, at moment: Date) {
        guard let known = ephemerals[name, by: engine.localPeerID], !known.value.isEmpty else { return }
        record([], as: name, at: moment)
        sendEphemerals([name])
    }

    /// Hides all values before the session closes, without waiting for `ephemeralInterval`.
    mutating func hideAll(at moment: Date) {
        ephemeralsSentAt = nil
        for sample in ephemerals.samples(of: engine.localPeerID) { hide(sample.key, at: moment) }
    }

    private mutating func record(_ bytes: [UInt8], as name: String, at moment: Date) {
        ephemerals.rename(engine.source)
        _ = ephemerals.record(bytes, for: name, at: moment)
        directives.showsEphemerals = true
    }

    /// Returns the values shown under a name, this device's included, at most one per peer, ordered by peer ID.
    /// Complexity: O(peers).
    func shown(_ name: String) -> [EphemeralLane<[UInt8]>.Sample] {
        ([engine.localPeerID] + ephemeralHeardAt.keys).sorted()
            .compactMap { ephemerals[name, by: $0] }
            .filter { !$0.value.isEmpty }
    }

    // MARK: - Sending

    /// Queues values. If they come faster than `ephemeralInterval`, only the newest of each name is sent.
    private mutating func sendEphemerals(_ names: some Sequence<String>) {
        guard !isAlone else { return }
        outgoing.ephemeralNames.formUnion(names)
        timeEphemerals()
    }

    /// Sends queued values and due repeats. Called by the timer.
    mutating func sendEphemerals() {
        if !isAlone { outgoing.repeatedNames.formUnion(ephemeralRepeats.due(at: moment.now)) }
        timeEphemerals()
    }

    /// Sends all own values to a peer that has appeared.
    mutating func sendAllEphemerals() {
        sendEphemerals(ephemerals.samples(of: engine.localPeerID).map(\.key))
    }

    private mutating func timeEphemerals() {
        guard isRunning, !isAlone else { return }
        if outgoing.ephemeralNames.isEmpty, outgoing.repeatedNames.isEmpty {
            directives.ephemeralsIn = ephemeralRepeats.wait(at: moment.now).map { .seconds($0) }
        } else if let wait = ephemeralWait {
            directives.ephemeralsIn = wait
        } else {
            wake()
        }
    }

    var hasShownValuesToSend: Bool {
        !(outgoing.ephemeralNames.isEmpty && outgoing.repeatedNames.isEmpty) && ephemeralWait == nil
    }

    /// Time until values may leave; nil if they may leave now.
    private var ephemeralWait: Duration? {
        guard let sentAt = ephemeralsSentAt else { return nil }
        let wait = configuration.ephemeralInterval - .seconds(abs(moment.now.timeIntervalSince(sentAt)))
        // A timer may fire slightly early.
        return wait > .milliseconds(1) ? wait : nil
    }

    /// Returns the messages that may leave with this round. Other values stay queued.
    mutating func takeEphemeralMessages(_ new: Set<String>, _ repeated: Set<String>) -> [EphemeralMessage] {
        let names = new.union(repeated)
        guard !names.isEmpty else { return [] }
        guard ephemeralWait == nil else {
            outgoing.ephemeralNames.formUnion(new)
            outgoing.repeatedNames.formUnion(repeated)
            return []
        }
        ephemeralGap = ephemeralsSentAt.map { moment.now.timeIntervalSince($0) }
        ephemeralsSentAt = moment.now
        ephemerals.rename(engine.source)
        // A peer of an earlier version forgets values that aren't repeated.
        let pace = canStaySilent ? ExchangeSchedule.Pace.quiescent : .idle
        let first = 2 * configuration.exchangeInterval.seconds
        let most = pace.interval(configuration.exchangeInterval).seconds
        ephemeralRepeats.send(names, new: new, at: moment.now, after: first, most: most)
        ephemeralRepeats.forget(allBut: Set(ephemerals.samples(of: engine.localPeerID).map(\.key)))
        timeEphemerals()
        return ephemeralMessages(names)
    }

    /// Forgets the values of peers that are gone.
    mutating func forgetAbsentEphemerals() {
        for (peerID, heardAt) in ephemeralHeardAt where isGone(peerID, heardAt: heardAt) {
            forgetEphemerals(of: peerID)
        }
    }

    mutating func forgetEphemerals(of peerID: String) {
        ephemeralHeardAt[peerID] = nil
        guard ephemerals.forget(peerID) else { return }
        directives.showsEphemerals = true
        // A late message from the peer may bring its values back. The next exchange forgets them again.
        scheduleExchange(.regular)
    }

    /// Returns the newest values of those names in messages of bounded size.
    private func ephemeralMessages(_ names: Set<String>) -> [EphemeralMessage] {
        var messages: [EphemeralMessage] = []
        var bytesLeft = 0
        for sample in ephemerals.samples(of: engine.localPeerID) where names.contains(sample.key) {
            let size = sample.value.count + EphemeralLimits.nameBytesMax
            if size > bytesLeft || messages.isEmpty {
                messages.append(EphemeralMessage(samples: []))
                bytesLeft = min(EphemeralLimits.messageBytesMax, pieceBytes)
            }
            messages[messages.count - 1].samples.append(sample)
            bytesLeft -= size
        }
        return messages
    }

    /// Receives shown values. Throws `SessionSyncError.outOfRange`, and changes nothing, if no honest peer sends them.
    mutating func receiveEphemerals(
        _ erased: AnySessionSyncEnvelope,
        _ read: (AnySessionSyncEnvelope) throws -> [EphemeralLane<[UInt8]>.Sample]
    ) throws {
        let peerID = erased.metadata.sourcePeerID
        guard peerID != engine.localPeerID, engine.hears(peerID), !isExpired(erased.metadata) else { return }
        let samples = try read(erased)
        let isSound = samples.allSatisfy { sample in
            sample.source.peerID == peerID && sample.stamp.isUsable
                && (1...EphemeralLimits.nameBytesMax).contains(sample.key.utf8.count)
                && sample.value.count <= EphemeralLimits.valueBytesMax && sample.sequence <= SequenceBounds.highest
        }
        guard isSound, samples.count <= EphemeralLimits.keysMax else {
            throw SessionSyncError.outOfRange(field: "ephemeral")
        }
        guard ephemeralHeardAt[peerID] != nil || ephemeralHeardAt.count < EphemeralLimits.peersMax else { return }
        ephemeralHeardAt[peerID] = moment.now
        // A late value of a closed incarnation would replace all values of the present one.
        let news = samples.filter { !engine.isClosed($0.source) && ephemerals.receive($0) }
        guard !news.isEmpty else { return }
        directives.showsEphemerals = true
        directives.ephemerals += news
    }

    /// Returns true if the message is too old: a transport may have kept it until there was a connection.
    private func isExpired(_ metadata: SessionSyncMetadata) -> Bool {
        let ahead = engine.clockOffset(of: metadata.sourcePeerID)?.offsetSeconds ?? configuration.clockOffsetSeconds
        let age = moment.now.timeIntervalSince(metadata.causalTimestamp.addingTimeInterval(-ahead))
        return age > 3 * ExchangeSchedule.Pace.idle.interval(configuration.exchangeInterval).seconds
    }
}
