import Foundation
import MeshBase
import MeshIdentity
import MeshWire

@testable import MeshEngine
@testable import MeshSeries
@testable import MeshSession

private func source(_ number: Int, bytes: Int = nameBytes) -> SessionSource {
    SessionSource(peerID: text(number, bytes: bytes), incarnation: 1)
}

extension Budget {
    func fillSources() throws -> Any {
        var table = SourceTable(local: SessionSource(peerID: "self", incarnation: 1))
        for number in 0..<2 * SourceTable.countMax {
            guard let slot = try? table.slot(adding: source(number)) else { break }
            for promise in 1...20 as ClosedRange<UInt64> {
                let stamp = HybridTimestamp(rawValue: promise)
                table.take(SequencePromise(sequence: promise, stamp: stamp), of: slot)
            }
            guard slot <= SessionMembership.openMax else { continue }
            table.open(slot)
            for other in 0..<SourceTable.countMax { table[slot].acknowledge(other, 1) }
        }
        return table
    }

    func fillGaps() -> Any {
        var buffer = GapBuffer<[UInt8]>()
        let limit = SessionEngineOptions<Int, [UInt8]>().gapMax
        for number in 0..<2 * limit {
            let bytes = [UInt8](repeating: 1, count: GapBuffer<[UInt8]>.bytesMax / limit)
            let header = EntryHeader(
                stamp: .zero, sequence: UInt64(number + 2), slot: 1, causalTimestamp: Date(timeIntervalSince1970: 0))
            var entry = LogEntry(header, SessionRecord<[UInt8]>.Content.event(bytes))
            entry.byteCount = UInt32(bytes.count)
            buffer.insert(entry, limit: limit)
        }
        return buffer
    }

    func fillGroups() -> Any {
        var groups = PeerGroups()
        for number in 0..<2 * PeerGroups.countMax {
            var control = SessionControl()
            control.group = source(number)
            groups.record(control, of: source(number), isMember: false, at: .zero, silence: 0)
        }
        return groups
    }

    func fillHeard() -> Any {
        var heard: [String: HeardPeer] = [:]
        for number in 0..<HeardPeer.countMax {
            let idBytes = HeardPeer.heldBytesMax / SourceTable.countMax
            let entries = (0..<SourceTable.countMax).map {
                SourceSequence(source: source($0, bytes: idBytes), sequence: 1)
            }
            var peer = HeardPeer(at: Date(timeIntervalSince1970: 0))
            peer.setHeld(SequenceVector(entries))
            heard[text(number, bytes: nameBytes)] = peer
        }
        return heard
    }

    func fillCopy() -> Any {
        let size = SyncedSessionConfiguration<Int, Int>().copyBytesMax
        var piece = CopyPiece(receiver: "self", copy: 1, size: UInt64(size), offset: 0, bytes: [])
        let moment = Date(timeIntervalSince1970: 0)
        var copy = ArrivingCopy(piece, from: "liar", size: size, retryAfter: .seconds(1), at: moment)
        piece.bytes = [UInt8](repeating: 1, count: CopyPiece.bytesMax)
        for offset in stride(from: 0, to: 2 * size, by: CopyPiece.bytesMax) {
            piece.offset = UInt64(offset)
            copy.append(piece, at: moment)
        }
        return copy
    }

    func fillShown() -> Any {
        let own = SessionSource(peerID: "self", incarnation: 1)
        var lane = EphemeralLane<[UInt8]>(
            source: own, keysMax: EphemeralLimits.keysMax, peersMax: EphemeralLimits.peersMax)
        for peer in 0..<2 * EphemeralLimits.peersMax {
            for key in 0..<2 * EphemeralLimits.keysMax {
                lane.receive(
                    EphemeralLane.Sample(
                        source: source(peer), key: text(key, bytes: EphemeralLimits.nameBytesMax), sequence: 1,
                        stamp: HybridTimestamp(rawValue: UInt64(peer + 1)),
                        value: [UInt8](repeating: 1, count: EphemeralLimits.valueBytesMax)))
            }
        }
        return lane
    }

    /// Lets a member name series up to the limit and give each a sample. One series gets as many as may wait for the
    /// store. Then every peer reports what it holds.
    func fillSeries() throws -> Any {
        var replica = SeriesReplica(peerID: "self", prefix: "series/", byteCountMax: 256 << 20, makeIncarnation: { 1 })
        func id(_ number: Int) -> (SeriesID, [SeriesColumn]) {
            let columns = (0..<SeriesLimits.columnsMax).map { column in
                SeriesColumn(
                    name: text(number * 100 + column, bytes: SeriesLimits.columnNameBytesMax), kind: .integer)
            }
            let author = text(number % 4, bytes: 512)
            let name = text(number, bytes: SeriesLimits.nameBytesMax)
            return (SeriesID(peerID: author, incarnation: UInt64(number), name: name, columns: columns.digest), columns)
        }
        func rows(_ count: Int, _ columns: [SeriesColumn]) -> [UInt8] {
            var table = SampleTable(columns: columns)
            let row = SampleRow(columns: columns, bits: columns.map { _ in 1 }, presence: .max)
            for number in 0..<count { table.append(row, at: Int64(number)) }
            return SeriesBlock.bytes(of: table)
        }
        let all = (0..<SeriesLimits.seriesMax).map(id)
        for (id, columns) in all {
            var message = SeriesMessage()
            message.pieces = [.init(id: id, columns: columns, first: 0, bytes: rows(1, columns))]
            _ = try replica.receive(message.checked(), from: "peer 0", isMember: true)
        }
        let (first, columns) = all[0]
        let block = SeriesLimits.blockSamples
        let bytes = rows(block, columns)
        for number in 0..<SeriesLimits.unwrittenMax / block + 2 {
            var message = SeriesMessage()
            message.pieces = [.init(id: first, columns: nil, first: UInt64(1 + number * block), bytes: bytes)]
            _ = try replica.receive(message.checked(), from: "peer 0", isMember: true)
        }
        for peer in 0..<2 * SeriesReplica.peersMax {
            for start in stride(from: 0, to: all.count, by: SeriesMessage.holdingsMax) {
                var message = SeriesMessage()
                message.holdings = all[start..<start + SeriesMessage.holdingsMax].map {
                    .init(id: $0.0, first: 0, next: 1 << 40)
                }
                _ = try replica.receive(message.checked(), from: "peer \(peer)", isMember: true)
            }
        }
        return replica
    }
}
