import Foundation
import MeshBase
import MeshConnection
import MeshIdentity
import MeshStorage
import MeshTransport

/// A file that is being sent.
struct Outgoing {
    /// The smallest step of progress that is reported to the app.
    static let announcedStep = 1.0 / 128
    /// Maximum number of bytes per call of the transport's `send`.
    static let batchBytesMax = 256 << 10

    var record: OutgoingRecord
    let path: String
    /// False after a relaunch until the file was found unchanged and, if carried, was handed to the platform.
    var isReady: Bool
    /// Open only while chunks are read: a process has few descriptors.
    var source: SourceFile?
    var wanted = WantedRanges()
    var isPumping = false
    var announced = 0.0
    var offers = RetryPlan(from: FileExchange.offerPatience, to: .seconds(60))
    var wasCarriedAgain = false
}

/// The ranges that the peer has asked for and that weren't sent yet, each once.
struct WantedRanges {
    /// Maximum number of ranges. Further ones are ignored, and the peer asks again.
    static let countMax = 2048

    private(set) var ranges: [FileRange] = []
    /// The elements of `ranges`, to find duplicate requests.
    private var known: Set<FileRange> = []

    var isEmpty: Bool { ranges.isEmpty }

    mutating func append(_ range: FileRange) {
        guard ranges.count < Self.countMax, known.insert(range).inserted else { return }
        ranges.append(range)
    }

    mutating func removeFirst(_ count: Int) {
        known.subtract(ranges.prefix(count))
        ranges.removeFirst(count)
    }

    /// Puts back ranges that were removed but couldn't be sent. The peer may have asked for some again.
    mutating func putBack(_ unsent: [FileRange]) {
        ranges.insert(contentsOf: unsent.filter { known.insert($0).inserted }, at: 0)
    }
}

/// The stored part of a transfer, to continue after a relaunch.
struct OutgoingRecord: Codable, Sendable {
    var header: FileHeader
    /// Relative to the transfers' folder, because an app update may move the app's container.
    let place: RelativePath
    let startedAt: Date
    /// The receiver; nil until a peer has asked for the file, if the app has chosen none.
    var peerID: String?
    var identity: SourceFile.Identity
    /// True once the platform has delivered the file.
    var isDelivered = false

    static func storeKey(_ id: UUID) -> String { storePrefix + id.uuidString }
    static let storePrefix = "\(FileMessage.featureID)/outgoing/"
}

// MARK: - Beginning

extension FileExchange {
    /// Reads the file once, stores the transfer, and offers the file.
    /// - Throws: `fileNotFound`, `fileAccessDenied`, `encodingFailed`, `payloadTooLarge`, `cancelled`,
    ///   `deliveryFailed` if `outstandingMax` is reached or the file changes, `sessionError` if the store fails,
    ///   `notActivated` once stopped; an error of the carrier.
    func begin(
        _ id: UUID, path: String, metadata: [String: MetadataValue]?, to peer: SessionPeer?
    ) async throws(ConnectionError) {
        restore()
        guard !isStopped else { throw .notActivated }
        let most = inbox.limits.outstandingMax
        guard outgoing.count + starting.count < most else {
            throw .deliveryFailed(reason: "\(most) transfers are already under way")
        }
        let source = try SourceFile(path: path, system: system)
        starting.insert(id)
        defer { starting.remove(id) }
        let digest = try await FileDigest.digest(of: source.file, byteCount: source.identity.byteCount)
        try source.check(source.identity)
        guard !isStopped else { throw .notActivated }
        guard starting.contains(id) else { throw .cancelled }
        let known = connection.transport.knownPeers
        let target = peer ?? (known.count == 1 ? known.first : nil)
        let header = FileHeader(
            id: id, name: SuggestedName.sanitize(URL(fileURLWithPath: path).lastPathComponent),
            byteCount: source.identity.byteCount, digest: digest, metadata: metadata,
            isCarried: carrier?.carries(to: target) ?? false)
        _ = try header.encoded()
        let record = OutgoingRecord(
            header: header, place: RelativePath(of: path, from: inbox.path), startedAt: connection.clock.wall,
            peerID: target?.id, identity: source.identity)
        try write(record)
        outgoing[id] = Outgoing(record: record, path: path, isReady: true)
        outgoing[id]?.offers.plan(at: now)
        report(.fileTransferStarted(fileURL: URL(fileURLWithPath: path), hasMetadata: metadata != nil))
        if header.isCarried {
            do throws(ConnectionError) {
                return try carry(id)
            } catch {
                finish(id, error)
                throw error
            }
        }
        post(.offer(header, chunkBytesMax: connection.chunkBytesMax), to: record.peerID)
        timer.wake(at: outgoing[id]?.offers.dueAt)
    }

    private func write(_ record: OutgoingRecord) throws(ConnectionError) {
        guard let store = connection.store else { return }
        do {
            var batch = StoreBatch()
            batch.set(Array(try JSONEncoder().encode(record)), for: OutgoingRecord.storeKey(record.header.id))
            for id in undeleted { batch.removeValue(for: OutgoingRecord.storeKey(id)) }
            try store.commit(batch)
            undeleted = []
        } catch {
            throw ConnectionError(error)
        }
    }
}

// MARK: - Messages from the peer

extension FileExchange {
    func asked(_ id: UUID, by peerID: String, held: UInt64, _ ranges: [FileRange]) {
        guard let transfer = outgoing[id] else { return knowsOutgoing ? post(.withdrawn(id), to: peerID) : () }
        guard bind(id, to: peerID) else { return post(.withdrawn(id), to: peerID) }
        let header = transfer.record.header
        guard !header.isCarried else { return }
        progressed(id, header.byteCount == 0 ? 0 : Double(min(held, header.byteCount)) / Double(header.byteCount))
        for range in ranges.prefix(FileMessage.rangesMax) {
            guard range.count > 0, range.count <= FileFlow.chunkBytesMax, range.offset <= header.byteCount,
                UInt64(range.count) <= header.byteCount - range.offset
            else { continue }
            outgoing[id]?.wanted.append(range)
        }
        pump(id)
    }

    func held(_ id: UUID, by peerID: String) {
        guard bind(id, to: peerID) else { return }
        progressed(id, 1)
    }

    func imported(_ id: UUID, by peerID: String) {
        if bind(id, to: peerID) {
            connection.health.succeeded()
            finish(id, nil)
        }
        // If the store can't delete the record, the next launch offers the file again. Then the peer must still know that it
        // was imported, so no `settled` is sent.
        if knowsOutgoing, outgoing[id] != nil || forget(id) { post(.settled(id), to: peerID) }
    }

    func refused(_ id: UUID, by peerID: String, _ error: ConnectionError) {
        // The app chose no peer, so another of several may still accept the file.
        if outgoing[id]?.record.peerID == nil, connection.transport.knownPeers.count > 1 { return }
        guard bind(id, to: peerID) else { return }
        finish(id, error)
    }

    /// Assigns the transfer to the peer, if it has no receiver yet. Returns true if the peer is the receiver. No other
    /// peer may change the transfer.
    private func bind(_ id: UUID, to peerID: String) -> Bool {
        guard let transfer = outgoing[id] else { return false }
        offerLater(id)
        if let bound = transfer.record.peerID { return bound == peerID }
        outgoing[id]?.record.peerID = peerID
        if let record = outgoing[id]?.record { try? write(record) }
        return true
    }

    func progressed(_ id: UUID, _ fraction: Double) {
        guard let announced = outgoing[id]?.announced, fraction > announced,
            fraction - announced >= Outgoing.announcedStep || fraction == 1
        else { return }
        outgoing[id]?.announced = fraction
        events.yield(.progressed(.outgoing(id), fraction))
    }

    /// Schedules the next offer after the shortest wait.
    func offerLater(_ id: UUID) {
        outgoing[id]?.offers.reset()
        timer.wake(at: outgoing[id]?.offers.plan(at: now))
    }

    /// Offers the file again if the peer has been silent long enough.
    func repeatOffer(_ id: UUID) {
        guard let transfer = outgoing[id] else { return }
        guard outgoing[id]?.offers.takeDue(at: now) == true else { return timer.wake(at: transfer.offers.dueAt) }
        timer.wake(at: outgoing[id]?.offers.plan(at: now))
        let header = transfer.record.header
        if !transfer.isReady { return reopen(id) }
        // An offer tells the receiver that no chunks are pending, so pending chunks go first.
        if transfer.isPumping || !transfer.wanted.isEmpty { return pump(id) }
        // The peer learns of a carried file only when the platform delivers it.
        if header.isCarried, !transfer.record.isDelivered { return }
        post(
            .offer(header, chunkBytesMax: connection.chunkBytesMax), mode: .realtimeBestEffort,
            to: transfer.record.peerID)
    }
}

// MARK: - Chunks

extension FileExchange {
    func pump(_ id: UUID) {
        guard let transfer = outgoing[id], transfer.isReady, !transfer.isPumping, !transfer.wanted.isEmpty else {
            return
        }
        outgoing[id]?.isPumping = true
        Task { [weak self, connection] in
            while let (chunks, peerID) = await self?.nextChunks(id) {
                do {
                    try await connection.send(chunks, mode: .realtimeBestEffort, to: peerID)
                } catch {
                    await self?.couldNotSend(id, chunks)
                    return
                }
            }
        }
    }

    /// - Returns: nil if no range is pending.
    private func nextChunks(_ id: UUID) -> (chunks: [FileMessage], peerID: String?)? {
        guard !isStopped, let transfer = outgoing[id], !transfer.wanted.isEmpty else {
            outgoing[id]?.isPumping = false
            outgoing[id]?.source = nil
            return nil
        }
        do throws(ConnectionError) {
            let source: SourceFile
            if let open = transfer.source {
                source = open
            } else {
                source = try SourceFile(path: transfer.path, system: system)
                outgoing[id]?.source = source
            }
            try source.check(transfer.record.identity)
            var chunks: [FileMessage] = []
            var byteCount = 0
            for range in transfer.wanted.ranges {
                guard byteCount == 0 || byteCount + range.count <= Outgoing.batchBytesMax else { break }
                byteCount += range.count
                let bytes = Data(try source.file.bytes(at: range.offset, count: range.count))
                guard bytes.count == range.count else { throw SourceFile.changed(transfer.path) }
                let checksum = FileDigest.checksum(of: bytes)
                chunks.append(.chunk(id, offset: range.offset, checksum: checksum, bytes: bytes))
            }
            outgoing[id]?.wanted.removeFirst(chunks.count)
            return (chunks, transfer.record.peerID)
        } catch {
            post(.withdrawn(id), to: transfer.record.peerID)
            finish(id, error)
            return nil
        }
    }

    /// Handles chunks that couldn't be sent. On a lossy lane, drops their ranges, because the peer asks again. On a
    /// lossless lane, the peer waits for them, so they are sent when the peer is reachable again or asks, or when the
    /// next offer is due.
    private func couldNotSend(_ id: UUID, _ chunks: [FileMessage]) {
        outgoing[id]?.isPumping = false
        outgoing[id]?.source = nil
        guard isLossless else {
            outgoing[id]?.wanted = WantedRanges()
            return
        }
        let ranges = chunks.compactMap { message -> FileRange? in
            guard case .chunk(_, let offset, _, let bytes) = message else { return nil }
            return FileRange(offset: offset, count: bytes.count)
        }
        outgoing[id]?.wanted.putBack(ranges)
    }
}

// MARK: - Ending

extension FileExchange {
    func cancel(_ id: UUID) {
        starting.remove(id)
        guard !isStopped, let transfer = outgoing[id] else { return }
        post(.withdrawn(id), to: transfer.record.peerID)
        finish(id, .cancelled)
    }

    func finish(_ id: UUID, _ error: ConnectionError?) {
        guard let transfer = outgoing.removeValue(forKey: id) else { return }
        // Cancels a second copy, because the file may have been handed to the platform twice.
        if transfer.record.header.isCarried { carrier?.cancel(id) }
        // On success a record that can't be deleted does no harm: the next launch offers the file, and the peer answers
        // `imported`.
        if error != nil, !forget(id) {
            undeleted.insert(id)
            timer.wake(at: deletions.plan(at: now))
        }
        let url = URL(fileURLWithPath: transfer.path)
        report(error.map { .fileTransferFailed(fileURL: url, error: $0) } ?? .fileTransferCompleted(fileURL: url))
        events.yield(.ended(.outgoing(id), error))
    }

    /// Deletes a record, together with those that the store couldn't delete before.
    /// - Returns: true if the store has deleted it.
    private func forget(_ id: UUID) -> Bool { delete(undeleted.union([id])) }

    private func delete(_ ids: Set<UUID>) -> Bool {
        guard let store = connection.store else { return true }
        var batch = StoreBatch()
        for id in ids { batch.removeValue(for: OutgoingRecord.storeKey(id)) }
        guard (try? store.commit(batch)) != nil else { return false }
        undeleted.subtract(ids)
        return true
    }

    /// Tries again to delete the records that the store couldn't delete.
    func deleteRecords() {
        guard !undeleted.isEmpty else { return deletions.reset() }
        guard deletions.takeDue(at: now) else { return timer.wake(at: deletions.dueAt) }
        if !delete(undeleted) { timer.wake(at: deletions.plan(at: now)) }
    }
}

// MARK: - Carried by the platform

extension FileExchange {
    func carry(_ id: UUID) throws(ConnectionError) {
        guard let carrier, let transfer = outgoing[id] else { return }
        guard let offer = FileOffer(transfer.record.header, from: connection.transport.localPeer.id, chunkBytesMax: 1)
        else {
            return
        }
        do {
            let header = try JSONEncoder().encode(offer)
            try carrier.carry(URL(fileURLWithPath: transfer.path), id: id, header: header)
        } catch {
            throw ConnectionError(error)
        }
    }

    func carried(_ id: UUID, fraction: Double) {
        // Reaches 1 only when the peer confirms.
        progressed(id, min(fraction, 0.999))
    }

    func carrierFinished(_ id: UUID, _ error: ConnectionError?) {
        restore()
        guard let transfer = outgoing[id], transfer.record.header.isCarried else { return }
        if let error { return finish(id, error) }
        outgoing[id]?.record.isDelivered = true
        outgoing[id]?.isReady = true
        if let record = outgoing[id]?.record { try? write(record) }
        offerLater(id)
    }

    /// Handles a peer's report that a carried file never arrived. Carries it again, once per launch.
    func missing(_ id: UUID, by peerID: String) {
        guard let transfer = outgoing[id], transfer.record.header.isCarried, !transfer.wasCarriedAgain,
            bind(id, to: peerID)
        else { return }
        outgoing[id]?.wasCarriedAgain = true
        outgoing[id]?.record.isDelivered = false
        outgoing[id]?.isReady = false
        reopen(id)
    }
}
