import MeshFoundation
import MeshIdentity

// The bodies of messages (Docs/Internals/WireFormat.md, "Bodies"). Later versions add fields in a body's extension
// region, which older readers skip.

// MARK: - Writing

extension WireWriter {
    mutating func write(_ peer: SessionPeer) {
        write(identifier: peer.id)
        write(identifier: peer.deviceClass.rawValue)
        write(identifier: peer.appInstanceID)
        write(identifier: peer.topology.rawValue)
        write(peer.userID == nil ? 0 : 1 as UInt8)
        if let userID = peer.userID { write(identifier: userID) }
    }

    mutating func write(_ hello: WireHello) {
        write(hello.peer)
        write(hello.frameVersions.lowerBound)
        write(hello.frameVersions.upperBound)
        writeSignedVarint(Int64(hello.protocolVersion))
        writeVarint(UInt64(hello.codecs.count))
        writeRaw(hello.codecs)
        writeVarint(UInt64(hello.dictionaries.count))
        for dictionary in hello.dictionaries { write(dictionary) }
        var fields = WireWriter(capacity: 32)
        if hello.connection > 0 {
            fields.writeVarint(WireHello.connectionTag)
            fields.writeVarint(8)
            fields.write(hello.connection)
        }
        if !hello.abilities.isEmpty {
            fields.write(extension: WireHello.abilitiesTag, number: hello.abilities.rawValue)
        }
        if !hello.compressionFormats.isEmpty {
            fields.writeVarint(WireHello.compressionFormatsTag)
            fields.writeVarint(UInt64(hello.compressionFormats.count))
            fields.writeRaw(hello.compressionFormats)
        }
        write(region: fields)
    }

    mutating func write(_ request: WireSnapshotRequest) {
        write(request.sessionID)
        write(request.requester == nil ? 0 : 1 as UInt8)
        if let requester = request.requester { write(requester) }
        writeNoExtensions()
    }

    mutating func write(_ goodbye: WireGoodbye) {
        write(goodbye.reason.rawValue)
        var detail = goodbye.detail
        while detail.utf8.count > WireGoodbye.detailBytesMax { detail.removeLast() }
        write(detail)
        writeNoExtensions()
    }

    /// Writes the fields of a snapshot between its metadata and its state.
    mutating func writeHead(of snapshot: AnySessionSyncSnapshot) {
        writeVarint(snapshot.revision)
        writeVarint(UInt64(snapshot.peerSequenceVector.count))
        // Sorted, so that equal snapshots have equal bytes.
        let entries = snapshot.peerSequenceVector.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }
        for (peer, sequence) in entries {
            write(identifier: peer)
            writeVarint(sequence)
        }
        write(snapshot.checkpoint == nil ? 0 : 1 as UInt8)
        if let checkpoint = snapshot.checkpoint {
            writeVarint(UInt64(checkpoint.count))
            writeRaw(checkpoint)
        }
        writeNoExtensions()
    }

    mutating func writeNoExtensions() { write(0 as UInt8) }

    /// Writes a region: the length of another writer's bytes, then the bytes.
    mutating func write(region fields: borrowing WireWriter) {
        writeVarint(UInt64(fields.count))
        writeRaw(fields.bytes)
    }

    /// Writes an extension field that is one number.
    mutating func write(extension tag: UInt64, number: UInt64) {
        var field = WireWriter(capacity: 16)
        field.writeVarint(number)
        writeVarint(tag)
        write(region: field)
    }
}

struct SnapshotHead {
    let revision: UInt64
    let vector: [String: UInt64]
    let checkpoint: [UInt8]?
}

extension WireGoodbye {
    static let detailBytesMax = 1024
}

extension WireHello {
    static let connectionTag: UInt64 = 1
    static let abilitiesTag: UInt64 = 2
    static let compressionFormatsTag: UInt64 = 3
}

// MARK: - Reading

extension WireReader {
    mutating func readPeer() throws(WireError) -> SessionPeer {
        let id = try readIdentifier()
        let deviceClass = SessionPeerDeviceClass(rawValue: try readIdentifier())
        let appInstanceID = try readIdentifier()
        let topology = SessionPeerTopology(rawValue: try readIdentifier())
        let userID = try readPresence() ? try readIdentifier() : nil
        return SessionPeer(
            id: id, deviceClass: deviceClass, appInstanceID: appInstanceID, userID: userID, topology: topology)
    }

    mutating func readHello() throws(WireError) -> WireHello {
        let peer = try readPeer()
        let lowest = try readUInt8()
        let highest = try readUInt8()
        guard lowest <= highest else {
            throw WireError(.invalidValue, "the range of frame versions \(lowest) to \(highest) is empty")
        }
        guard let protocolVersion = Int(exactly: try readSignedVarint()) else {
            throw WireError(.invalidValue, "the protocol version is too large")
        }
        let codecs = [UInt8](try readRaw(try readLength()))
        let count = try readVarint()
        guard count <= UInt64(remaining / 4) else {
            throw .truncated(needed: Int(clamping: count), remaining: remaining)
        }
        var dictionaries: [UInt32] = []
        for _ in 0..<count { dictionaries.append(try readUInt32()) }
        var hello = WireHello(
            peer: peer, frameVersions: lowest...highest, protocolVersion: protocolVersion, codecs: codecs,
            dictionaries: dictionaries)
        var fields = try readRegion()
        while !fields.isAtEnd {
            let tag = try fields.readVarint()
            var field = try fields.readRegion()
            switch tag {
            // A longer field comes from a later version.
            case WireHello.connectionTag where field.remaining == 8: hello.connection = try field.readUInt64()
            case WireHello.abilitiesTag: hello.abilities = WireAbilities(rawValue: try field.readVarint())
            case WireHello.compressionFormatsTag:
                hello.compressionFormats = [UInt8](try field.readRaw(field.remaining))
            default: break
            }
        }
        return hello
    }

    mutating func readSnapshotRequest() throws(WireError) -> WireSnapshotRequest {
        let sessionID = try readUUID()
        let requester = try readPresence() ? try readPeer() : nil
        try skipExtensions()
        return WireSnapshotRequest(sessionID: sessionID, requester: requester)
    }

    mutating func readGoodbye() throws(WireError) -> WireGoodbye {
        let reason = WireGoodbye.Reason(rawValue: try readUInt8())
        let detail = try readString()
        guard detail.utf8.count <= WireGoodbye.detailBytesMax else {
            throw WireError(
                .oversized,
                "the detail of a goodbye has \(detail.utf8.count) bytes, but the limit is \(WireGoodbye.detailBytesMax)"
            )
        }
        try skipExtensions()
        return WireGoodbye(reason, detail: detail)
    }

    /// Reads the fields of a snapshot between its metadata and its state.
    mutating func readSnapshotHead(limits: FrameLimits) throws(WireError) -> SnapshotHead {
        let revision = try readVarint()
        let vector = try readVector(entriesMax: limits.vectorEntries)
        let checkpoint = try readPresence() ? [UInt8](try readRaw(try readLength())) : nil
        try skipExtensions()
        return SnapshotHead(revision: revision, vector: vector, checkpoint: checkpoint)
    }

    private mutating func readVector(entriesMax: Int) throws(WireError) -> [String: UInt64] {
        let count = try readVarint()
        guard count <= UInt64(entriesMax) else {
            throw WireError(.oversized, "a vector of \(count) entries exceeds the limit of \(entriesMax)")
        }
        // An entry has at least two bytes.
        guard count <= UInt64(remaining / 2) else {
            throw .truncated(needed: Int(clamping: count), remaining: remaining)
        }
        var vector = [String: UInt64](minimumCapacity: Int(count))
        for _ in 0..<count {
            let peer = try readIdentifier()
            guard vector.updateValue(try readVarint(), forKey: peer) == nil else {
                throw WireError(.corrupted, "a vector lists a peer twice")
            }
        }
        return vector
    }

    /// Reads the byte that says whether an optional field follows.
    mutating func readPresence() throws(WireError) -> Bool {
        switch try readUInt8() {
        case 0: return false
        case 1: return true
        case let other: throw WireError(.corrupted, "a presence byte is \(other), but must be 0 or 1")
        }
    }
}
