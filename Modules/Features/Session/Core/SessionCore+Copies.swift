import Foundation
import MeshBase
import MeshEngine
import MeshIdentity
import MeshTransport
import MeshWire

/// Sending and receiving copies that are too large for one message; `CopyTraffic` has the steps.
extension SessionCore {
    // MARK: - Sending

    /// Announces the kept copy, again or to another newcomer. A newcomer asks for a copy with every exchange until it
    /// has adopted one.
    /// - Returns: false if no copy is kept on these terms.
    mutating func announceOffer(on terms: OfferedCopy.Terms, to peerID: String) -> Bool {
        guard let offered = offeredCopy, offered.terms == terms else { return false }
        if offeredCopy?.receivers.insert(peerID).inserted == true { statistics.copiesSent += 1 }
        enqueue(.piece(offered.announcement(to: peerID)))
        return true
    }

    /// Offers a copy in pieces. `bytes` is the encoded checkpoint, as a snapshot contains it.
    /// - Throws: `SessionSyncError.payloadTooLarge` if the copy exceeds `copyBytesMax`; the codec's errors.
    mutating func offer(
        _ bytes: [UInt8], on terms: OfferedCopy.Terms, _ metadata: SessionSyncMetadata, to peerID: String
    ) throws {
        var metadata = metadata
        metadata.causalTimestamp = moment.now
        let copy = CopyContent(
            metadata: metadata, revision: engine.allocateOutgoingSnapshotRevision(), checkpoint: bytes)
        let bytes = try CompactCodec().encode(copy)
        guard bytes.count <= configuration.copyBytesMax else {
            throw SessionSyncError.payloadTooLarge(
                bytes: bytes.count, limit: configuration.copyBytesMax, limitID: "session.copyBytesMax")
        }
        let offered = OfferedCopy(id: configuration.randomSeed(), receivers: [peerID], terms: terms, bytes: bytes)
        offeredCopy = offered
        enqueue(.piece(offered.announcement(to: peerID)))
    }

    private mutating func receive(_ request: CopyRequest, from peerID: String) {
        guard let offered = offeredCopy, offered.id == request.copy, offered.receivers.contains(peerID) else { return }
        guard request.first < UInt64(offered.bytes.count) else {
            // The newcomer has everything, even if it can't use it.
            offeredCopy?.receivers.remove(peerID)
            if offeredCopy?.receivers.isEmpty == true { offeredCopy = nil }
            return
        }
        // A full window already waits to be sent to it. Drop the request: the newcomer repeats it.
        let waiting = outgoing.copyMessages.reduce(0) { $0 + ($1.receiver == peerID ? $1.byteCount : 0) }
        guard waiting < ArrivingCopy.windowBytes else { return }
        for piece in offered.pieces(request, to: peerID, pieceBytes: pieceBytes) { enqueue(.piece(piece)) }
    }

    // MARK: - Receiving

    private mutating func receive(_ piece: CopyPiece, from peerID: String) throws {
        guard !engine.isSealed else { return }
        guard piece.size > 0, piece.size <= UInt64(max(0, configuration.copyBytesMax)),
            piece.bytes.count <= min(CopyPiece.bytesMax, Int(piece.size)),
            piece.offset <= piece.size - UInt64(piece.bytes.count)
        else { throw SessionSyncError.outOfRange(field: "copy") }
        let isOtherCopy = arrivingCopy?.id != piece.copy
        if arrivingCopy == nil || isOtherCopy || arrivingCopy?.sender != peerID {
            // A new copy from the same sender replaces the arriving one at once. Another sender's copy replaces it only
            // after it has stalled.
            if let arriving = arrivingCopy, arriving.sender != peerID, !hasStalled(arriving) { return }
            arrivingCopy = ArrivingCopy(
                piece, from: peerID, size: Int(piece.size), retryAfter: configuration.exchangeInterval * 2,
                at: moment.now
            )
        }
        guard var arriving = arrivingCopy, piece.size == UInt64(arriving.size), !arriving.isComplete else { return }
        arriving.append(piece, at: moment.now)
        if let request = arriving.nextRequest() ?? arriving.requestAgain(at: moment.now) { enqueue(.request(request)) }
        arrivingCopy = arriving
        directives.showsCopy = true
        if arriving.isComplete { directives.arrivedCopy = arriving }
    }

    private func read(_ bytes: [UInt8]) throws -> (CopyContent, SessionCheckpoint<State, Event>) {
        let whole = try CompactCodec().decode(CopyContent.self, from: bytes)
        return (whole, try checkpoints.checkpoint(from: whole.checkpoint))
    }

    /// Adopts a complete copy. Complexity: O(bytes of the copy), at most `copyBytesMax`.
    mutating func adopt(_ arrived: ArrivingCopy) {
        guard isRunning, arrivingCopy?.id == arrived.id else { return }
        forgetArrivingCopy()
        let end = UInt64(arrived.size)
        enqueue(.request(CopyRequest(receiver: arrived.sender, copy: arrived.id, first: end, end: end)))
        do {
            let (copy, checkpoint) = try read(arrived.bytes)
            guard !engine.isSealed, isMine(copy.metadata), copy.metadata.sourcePeerID == arrived.sender else { return }
            catchUp()
            _ = try adopt(checkpoint, from: copy.metadata, revision: copy.revision)
        } catch {
            statistics.rejected += 1
        }
        wake()
    }

    /// Requests pieces again that were lost with a connection.
    mutating func retryCopyRequest() {
        guard !engine.isSealed else { return forgetArrivingCopy() }
        guard let request = arrivingCopy?.requestAgain(at: moment.now) else { return }
        enqueue(.request(request))
    }

    mutating func forgetArrivingCopy() {
        guard arrivingCopy != nil else { return }
        arrivingCopy = nil
        directives.showsCopy = true
    }

    private func hasStalled(_ arriving: ArrivingCopy) -> Bool {
        abs(moment.now.timeIntervalSince(arriving.heardAt)) >= 10 * configuration.exchangeInterval.seconds
    }

    // MARK: - Both

    mutating func receiveCopyMessage(_ erased: AnySessionSyncEnvelope) throws {
        let peerID = erased.metadata.sourcePeerID
        guard peerID != engine.localPeerID, engine.hears(peerID) else { return }
        if erased.metadata.payloadType == CopyPiece.payloadType {
            let piece = try erased.decodePayload(as: CopyPiece.self)
            if piece.receiver == engine.localPeerID { try receive(piece, from: peerID) }
        } else {
            let request = try erased.decodePayload(as: CopyRequest.self)
            if request.receiver == engine.localPeerID { receive(request, from: peerID) }
        }
    }

    private mutating func enqueue(_ message: CopyMessage) {
        // One announcement is enough.
        guard !outgoing.copyMessages.contains(message) else { return }
        outgoing.copyMessages.append(message)
        wake()
    }

    func envelope(of message: CopyMessage) throws -> AnySessionSyncEnvelope {
        switch message {
        case .piece(let piece): try envelope(of: piece, as: CopyPiece.payloadType)
        case .request(let request): try envelope(of: request, as: CopyRequest.payloadType)
        }
    }

    /// Wraps a payload that isn't an event in an envelope.
    func envelope<Payload: Codable & Sendable>(
        of payload: Payload, as payloadType: String
    ) throws -> AnySessionSyncEnvelope {
        let metadata = SessionSyncMetadata(
            sessionID: engine.sessionID, featureID: engine.featureID, sourcePeerID: engine.localPeerID, sequence: 0,
            causalTimestamp: moment.now, payloadType: payloadType, incarnation: engine.source.incarnation)
        return try AnySessionSyncEnvelope(SessionSyncEnvelope(metadata: metadata, payload: payload))
    }
}
