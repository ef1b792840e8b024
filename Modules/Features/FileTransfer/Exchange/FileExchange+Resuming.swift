import Foundation
import MeshBase
import MeshConnection
import MeshStorage

// Resumes outgoing files of earlier launches.

extension FileExchange {
    func restoreOutgoing() {
        // `restore` tries again with the next event.
        guard let records = try? storedRecords() else { return }
        knowsOutgoing = true
        for record in records.sorted(by: { $0.startedAt < $1.startedAt }) {
            let (id, path) = (record.header.id, record.place.path(from: inbox.path))
            outgoing[id] = Outgoing(record: record, path: path, isReady: false)
            outgoing[id]?.offers.restart(dueAt: now)
            events.yield(.began(.outgoing(id), path: path, metadata: record.header.metadata))
            reopen(id)
        }
    }

    private func storedRecords() throws -> [OutgoingRecord] {
        guard let store = connection.store else { return [] }
        return try store.catalog(prefix: OutgoingRecord.storePrefix).keys.compactMap { key in
            do {
                return try store.value(for: key).flatMap {
                    try? JSONDecoder().decode(OutgoingRecord.self, from: Data($0))
                }
            } catch let error as StorageError where error.code == .damaged {
                return nil
            }
        }
    }

    /// Checks that the file is still the one that was offered.
    func reopen(_ id: UUID) {
        guard let transfer = outgoing[id], !rehashQueue.contains(id) else { return }
        let record = transfer.record
        if record.header.isCarried, record.isDelivered || carrier?.outstandingIDs.contains(id) == true {
            outgoing[id]?.isReady = true
            return repeatOffer(id)
        }
        do throws(ConnectionError) {
            let source = try SourceFile(path: transfer.path, system: system)
            guard source.identity.byteCount == record.identity.byteCount else {
                throw SourceFile.changed(transfer.path)
            }
            if source.identity == record.identity { resume(id) } else { rehash(id) }
        } catch {
            couldNotReopen(id, error)
        }
    }

    /// Fails the transfer only if the file is gone or has changed. Other errors may be temporary, such as a locked phone or too
    /// many open files, so the next offer tries again.
    private func couldNotReopen(_ id: UUID, _ error: ConnectionError) {
        switch error {
        case .fileNotFound, .deliveryFailed: return finish(id, error)
        default: break
        }
        if outgoing[id]?.offers.takeDue(at: now) == true { outgoing[id]?.offers.plan(at: now) }
        timer.wake(at: outgoing[id]?.offers.dueAt)
    }

    /// Hashes a file whose date or inode has changed, as its bytes may be the same. One file at a time: a process has few
    /// descriptors.
    private func rehash(_ id: UUID) {
        rehashQueue.append(id)
        guard rehashQueue.count == 1 else { return }
        Task { [weak self, system] in
            while let (id, path) = await self?.nextToRehash() {
                do throws(ConnectionError) {
                    let source = try SourceFile(path: path, system: system)
                    let digest = try await FileDigest.digest(of: source.file, byteCount: source.identity.byteCount)
                    await self?.rehash(id, .success((source.identity, digest)))
                } catch {
                    await self?.rehash(id, .failure(error))
                }
            }
        }
    }

    private func nextToRehash() -> (UUID, path: String)? {
        rehashQueue.removeAll { outgoing[$0] == nil }
        return rehashQueue.first.map { ($0, outgoing[$0]?.path ?? "") }
    }

    private func rehash(_ id: UUID, _ result: Result<(SourceFile.Identity, digest: String), ConnectionError>) {
        rehashQueue.removeAll { $0 == id }
        guard let transfer = outgoing[id] else { return }
        do throws(ConnectionError) {
            let (identity, digest) = try result.get()
            guard digest == transfer.record.header.digest else { throw SourceFile.changed(transfer.path) }
            outgoing[id]?.record.identity = identity
            resume(id)
        } catch {
            couldNotReopen(id, error)
        }
    }

    private func resume(_ id: UUID) {
        do throws(ConnectionError) {
            if outgoing[id]?.record.header.isCarried == true { try carry(id) }
            outgoing[id]?.isReady = true
            // Sends the ranges that the peer has asked for meanwhile.
            pump(id)
            repeatOffer(id)
        } catch .notActivated {
            // The platform hasn't started yet. The next offer tries again.
            offerLater(id)
        } catch {
            finish(id, error)
        }
    }
}
