import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshTransport

/// A peer's newest values, those that have changed or all of them.
struct EphemeralMessage: Sendable, Codable {
    static let payloadType = "sessionmesh.newest"

    var samples: [EphemeralLane<[UInt8]>.Sample]
}

/// What bounds the values that peers show.
enum EphemeralLimits {
    static let keysMax = 64
    static let peersMax = 64
    static let nameBytesMax = 128
    static let valueBytesMax = 4096
    /// In one message, where the transport takes that much.
    static let messageBytesMax = 16 << 10
}

/// Values of which only the newest counts. They pass by the engine: no order, no log, no store.
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

    /// Nothing is shown under that name any more. Said like any value, as the newest: an empty one, which no version reads.
    mutating func hide(_ name: String, at moment: Date) {
        guard let known = ephemerals[name, by: engine.localPeerID], !known.value.isEmpty else { return }
        record([], as: name, at: moment)
        sendEphemerals([name])
    }

    /// The last word before this device goes: it does not wait for its turn.
    mutating func hideAll(at moment: Date) {
        ephemeralsSentAt = nil
        for sample in ephemerals.samples(of: engine.localPeerID) { hide(sample.key, at: moment) }
    }

    private mutating func record(_ bytes: [UInt8], as name: String, at moment: Date) {
        ephemerals.rename(engine.source)
        _ = ephemerals.record(bytes, for: name, at: moment)
        directives.showsEphemerals = true
    }

    /// What is shown under a name, of each peer at most one, in the order of their ids; this device's too.
    /// Complexity: O(peers).
    func shown(_ name: String) -> [EphemeralLane<[UInt8]>.Sample] {
        ([engine.localPeerID] + ephemeralHeardAt.keys).sorted()
            .compactMap { ephemerals[name, by: $0] }
            .filter { !$0.value.isEmpty }
    }

    // MARK: - Sending

    /// What is shown faster than `ephemeralInterval` waits, and of each name the newest leaves.
    private mutating func sendEphemerals(_ names: some Sequence<String>) {
        guard !isAlone else { return }
        outgoing.ephemeralNames.formUnion(names)
        guard !outgoing.ephemeralNames.isEmpty else { return }
        guard let wait = ephemeralWait else { return wake() }
        guard !isEphemeralTimed, isRunning else { return }
        isEphemeralTimed = true
        directives.ephemeralsIn = wait
    }

    /// Their time has come.
    mutating func sendEphemerals() {
        isEphemeralTimed = false
        sendEphemerals([])
    }

    /// nil when some may leave now.
    private var ephemeralWait: Duration? {
        guard let sentAt = ephemeralsSentAt else { return nil }
        let wait = configuration.ephemeralInterval - .seconds(abs(moment.now.timeIntervalSince(sentAt)))
        // A timer may wake a little early.
        return wait > .milliseconds(1) ? wait : nil
    }

    /// - Returns: those that may leave with this round; the others wait.
    mutating func takeEphemeralMessages(_ names: Set<String>) -> [EphemeralMessage] {
        guard !names.isEmpty else { return [] }
        guard ephemeralWait == nil else {
            outgoing.ephemeralNames.formUnion(names)
            return []
        }
        ephemeralsSentAt = moment.now
        return ephemeralMessages(names)
    }

    /// With each exchange: what was lost, and what somebody who has just come lacks. And nobody shows what is long gone.
    mutating func renewEphemerals() {
        for (peerID, heardAt) in ephemeralHeardAt where isGone(peerID, heardAt: heardAt) {
            forgetEphemerals(of: peerID)
        }
        ephemerals.rename(engine.source)
        sendEphemerals(ephemerals.samples(of: engine.localPeerID).map(\.key))
    }

    mutating func forgetEphemerals(of peerID: String) {
        ephemeralHeardAt[peerID] = nil
        guard ephemerals.forget(peerID) else { return }
        directives.showsEphemerals = true
        // What it said last may come after the word that it has gone.
        scheduleExchange(.regular)
    }

    /// The newest of those names, in messages of a bounded size.
    private func ephemeralMessages(_ names: Set<String>) -> [EphemeralMessage] {
        var messages: [EphemeralMessage] = []
        var room = 0
        for sample in ephemerals.samples(of: engine.localPeerID) where names.contains(sample.key) {
            let size = sample.value.count + EphemeralLimits.nameBytesMax
            if size > room || messages.isEmpty {
                messages.append(EphemeralMessage(samples: []))
                room = min(EphemeralLimits.messageBytesMax, pieceBytes)
            }
            messages[messages.count - 1].samples.append(sample)
            room -= size
        }
        return messages
    }

    /// - Throws: `SessionSyncError.outOfRange` for what no peer says that means well; nothing changes then.
    mutating func receiveEphemerals(_ erased: AnySessionSyncEnvelope) throws {
        let peerID = erased.metadata.sourcePeerID
        guard peerID != engine.localPeerID, engine.hears(peerID), !isOld(erased.metadata) else { return }
        let message = try erased.decodePayload(as: EphemeralMessage.self)
        let isSound = message.samples.allSatisfy { sample in
            sample.source.peerID == peerID && sample.stamp.isUsable
                && (1...EphemeralLimits.nameBytesMax).contains(sample.key.utf8.count)
                && sample.value.count <= EphemeralLimits.valueBytesMax && sample.sequence <= SequenceBounds.highest
        }
        guard isSound, message.samples.count <= EphemeralLimits.keysMax else {
            throw SessionSyncError.outOfRange(field: "ephemeral")
        }
        guard ephemeralHeardAt[peerID] != nil || ephemeralHeardAt.count < EphemeralLimits.peersMax else { return }
        ephemeralHeardAt[peerID] = moment.now
        let news = message.samples.filter { ephemerals.receive($0) }
        guard !news.isEmpty else { return }
        directives.showsEphemerals = true
        directives.ephemerals += news
    }

    /// A transport may have kept it until now for want of a connection.
    private func isOld(_ metadata: SessionSyncMetadata) -> Bool {
        let ahead = engine.clockOffset(of: metadata.sourcePeerID)?.offsetSeconds ?? configuration.clockOffsetSeconds
        let age = moment.now.timeIntervalSince(metadata.causalTimestamp.addingTimeInterval(-ahead))
        return age > silenceMax
    }
}
