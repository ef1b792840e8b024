import Foundation
import MeshBase
import MeshIdentity
import MeshRegister
import MeshTransport
import MeshWire

@testable import MeshConnection
@testable import MeshFileTransfer
@testable import MeshKeySync
@testable import MeshRequests
@testable import MeshSharedState

private func version(_ number: Int, author: String) -> StateVersion {
    StateVersion(stamp: HybridTimestamp(rawValue: UInt64(number + 1)), author: author)
}

extension Budget {
    func fillKeys() -> Any {
        var replica = KeyReplica(author: "self#1")
        let valueBytes = KeyLimits.unknownBytesMax / KeyLimits.unknownKeysMax - 64
        for start in stride(from: 0, to: 2 * KeyLimits.unknownKeysMax, by: KeyLimits.listMax) {
            var message = KeyMessage(nonce: UInt64(start + 1))
            message.items = (start..<start + KeyLimits.listMax).map { number in
                let value = Data(repeating: 1, count: valueBytes)
                let author = text(number, bytes: KeyLimits.authorBytesMax)
                return KeyMessage.Item(
                    key: text(number, bytes: 30),
                    entry: StateEntry(version: version(number, author: author), bytes: value))
            }
            _ = replica.receive(message, from: "liar")
            _ = replica.nextMessage(to: "liar")
        }
        return replica
    }

    /// Fills everything that one peer can make a replica note, with few keys.
    func fillKeyPeer() -> Any {
        var replica = KeyReplica(author: "self#1")
        replica.setRule(KeyRule(policy: .never), of: "refused")
        for number in 0..<2000 {
            var message = KeyMessage(nonce: UInt64(number + 1))
            message.items = [
                .init(
                    key: "refused",
                    entry: StateEntry(version: version(number, author: text(number, bytes: KeyLimits.authorBytesMax))))
            ]
            _ = replica.receive(message, from: "liar")
        }
        var message = KeyMessage(nonce: 1)
        message.digests = [UInt64](repeating: 1, count: KeyLimits.bucketCount)
        message.buckets = Array(0..<KeyLimits.bucketCount)
        message.prints = (0..<UInt64(KeyLimits.keysMax)).map { $0 << 8 }
        message.versions = (0..<KeyLimits.listMax).map { number in
            .init(
                key: text(number, bytes: KeyLimits.nameBytesMax),
                version: version(number, author: text(number, bytes: KeyLimits.authorBytesMax)))
        }
        message.piece = .init(
            name: .init(key: "large", version: version(1, author: "liar#1")), offset: 0,
            total: KeyLimits.valueBytesMax, bytes: Data(repeating: 1, count: KeyLimits.valueBytesMax - 1))
        _ = replica.receive(message, from: "liar")
        return replica
    }

    func fillFields() throws -> Any {
        var register = StateRegister(kind: .fields)
        let count = StateLimits.fieldsMax
        let itemBytes = StateLimits.bytesMax / count - 1
        let items = (0..<count).map { number in
            let name = text(number, bytes: StateLimits.namesBytesMax / count - 1)
            let value = Data(repeating: 1, count: itemBytes - name.utf8.count - 38)
            return StateMessage.Item(
                name: name, entry: StateEntry(version: version(number, author: "liar#1"), bytes: value))
        }
        var message = StateMessage(kind: .fields, incarnation: 1, has: seen(StateLimits.authorsMax))
        message.items = items
        let before = register
        _ = register.merge(items, has: message.has, base: nil)
        try register.check(grownFrom: before, by: message)
        return register
    }

    private func seen(_ count: Int) -> StateVector {
        let bytes = StateLimits.authorsBytesMax / count
        return StateVector(
            Dictionary(uniqueKeysWithValues: (0..<count).map { (text($0, bytes: bytes), HybridTimestamp(rawValue: 1)) })
        )
    }

    /// Fills as many peers as a state remembers, whatever the transport knows.
    func fillStatePeers() -> Any {
        var peers: [String: StatePeer] = [:]
        for number in 0..<StateLimits.peersMax {
            var peer = StatePeer()
            peer.known = seen(StateLimits.authorsMax)
            peer.sent = seen(StateLimits.authorsMax)
            for lost in 0..<2 * StateLimits.conflictsMax {
                let value = Data(repeating: 1, count: StateLimits.lostBytesMax / StateLimits.conflictsMax - 64)
                let entry = StateEntry(version: version(lost, author: "liar"), bytes: value)
                peer.keep(
                    .init(item: .init(name: text(lost, bytes: 20), entry: entry), winner: version(lost, author: "self"))
                )
            }
            peers[text(number, bytes: nameBytes)] = peer
        }
        return peers
    }

    func fillRequests() async throws -> Any {
        let ledger = RequestLedger(store: nil) { 1 }
        for number in 0..<3 * RequestLedger.entriesMax {
            let type = text(number, bytes: RequestMessage.typeBytesMax)
            var request = RequestMessage(.request, id: UUID(), type: type)
            request.stamp = HybridTimestamp(rawValue: UInt64(number + 1))
            let key = RequestKey(
                peerID: text(number % (2 * RequestLedger.floorsMax), bytes: nameBytes), id: request.id)
            _ = try await ledger.take(request, as: key, isKept: false)
            let body = Data(repeating: 1, count: RequestLedger.replyBytesMax / RequestLedger.entriesMax)
            await ledger.answer(key, with: RequestMessage(.answer, id: request.id, type: type, body: body))
        }
        return ledger
    }

    func fillClocks() -> Any {
        func peer(_ id: String) -> SessionPeer {
            SessionPeer(id: id, deviceClass: .unknown, appInstanceID: "1", topology: .sameHost)
        }
        var core = RequesterCore(localPeer: peer("self")) { UUID() }
        for number in 0..<RequesterCore.clocksMax {
            let arrival = SessionPeerReachability(true, peer: peer(text(number, bytes: nameBytes)))
            core.changeReachability(arrival, RequestContext(elapsed: .zero, wall: 0, peers: []))
        }
        for number in 0..<2 * RequesterCore.clocksMax {
            core.noteClock(of: text(number, bytes: nameBytes), aheadBy: 1)
        }
        return core
    }

    func fillWaiting() -> Any {
        let holder = Holder(WaitingEnvelopes(nil, []))
        for number in 0..<2 * WaitingEnvelopes.featuresMax * WaitingEnvelopes.envelopesMax {
            let payload = EncodedPayload(bytes: [UInt8](repeating: 1, count: 400), codec: CompactCodec())
            let metadata = metadata(number, feature: "feature \(number % (2 * WaitingEnvelopes.featuresMax))")
            _ = holder.waiting.keep(AnySessionSyncEnvelope(metadata: metadata, payload: payload))
        }
        return holder
    }

    /// Fills each file's window except its first chunk.
    func fillFiles() -> Any {
        (0..<FileTransferLimits().receivingMax).map { _ in
            var flow = FileFlow(byteCount: 1 << 30, held: 0, isLossless: true)
            func chunk(_ range: FileRange) -> Data { Data(repeating: 1, count: range.count) }
            while flow.windowBytes < FileFlow.windowBytesMax {
                for range in flow.nextRequests(now: .zero) { _ = flow.take(chunk(range), at: range.offset, now: .zero) }
            }
            let missing = flow.next
            while case let ranges = flow.nextRequests(now: .zero), !ranges.isEmpty {
                for range in ranges where range.offset != missing {
                    _ = flow.take(chunk(range), at: range.offset, now: .zero)
                }
            }
            return flow
        }
    }
}

/// A store of envelopes can't be copied, so an `Any` can't hold it directly.
private final class Holder {
    var waiting: WaitingEnvelopes

    init(_ waiting: consuming WaitingEnvelopes) { self.waiting = waiting }
}
