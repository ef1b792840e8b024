import Foundation
import MeshBase
import MeshConnection
import MeshTransport

/// A file that is arriving, or that waits for the app.
struct Incoming {
    enum Phase: Equatable {
        /// Waits for its turn. Files of silent senders wait behind all others.
        case waiting(isSilent: Bool)
        case active
        /// All bytes have arrived, and the digest is being computed.
        case verifying
        case unclaimed
    }

    let offer: FileOffer
    /// The position in the order of arrival.
    let arrival: UInt64
    var phase = Phase.waiting(isSilent: false)
    var flow: FileFlow?
    var file: OpenFile?
    /// The progress that was last reported to the app.
    var announced = 0.0
    var hasRestarted = false

    var key: TransferKey { .incoming(offer.key, offer.header.id) }

    mutating func yieldTurn() {
        phase = .waiting(isSilent: true)
        flow = nil
        file = nil
    }

    /// Moves a waiting file ahead of those of silent senders, because its own sender responds again.
    mutating func noteSenderActivity() {
        if phase == .waiting(isSilent: true) { phase = .waiting(isSilent: false) }
    }
}

// MARK: - Offers

extension FileExchange {
    func restoreIncoming() {
        for entry in inbox.restore() {
            guard entry.status != .imported else { continue }
            admit(entry.offer)
            switch entry.status {
            case .partial where isForgotten(entry): fail(entry.key, .timeout)
            case .whole: offerToApp(entry.offer)
            case .moved:
                incoming[entry.key]?.phase = .unclaimed
                accept(entry.key)
            case .partial, .imported: break
            }
        }
        activate()
    }

    private func isForgotten(_ entry: FileInbox.Entry) -> Bool {
        .seconds(connection.clock.wall.timeIntervalSince(entry.modified)) > inbox.limits.partialAgeMax
    }

    func offered(_ offer: FileOffer) {
        let id = offer.header.id
        if inbox.isImported(offer.key) { return post(.imported(id), to: offer.peerID) }
        if let known = incoming[offer.key] {
            if known.offer.header.digest == offer.header.digest { return answer(known) }
            // The sender reuses the ID for another file. Discards the earlier one, unless it waits for the app.
            if known.phase == .unclaimed { return post(.held(id), to: offer.peerID) }
            drop(offer.key, .cancelled)
        }
        if offer.header.isCarried { return post(.missing(id), mode: .realtimeBestEffort, to: offer.peerID) }
        do throws(ConnectionError) {
            try inbox.begin(offer)
            admit(offer)
            activate()
        } catch .idInUse {
            // The file's folder can't be read yet. The sender will offer again.
        } catch {
            refuse(offer, error)
        }
    }

    private func answer(_ file: Incoming) {
        switch file.phase {
        case .active:
            incoming[file.offer.key]?.flow?.offered(now: now)
            ask(file.offer.key)
        case .unclaimed:
            checkUnclaimed(isForced: true)
            if incoming[file.offer.key] != nil {
                post(.held(file.offer.header.id), mode: .realtimeBestEffort, to: file.offer.peerID)
            }
        case .waiting:
            incoming[file.offer.key]?.noteSenderActivity()
            activate()
        case .verifying: break
        }
    }

    private func admit(_ offer: FileOffer) {
        arrivals += 1
        incoming[offer.key] = Incoming(offer: offer, arrival: arrivals)
        events.yield(
            .began(.incoming(offer.key, offer.header.id), path: inbox.path(of: offer), metadata: offer.header.metadata))
    }

    private func refuse(_ offer: FileOffer, _ error: ConnectionError) {
        report(.fileTransferFailed(fileURL: URL(fileURLWithPath: inbox.path(of: offer)), error: error))
        post(.refused(offer.header.id, error), to: offer.peerID)
    }

    /// Starts to receive waiting files, up to `receivingMax` at once. A waiting file whose sender responds replaces an
    /// active file whose sender is silent.
    func activate() {
        func first(where isIncluded: (Incoming) -> Bool) -> Incoming? {
            incoming.values.filter(isIncluded).min { $0.arrival < $1.arrival }
        }
        while let next = first(where: { $0.phase == .waiting(isSilent: false) })
            ?? first(where: { $0.phase == .waiting(isSilent: true) })
        {
            if incoming.values.count(where: { $0.phase == .active }) >= inbox.limits.receivingMax {
                guard next.phase == .waiting(isSilent: false),
                    let silent = first(where: { $0.phase == .active && $0.flow?.isSilent == true })
                else { return }
                incoming[silent.offer.key]?.yieldTurn()
            }
            receive(next.offer.key, next.offer)
        }
    }

    private func receive(_ key: String, _ offer: FileOffer) {
        do throws(ConnectionError) {
            var file = try inbox.openPartial(key)
            if file.byteCount > offer.header.byteCount { file = try inbox.restart(key) }
            incoming[key]?.file = file
            incoming[key]?.flow = FileFlow(
                byteCount: offer.header.byteCount, held: file.byteCount,
                chunkBytesMax: min(offer.chunkBytesMax, connection.chunkBytesMax), isLossless: isLossless)
            incoming[key]?.phase = .active
            advance(key)
        } catch {
            fail(key, error)
        }
    }
}

// MARK: - Chunks

extension FileExchange {
    func chunk(_ bytes: Data, at offset: UInt64, checksum: UInt64, of key: String) {
        guard let file = incoming[key], file.phase == .active, let target = file.file,
            FileDigest.checksum(of: bytes) == checksum,
            let ready = incoming[key]?.flow?.take(bytes, at: offset, now: now)
        else { return }
        do throws(ConnectionError) {
            for piece in ready { try target.append(piece) }
            advance(key)
        } catch {
            fail(key, error)
        }
    }

    /// Reports progress, then asks for more or verifies.
    private func advance(_ key: String) {
        guard let file = incoming[key], let flow = file.flow else { return }
        let total = file.offer.header.byteCount
        let fraction = total == 0 ? 1 : Double(flow.next) / Double(total)
        if fraction - file.announced >= Outgoing.announcedStep || (flow.isComplete && fraction > file.announced) {
            incoming[key]?.announced = fraction
            events.yield(.progressed(file.key, fraction))
        }
        if flow.isComplete { verify(key) } else { ask(key) }
    }

    func ask(_ key: String) {
        guard let file = incoming[key], file.phase == .active, let held = file.flow?.next,
            let ranges = incoming[key]?.flow?.nextRequests(now: now)
        else { return }
        timer.wake(at: incoming[key]?.flow?.deadline)
        defer { if incoming[key]?.flow?.isSilent == true { activate() } }
        guard !ranges.isEmpty else { return }
        let message = FileMessage.ask(file.offer.header.id, held: held, ranges: ranges)
        Task { [weak self, connection] in
            do {
                try await connection.send(message, mode: .realtimeBestEffort, to: file.offer.peerID)
            } catch {
                await self?.failRequest(key, ranges)
            }
        }
    }

    private func failRequest(_ key: String, _ ranges: [FileRange]) {
        guard incoming[key]?.phase == .active else { return }
        incoming[key]?.flow?.disconnected(ranges, now: now)
        timer.wake(at: incoming[key]?.flow?.deadline)
        if incoming[key]?.flow?.isSilent == true { activate() }
    }
}

// MARK: - Ending

extension FileExchange {
    private func verify(_ key: String) {
        guard let incoming = incoming[key], let file = incoming.file else { return }
        self.incoming[key]?.phase = .verifying
        let offer = incoming.offer
        Task { [weak self] in
            let result = await FileExchange.check(file, offer)
            await self?.verified(key, offer, result)
        }
        activate()
    }

    /// Compares the digest, and writes the data to disk because the sender may soon forget the file.
    private static func check(_ file: OpenFile, _ offer: FileOffer) async -> Result<Bool, ConnectionError> {
        do throws(ConnectionError) {
            let digest = try await FileDigest.digest(of: file, byteCount: offer.header.byteCount)
            try file.synchronize()
            return .success(offer.header.digest == FileHeader.noDigest || digest == offer.header.digest)
        } catch {
            return .failure(error)
        }
    }

    private func verified(_ key: String, _ offer: FileOffer, _ result: Result<Bool, ConnectionError>) {
        guard !isStopped, let file = incoming[key], file.phase == .verifying, file.offer == offer else { return }
        do throws(ConnectionError) {
            if try result.get() {
                let path = try inbox.complete(offer)
                report(
                    .fileReceived(fileURL: URL(fileURLWithPath: path), hasMetadata: offer.header.metadata != nil))
                offerToApp(offer)
                post(.held(offer.header.id), to: offer.peerID)
            } else {
                try restart(key, file)
            }
        } catch {
            fail(key, error)
        }
    }

    /// Receives the file again, once. Every chunk was good, so the disk lost data or the sender's file has changed.
    private func restart(_ key: String, _ file: Incoming) throws(ConnectionError) {
        guard !file.hasRestarted, !file.offer.header.isCarried else {
            throw .deliveryFailed(reason: "the received file differs from the one that was sent")
        }
        _ = try inbox.restart(key)
        incoming[key]?.hasRestarted = true
        incoming[key]?.file = nil
        incoming[key]?.phase = .waiting(isSilent: false)
        activate()
    }

    /// Offers the file to the app, which may take it now or after a later launch.
    private func offerToApp(_ offer: FileOffer) {
        let key = offer.key
        incoming[key]?.phase = .unclaimed
        incoming[key]?.flow = nil
        incoming[key]?.file = nil
        events.yield(.ended(.incoming(key, offer.header.id), nil))
        events.yield(
            .received(
                ReceivedFile(offer, path: inbox.path(of: offer)) { [weak self] in await self?.accept(key) }, key: key))
        claims.reset()
        timer.wake(at: claims.plan(at: now))
    }

    /// Records that the app has taken the file.
    func accept(_ key: String) {
        guard !isStopped, let file = incoming[key], file.phase == .unclaimed else { return }
        inbox.markImported(file.offer)
        incoming[key] = nil
        events.yield(.taken(key: key))
        post(.imported(file.offer.header.id), to: file.offer.peerID)
    }

    /// Accepts files that the app has moved away.
    /// - Parameter isForced: checks now, even if no check is due.
    func checkUnclaimed(isForced: Bool = false) {
        let unclaimed = incoming.filter { $0.value.phase == .unclaimed }.sorted { $0.value.arrival < $1.value.arrival }
        guard !unclaimed.isEmpty else { return }
        if !claims.takeDue(at: now), !isForced, let dueAt = claims.dueAt { return timer.wake(at: dueAt) }
        for (key, file) in unclaimed where !inbox.isUnclaimed(file.offer) { accept(key) }
        claims.cancel()
        timer.wake(at: claims.plan(at: now))
    }

    /// Cancels a transfer whose file wasn't handed to the app yet.
    func cancelIncoming(_ key: String) {
        guard !isStopped, let file = incoming[key] else { return }
        post(.refused(file.offer.header.id, .cancelled), to: file.offer.peerID)
        drop(key, .cancelled)
    }

    /// Drops a file whose transfer the sender has cancelled. A complete file stays available to the app.
    func withdrawn(_ key: String) {
        guard let file = incoming[key], file.phase != .unclaimed else { return }
        drop(key, .cancelled)
    }

    func settled(_ key: String) { inbox.settle(key) }

    private func fail(_ key: String, _ error: ConnectionError) {
        guard let file = incoming[key] else { return }
        post(.refused(file.offer.header.id, error), to: file.offer.peerID)
        drop(key, error)
    }

    private func drop(_ key: String, _ error: ConnectionError) {
        guard let file = incoming.removeValue(forKey: key) else { return }
        inbox.discard(key)
        report(.fileTransferFailed(fileURL: URL(fileURLWithPath: inbox.path(of: file.offer)), error: error))
        events.yield(.ended(file.key, error))
        activate()
    }
}

// MARK: - Carried files

extension FileExchange {
    /// Verifies a carried file that is already in the inbox.
    func adopted(_ offer: FileOffer) {
        restore()
        guard !isStopped, incoming[offer.key] == nil else { return }
        do throws(ConnectionError) {
            let file = try inbox.openPartial(offer.key)
            admit(offer)
            incoming[offer.key]?.file = file
            incoming[offer.key]?.flow = FileFlow(byteCount: offer.header.byteCount, held: offer.header.byteCount)
            advance(offer.key)
        } catch {
            inbox.discard(offer.key)
            refuse(offer, error)
        }
    }

    /// Handles a carried file that the inbox couldn't adopt: the inbox already has it or has no space for it, or the
    /// file can't be moved.
    func adoptionFailed(_ offer: FileOffer, _ error: ConnectionError) {
        restore()
        guard !isStopped else { return }
        if inbox.isImported(offer.key) || incoming[offer.key] != nil { return offered(offer) }
        // The platform delivered the file twice, and the report of the first delivery is still on its way to this actor.
        if inbox.holds(offer.key) { return adopted(offer) }
        if case .idInUse = error { return }
        refuse(offer, error)
    }
}
