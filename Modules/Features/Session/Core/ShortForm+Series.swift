import MeshIdentity
import MeshSeries
import MeshWire

extension ShortForm {
    /// Encodes a message. Omits the peer ID of the sender, which has recorded most of the series.
    ///
    /// - Parameter isKnown: returns true if the receivers know a series by its digest.
    init(_ message: SeriesMessage, of sender: String, isKnown: (SeriesID) -> Bool) throws {
        var ids = NumberedValues(
            message.holdings.map(\.id) + message.requests.map(\.id) + message.pieces.map(\.id))
        let columns = try message.pieces.map { try $0.columns.map { try CompactCodec().encode($0) } }
        let known = ids.list.map(isKnown)
        self.init { writer in
            writer.write(message.receiver ?? "")
            writer.writeVarint(UInt64(ids.list.count))
            for (id, isKnown) in zip(ids.list, known) {
                writer.write(isKnown ? 1 : 0 as UInt8)
                guard !isKnown else {
                    writer.write(id.digest)
                    continue
                }
                writer.write(id.peerID == sender ? "" : id.peerID)
                writer.write(id.incarnation)
                writer.write(id.name)
                writer.write(id.columns)
            }
            writer.writeVarint(UInt64(message.holdings.count))
            for holding in message.holdings {
                writer.writeVarint(ids.number(of: holding.id))
                writer.writeVarint(holding.first)
                writer.writeVarint(holding.next)
            }
            writer.writeVarint(UInt64(message.requests.count))
            for request in message.requests {
                writer.writeVarint(ids.number(of: request.id))
                writer.writeVarint(request.first)
                writer.writeVarint(request.count)
                writer.write(request.wantsColumns ? 1 : 0 as UInt8)
            }
            writer.writeVarint(UInt64(message.pieces.count))
            for (piece, columns) in zip(message.pieces, columns) {
                writer.writeVarint(ids.number(of: piece.id))
                writer.writeVarint(piece.first)
                for bytes in [columns ?? [], piece.bytes] {
                    writer.writeVarint(UInt64(bytes.count))
                    writer.writeRaw(bytes)
                }
            }
        }
    }

    /// Decodes the message. Omits entries whose digest is unknown here; their sender repeats them by name.
    ///
    /// - Parameter known: returns the series with a digest; nil if unknown.
    /// - Throws: `WireError`, or an error of the decoder for columns.
    func seriesMessage(of sender: String, known: (UInt32) -> SeriesID?) throws -> SeriesMessage {
        try read { reader in
            let receiver = try reader.readString()
            var message = SeriesMessage(receiver: receiver.isEmpty ? nil : receiver)
            var ids: [SeriesID?] = []
            for _ in 0..<(try reader.readCount()) {
                guard try reader.readUInt8() == 0 else {
                    ids.append(known(try reader.readUInt32()))
                    continue
                }
                let peerID = try reader.readString()
                let incarnation = try reader.readUInt64()
                let name = try reader.readString()
                ids.append(
                    SeriesID(
                        peerID: peerID.isEmpty ? sender : peerID, incarnation: incarnation, name: name,
                        columns: try reader.readUInt64()))
            }
            for _ in 0..<(try reader.readCount()) {
                let id = try reader.readID(ids)
                let (first, next) = (try reader.readVarint(), try reader.readVarint())
                if let id { message.holdings.append(SeriesMessage.Holding(id: id, first: first, next: next)) }
            }
            for _ in 0..<(try reader.readCount()) {
                let id = try reader.readID(ids)
                let (first, count) = (try reader.readVarint(), try reader.readVarint())
                let wantsColumns = try reader.readUInt8() != 0
                guard let id else { continue }
                message.requests.append(
                    SeriesMessage.Request(id: id, first: first, count: count, wantsColumns: wantsColumns))
            }
            for _ in 0..<(try reader.readCount()) {
                let id = try reader.readID(ids)
                let first = try reader.readVarint()
                let (columns, bytes) = (try reader.readBytes(), try reader.readBytes())
                guard let id else { continue }
                var piece = SeriesMessage.Piece(id: id, columns: nil, first: first, bytes: bytes)
                if !columns.isEmpty { piece.columns = try CompactCodec().decode([SeriesColumn].self, from: columns) }
                message.pieces.append(piece)
            }
            return message
        }
    }
}

extension WireReader {
    fileprivate mutating func readID(_ ids: [SeriesID?]) throws(WireError) -> SeriesID? {
        let number = try readVarint()
        guard number < UInt64(ids.count) else {
            throw WireError(.invalidValue, "series \(number) of \(ids.count)")
        }
        return ids[Int(number)]
    }
}
