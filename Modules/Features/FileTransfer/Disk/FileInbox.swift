import Foundation
import MeshBase
import MeshConnection
import MeshIdentity

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Files that come, on disk: one folder for each, under a name of ours.
///
/// | in the folder | means |
/// |---|---|
/// | `offer` | it was offered by that peer |
/// | `offer`, `data` | so much of it has come, from its beginning on |
/// | `offer`, `file/NAME` | it is whole and waits for the app |
/// | `offer`, `file` | the app has moved it away |
/// | `settled` | it was imported; the sender may ask again |
///
/// Every step from one line to the next is one `rename`, so that what a crash leaves behind is one of them. Calls block for
/// as long as the disk takes; safe to use from any thread.
final class FileInbox: Sendable {
    /// Imported files whose sender has not been heard of since; the oldest are forgotten.
    static let settledMax = 1024

    enum Standing: Equatable {
        case partial(UInt64)
        case whole
        case moved
        case settled
    }

    struct Entry {
        let key: String
        let offer: FileOffer
        let standing: Standing
        /// When something of it came last, by the disk.
        let modified: Date

        /// A platform's file of which only a part was taken in: the platform brings it again.
        var isTorn: Bool {
            if case .partial(let count) = standing {
                offer.header.isCarried && count != offer.header.byteCount
            } else {
                false
            }
        }
    }

    private struct State {
        /// Bytes that are there or to come, by key.
        var reserved: [String: UInt64] = [:]
        /// Keys, the oldest first.
        var settled: [String] = []
        /// Whether what an earlier launch has left is in here.
        var isRead = false
    }

    let limits: FileTransferLimits
    private let root: Folder
    private let system: SystemFiles
    private let state = Locked(State())
    /// Held while folders are looked through, and while a platform's file is taken in by a thread of its own: half of it
    /// must not be taken for what a crash has left.
    private let turn = Locked(())

    /// - Throws: what making or opening the folder throws; `fileAccessDenied` when others may write to it or own it.
    init(path: String, limits: FileTransferLimits, system: SystemFiles) throws(ConnectionError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .fileAccessDenied(url: path)
        }
        guard FileAccess(path: path)?.flaw(ofFolder: path, isShared: true) == nil else {
            throw .fileAccessDenied(url: path)
        }
        root = try Folder(path: path, system: system)
        self.limits = limits
        self.system = system
    }

    /// Where a peer's file lives, whatever ids others choose: no two that anybody can find have one key.
    static func key(peerID: String, id: UUID) -> String {
        SHA256.hexadecimal(withUnsafeBytes(of: id.uuid) { Array($0) } + Array(peerID.utf8))
    }

    private static let keyBytes = 64

    /// Where it lived before: by a hash for which a peer can choose an id that has another's key.
    static func formerKey(peerID: String, id: UUID) -> String {
        StableHash(Array(peerID.utf8) + [0] + withUnsafeBytes(of: id.uuid) { Array($0) }).description
    }

    private static let formerKeyBytes = 32

    func isSettled(_ key: String) -> Bool { state.withLock { $0.settled.contains(key) } }
    /// Whether something of it is here, and not imported yet.
    func holds(_ key: String) -> Bool { state.withLock { $0.reserved[key] != nil } }
}

// MARK: - What an earlier launch has left

extension FileInbox {
    /// What makes no sense is removed; what cannot be read now, as on a phone that has not been unlocked, waits for a later
    /// launch.
    func restore() -> [Entry] { turn.withLock { _ in restoreInTurn() } }

    private func restoreInTurn() -> [Entry] {
        var entries: [Entry] = []
        state.withLock { $0 = State(isRead: true) }
        for name in root.names(max: limits.inboxCountMax + Self.settledMax) {
            guard let key = current(name) else { continue }
            let found: Entry?
            do { found = try entry(key) } catch { continue }
            guard let entry = found, !entry.isTorn else {
                discard(key)
                continue
            }
            entries.append(entry)
            state.withLock { state in
                if entry.standing == .settled {
                    state.settled.append(key)
                } else {
                    state.reserved[key] = entry.offer.header.byteCount
                }
            }
        }
        return entries
    }

    /// The key of a folder found under this name. One from before the keys were changed is moved; what makes no sense there
    /// is removed.
    /// - Returns: nil for what is none, is gone, or cannot be read now.
    private func current(_ name: String) -> String? {
        if name.utf8.count == Self.keyBytes { return name }
        guard name.utf8.count == Self.formerKeyBytes else { return nil }
        do throws(ConnectionError) {
            if let folder = try found(root.folder(name)), let offer = try noted(in: folder), offer.formerKey == name,
                !root.contains(offer.key)
            {
                try root.move(name, to: root, as: offer.key)
                return offer.key
            }
        } catch {
            return nil
        }
        discard(name)
        return nil
    }

    private func noted(in folder: Folder) throws(ConnectionError) -> FileOffer? {
        if let offer = try note("settled", in: folder) { return offer }
        return try note("offer", in: folder)
    }

    /// - Returns: nil for what no crash leaves.
    /// - Throws: what the disk says.
    private func entry(_ key: String) throws(ConnectionError) -> Entry? {
        guard let folder = try found(root.folder(key)) else { return nil }
        let modified = folder.modified(["data", "offer"]) ?? .distantPast
        func entry(_ offer: FileOffer, _ standing: Standing) -> Entry {
            Entry(key: key, offer: offer, standing: standing, modified: modified)
        }
        if let offer = try note("settled", in: folder) { return offer.key == key ? entry(offer, .settled) : nil }
        guard let offer = try note("offer", in: folder), offer.key == key else { return nil }
        if let file = try found(folder.folder("file")) {
            let name = SuggestedName.sanitize(offer.header.name)
            // An earlier version may have made another name of it.
            if let former = file.names(max: 1).first, former != name { try file.move(former, to: file, as: name) }
            return entry(offer, file.contains(name) ? .whole : .moved)
        }
        // A crash between the two steps of `complete`.
        if let file = try found(folder.folder("file.new")) {
            try? file.move(SuggestedName.sanitize(offer.header.name), to: folder, as: "data")
            folder.removeFolder("file.new")
        }
        let data = try found(folder.openFile("data", O_RDONLY))
        return entry(offer, .partial(data?.byteCount ?? 0))
    }

    private func note(_ name: String, in folder: Folder) throws(ConnectionError) -> FileOffer? {
        let bytes = try found(folder.read(name, bytesMax: FileOffer.bytesMax))
        return bytes.flatMap { try? JSONDecoder().decode(FileOffer.self, from: Data($0)) }
    }

    /// - Returns: nil when there is none, or none of ours.
    private func found<Thing>(
        _ open: @autoclosure () throws(ConnectionError) -> Thing
    ) throws(ConnectionError) -> Thing? {
        do throws(ConnectionError) {
            return try open()
        } catch .fileNotFound, .payloadTooLarge {
            return nil
        }
    }
}

// MARK: - From offer to import

extension FileInbox {
    /// Makes room for a file.
    /// - Throws: `insufficientSpace`; `idInUse` when it is here, or has been imported, or may have been; what the disk says.
    func begin(_ offer: FileOffer) throws(ConnectionError) {
        let key = offer.key
        if holds(key) || isSettled(key) || isLeft(key) || isLeft(offer.formerKey) {
            throw .idInUse(id: offer.header.id.uuidString)
        }
        let byteCount = offer.header.byteCount
        let isTaken = state.withLock { state in
            guard state.reserved[key] == nil, state.reserved.count < limits.inboxCountMax else { return false }
            var room = limits.inboxBytesMax
            for taken in state.reserved.values { room -= min(room, taken) }
            guard byteCount <= room else { return false }
            state.reserved[key] = byteCount
            return true
        }
        guard isTaken else { throw .insufficientSpace }
        do throws(ConnectionError) {
            if let free = root.freeBytes, free < byteCount || free - byteCount < limits.freeBytesMin {
                throw .insufficientSpace
            }
            let note: Data
            do { note = try JSONEncoder().encode(offer) } catch { throw ConnectionError(error) }
            guard note.count <= FileOffer.bytesMax else {
                throw .payloadTooLarge(bytes: note.count, limit: FileOffer.bytesMax, limitID: "file.header")
            }
            try root.makeFolder(key).write(Array(note), to: "offer")
        } catch {
            discard(key)
            throw error
        }
    }

    /// Whether an earlier launch has left something of it that could not be read.
    private func isLeft(_ key: String) -> Bool {
        guard let folder = try? root.folder(key) else { return false }
        return folder.contains("offer") || folder.contains("settled")
    }

    /// What has come of it, for more to be appended.
    func openPartial(_ key: String) throws(ConnectionError) -> OpenFile {
        try root.folder(key).openFile("data", O_RDWR | O_CREAT | O_APPEND)
    }

    /// Begins anew.
    func restart(_ key: String) throws(ConnectionError) -> OpenFile {
        let folder = try root.folder(key)
        folder.remove("data")
        return try folder.openFile("data", O_RDWR | O_CREAT | O_APPEND | O_EXCL)
    }

    /// Takes in what a platform has brought, before its callback returns.
    func adopt(_ path: String, for offer: FileOffer) throws(ConnectionError) {
        let result = turn.withLock { _ in
            Result { () throws(ConnectionError) in try adoptInTurn(path, for: offer) }
        }
        try result.get()
    }

    private func adoptInTurn(_ path: String, for offer: FileOffer) throws(ConnectionError) {
        // The app may have been launched to be handed it.
        if !state.withLock({ $0.isRead }) { _ = restoreInTurn() }
        try begin(offer)
        do throws(ConnectionError) {
            let folder = try root.folder(offer.key)
            if try !folder.take(path, as: "data") { try copy(path, to: folder) }
            // A link would lead out of the folder.
            guard try folder.openFile("data", O_RDONLY).byteCount == offer.header.byteCount else {
                throw .deliveryFailed(reason: "the file has another size than its sender says")
            }
        } catch {
            discard(offer.key)
            throw error
        }
    }

    /// From another disk.
    private func copy(_ path: String, to folder: Folder) throws(ConnectionError) {
        let source = try OpenFile(reading: path, system: system)
        let target = try folder.openFile("data", O_WRONLY | O_CREAT | O_EXCL | O_APPEND)
        var offset: UInt64 = 0
        while true {
            let bytes = try source.bytes(at: offset, count: FileDigest.blockBytes)
            if bytes.isEmpty { return }
            try target.append(bytes)
            offset += UInt64(bytes.count)
        }
    }

    /// The app may have it now.
    /// - Returns: where it is.
    func complete(_ offer: FileOffer) throws(ConnectionError) -> String {
        let folder = try root.folder(offer.key)
        let name = SuggestedName.sanitize(offer.header.name)
        let file = try folder.makeFolder("file.new")
        try folder.move("data", to: file, as: name)
        try folder.move("file.new", to: folder, as: "file")
        return "\(folder.path)/file/\(name)"
    }

    var path: String { root.path }

    func path(of offer: FileOffer) -> String {
        "\(root.path(of: offer.key))/file/\(SuggestedName.sanitize(offer.header.name))"
    }

    /// Whether the app has left it where it was, as far as the disk says.
    func isUnclaimed(_ offer: FileOffer) -> Bool {
        do throws(ConnectionError) {
            let file = try found(root.folder(offer.key).folder("file"))
            return file?.contains(SuggestedName.sanitize(offer.header.name)) ?? false
        } catch {
            return true
        }
    }

    /// The app has it: what is left here goes, but for the note that it was imported.
    func settle(_ offer: FileOffer) {
        guard let folder = try? root.folder(offer.key) else { return }
        try? folder.move("offer", to: folder, as: "settled")
        empty(folder)
        let forgotten = state.withLock { state -> String? in
            state.reserved[offer.key] = nil
            if !state.settled.contains(offer.key) { state.settled.append(offer.key) }
            return state.settled.count > Self.settledMax ? state.settled.first : nil
        }
        if let forgotten { discard(forgotten) }
    }

    /// Nothing is to be remembered of it.
    func discard(_ key: String) {
        if let folder = try? root.folder(key) {
            empty(folder)
            for name in ["offer", "offer.new", "settled"] { folder.remove(name) }
            root.removeFolder(key)
        } else {
            root.remove(key)
        }
        state.withLock { state in
            state.reserved[key] = nil
            state.settled.removeAll { $0 == key }
        }
    }

    private func empty(_ folder: Folder) {
        folder.remove("data")
        for subfolder in ["file", "file.new"] {
            if let file = try? folder.folder(subfolder) { file.names(max: 16).forEach(file.remove) }
            folder.removeFolder(subfolder)
        }
    }
}

/// A file that a peer has offered.
struct FileOffer: Codable, Hashable, Sendable {
    let header: FileHeader
    let peerID: String
    let chunkBytesMax: Int

    static let bytesMax = 64 << 10

    var key: String { FileInbox.key(peerID: peerID, id: header.id) }
    var formerKey: String { FileInbox.formerKey(peerID: peerID, id: header.id) }

    /// What a peer says, as far as it makes sense.
    init?(_ header: FileHeader, from peerID: String, chunkBytesMax: Int) {
        guard header.byteCount <= FileHeader.byteCountMax, header.digest.utf8.count <= 64, chunkBytesMax > 0 else {
            return nil
        }
        // What is kept of the name is what is shown of it.
        self.header = FileHeader(
            id: header.id, name: SuggestedName.sanitize(header.name), byteCount: header.byteCount,
            digest: header.digest, metadata: header.metadata, isCarried: header.isCarried)
        self.peerID = peerID
        self.chunkBytesMax = chunkBytesMax
    }
}

extension OpenFile {
    func append(_ bytes: some Collection<UInt8>) throws(ConnectionError) {
        var failure: ConnectionError?
        let isDone: Void? = bytes.withContiguousStorageIfAvailable { buffer in
            do throws(ConnectionError) { try append(UnsafeRawBufferPointer(buffer)) } catch { failure = error }
        }
        if isDone == nil { try append(Array(bytes)) }
        if let failure { throw failure }
    }
}
