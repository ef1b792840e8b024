import Foundation
import MeshBase
import MeshIdentity
import MeshSecurity
import MeshTransport

@testable import MeshDiagnostics
@testable import MeshInspector
@testable import MeshMailbox
@testable import MeshRelay
@testable import MeshResumeGateway

extension Budget {
    /// Fills in more contexts than are kept, and more topics than each counts.
    func fillSeals() throws -> Any {
        let (sender, receiver) = (try OwnKey(PeerIdentity()), try OwnKey(PeerIdentity()))
        guard let key = PeerKey(receiver.compressedPublicKey, of: receiver.id) else { throw Unreadable(rowCount: 0) }
        var opener = KeptOpener(from: sender.id, to: receiver)
        for context in 0..<4 * KeptOpener.contextsMax {
            var sealer = try KeptSealer(from: sender, to: key)
            for number in 0..<(context < 3 * KeptOpener.contextsMax ? 1 : 2 * KeptOpener.topicsMax) {
                let topic = text(number, bytes: RelayTopic.bytesMax)
                let message = try sealer.seal([1], for: topic)
                _ = message.withUnsafeBytes { try? opener.open($0, from: topic) }
            }
        }
        return opener
    }

    func fillMailbox() -> Any {
        var values = MailboxValues(streamsMax: 1)
        for number in 0..<2 * MailboxBounds.valuesMax {
            let value = [UInt8](repeating: 1, count: MailboxBounds.bytesMax / MailboxBounds.valuesMax)
            _ = values.set(value, text(number, bytes: 100), of: "mailbox")
        }
        return values
    }

    /// Fills in posts of maximum message size that wait for another look at the receiver's admissions.
    func fillPosts() -> Any {
        let settings = MailboxSettings()
        var connection = MailboxConnection(settings, challenge: [], .zero)
        guard let receiver = MailboxID(bytes: [UInt8](repeating: 1, count: MailboxID.byteCount)) else { return [] }
        for number in 0..<2 * settings.writesMax {
            let bytes = [UInt8](repeating: 1, count: 64 << 10)
            let post = MailboxPost(number: UInt64(number), to: receiver, lane: .queue, bytes: bytes)
            _ = connection.holdBack(post, max: settings.writesMax)
        }
        for number in 0..<MailboxFrame.followedMax {
            connection.following.insert(text(number, bytes: 64))
            connection.unknown.insert(text(number, bytes: 64))
            connection.sentPresences[text(number, bytes: 64)] = [UInt8](repeating: 1, count: 128)
        }
        return connection
    }

    /// Fills the stream until just before its dead beginning is removed.
    func fillStream() throws -> Any {
        let limits = MailboxBounds.queue
        var contents = ReplayContents(limits, seed: 1)
        let bytes = limits.bytes / limits.count - 64
        for _ in 0..<2 * limits.count - 1 {
            let event = try ReplayEvent(
                type: "E", json: Array("\"".utf8) + [UInt8](repeating: 65, count: bytes) + Array("\"".utf8))
            _ = contents.append(event, to: "stream", .zero)
        }
        return contents
    }

    func fillRecords() -> Any {
        let log = RecordLog(limit: 10_000, topic: Topic(bufferLimit: 1, overflow: .dropOldest)) {
            Date(timeIntervalSince1970: 0)
        }
        for number in 0..<30_000 {
            let metadata = metadata(number, feature: text(number, bytes: 800), peer: text(number, bytes: 800))
            log.record(.envelopeReceived(metadata), payload: text(number, bytes: 1600))
        }
        return log
    }

    func fillEntries() -> Any {
        var log = InspectorLog(limit: 100_000, byteCountMax: 64 << 20)
        for number in 0..<300_000 {
            var entry = DiagnosticsEntry(at: 0, peer: text(number, bytes: 64), kind: .envelope)
            entry.from = text(number, bytes: 64)
            entry.feature = text(number, bytes: 64)
            entry.message = UUID().uuidString
            log.add(entry)
        }
        return log
    }
}
