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

// The inbox is crash-safe without a journal. Each received file has its own folder, and the folder's contents are its
// state. A `rename`, which is atomic, ends each step from one state to the next. `restore` reads the states after a
// launch and undoes the only step that can stop halfway (`complete`, which needs two renames).

/// Received files on disk. Each has a folder named by the hash of its sender and ID.
///
/// | in the folder | means |
/// |---|---|
/// | `offer` | the peer has offered the file |
/// | `offer`, `data` | the beginning of the file has arrived, up to the size of `data` |
/// | `offer`, `file/NAME` | the file is complete and waits for the app |
/// | `offer`, `file` | the app has moved the file away |
/// | `settled` | the app has imported the file; kept because the sender may ask again |
///
/// Calls block while the disk works. Safe to use from any thread.
final class FileInbox: Sendable {
    /// Maximum number of imported files that are remembered until their sender confirms, and of those that are remembered
    /// afterwards. Beyond it, the first element of `imported` or `settled` is dropped.
    static let importedMax = 1024

    enum Status: Equatable {
        case partial(UInt64)
        case whole
        case moved
        case imported
    }

    struct Entry {
        let key: String
        let offer: FileOffer
        let status: Status
        /// The file system's date of the last write to the data or, without data, to the offer.
        let modified: Date

        /// Indicates whether a crash interrupted the copying of a carried file. The platform delivers the file again.
        var isPartialCopy: Bool {
            if case .partial(let count) = status {
                offer.header.isCarried && count != offer.header.byteCount
            } else {
                false
            }
        }
    }

    private struct State {
        /// Sizes of the files that are arriving or waiting, by key.
        var reserved: [String: UInt64] = [:]
        /// Keys of imported files: those of earlier launches in the order of their folders' names, then others, oldest first.
        var imported: [String] = []
        /// Keys of imported files whose sender has confirmed, oldest first. In memory only, for offers that arrive late.
        var settled: [String] = []
        /// Indicates whether `restore` has read the folders of earlier launches.
        var isRead = false
    }

    let limits: FileTransferLimits
    private let root: Folder
    private let system: SystemFiles
    private let state = Locked(State())
    /// Held while one thread scans the folders or adopts a carried file. Without it, the scan could mistake a file that
    /// is being copied for the remains of a crash, and remove it.
    private let scanLock = Locked(())

    /// - Throws: errors of creating or opening the folder; `fileAccessDenied` if another user owns it or may write to it.
    init(path: String, limits: FileTransferLimits, system: SystemFiles) throws(ConnectionError) {
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        } catch {
            throw .fileAccessDenied(url: path)
        }
        guard FileAccess(path: path)?.problem(withFolder: path, isShared: true) == nil else {
            throw .fileAccessDenied(url: path)
        }
        root = try Folder(path: path, system: system)
        self.limits = limits
        self.system = system
    }

    /// Returns the name of a file's folder. It is a SHA-256 hash, so that no peer can choose an ID that yields the key
    /// of another peer's file.
    static func key(peerID: String, id: UUID) -> String {
        SHA256.hexadecimal(withUnsafeBytes(of: id.uuid) { Array($0) } + Array(peerID.utf8))
    }

    private static let keyBytes = 64

    /// Returns the folder name that earlier versions used. Its hash isn't cryptographic, so a peer could choose a collision.
    static func formerKey(peerID: String, id: UUID) -> String {
        StableHash(Array(peerID.utf8) + [0] + withUnsafeBytes(of: id.uuid) { Array($0) }).description
    }

    private static let formerKeyBytes = 32

    func isImported(_ key: String) -> Bool {
        state.withLock { $0.imported.contains(key) || $0.settled.contains(key) }
    }
    /// Indicates whether a file is arriving, or waits for the app.
    func holds(_ key: String) -> Bool { state.withLock { $0.reserved[key] != nil } }
}

// MARK: - Files of earlier launches

extension FileInbox {
    /// Returns the files of earlier launches. Removes folders whose contents aren't a valid state. Skips a folder that
    /// can't be read now, for example before the phone is first unlocked; a later launch reads it.
    func restore() -> [Entry] { scanLock.withLock { _ in restoreLocked() } }

    private func restoreLocked() -> [Entry] {
        var entries: [Entry] = []
        state.withLock { $0 = State(isRead: true) }
        for name in root.names(max: limits.inboxCountMax + Self.importedMax) {
            guard let key = current(name) else { continue }
            let found: Entry?
            do { found = try entry(key) } catch { continue }
            guard let entry = found, !entry.isPartialCopy else {
                discard(key)
                continue
            }
            entries.append(entry)
            state.withLock { state in
                if entry.status == .imported {
                    state.imported.append(key)
                } else {
                    state.reserved[key] = entry.offer.header.byteCount
                }
            }
        }
        return entries
    }

    /// Returns the key of a folder with this name. Renames a folder that has a former key, or removes it if its
    /// contents aren't a valid state.
    /// - Returns: nil if there is no such folder, it isn't ours, or it can't be read now.
    private func current(_ name: String) -> String? {
        if name.utf8.count == Self.keyBytes { return name }
        guard name.utf8.count == Self.formerKeyBytes else { return nil }
        do throws(ConnectionError) {
            if let folder = try found(root.folder(name)), let offer = try storedOffer(in: folder),
                offer.formerKey == name,
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

    private func storedOffer(in folder: Folder) throws(ConnectionError) -> FileOffer? {
        if let offer = try readOffer("settled", in: folder) { return offer }
        return try readOffer("offer", in: folder)
    }

    /// - Returns: nil if the folder is in a state that no crash leaves behind.
    /// - Throws: errors of the file system.
    private func entry(_ key: String) throws(ConnectionError) -> Entry? {
        guard let folder = try found(root.folder(key)) else { return nil }
        let modified = folder.modified(["data", "offer"]) ?? .distantPast
        func entry(_ offer: FileOffer, _ status: Status) -> Entry {
            Entry(key: key, offer: offer, status: status, modified: modified)
        }
        if let offer = try readOffer("settled", in: folder) { return offer.key == key ? entry(offer, .imported) : nil }
        guard let offer = try readOffer("offer", in: folder), offer.key == key else { return nil }
        if let file = try found(folder.folder("file")) {
            let name = SuggestedName.sanitize(offer.header.name)
            // An earlier version may have sanitized the name differently.
            if let former = file.names(max: 1).first, former != name { try file.move(former, to: file, as: name) }
            return entry(offer, file.contains(name) ? .whole : .moved)
        }
        // A crash between the two renames of `complete`.
        if let file = try found(folder.folder("file.new")) {
            try? file.move(SuggestedName.sanitize(offer.header.name), to: folder, as: "data")
            folder.removeFolder("file.new")
        }
        let data = try found(folder.openFile("data", O_RDONLY))
        return entry(offer, .partial(data?.byteCount ?? 0))
    }

    private func readOffer(_ name: String, in folder: Folder) throws(ConnectionError) -> FileOffer? {
        let bytes = try found(folder.read(name, bytesMax: FileOffer.bytesMax))
        return bytes.flatMap { try? JSONDecoder().decode(FileOffer.self, from: Data($0)) }
    }

    /// - Returns: nil if the file doesn't exist or is too large to be ours.
    private func found<Value>(
        _ open: @autoclosure () throws(ConnectionError) -> Value
    ) throws(ConnectionError) -> Value? {
        do throws(ConnectionError) {
            return try open()
        } catch .fileNotFound, .payloadTooLarge {
            return nil
        }
    }
}

// MARK: - From offer to import

extension FileInbox {
    /// Reserves space for a file and writes its offer.
    /// - Throws: `insufficientSpace`; `idInUse` if the file is here, was imported, or may have been; `payloadTooLarge`;
    ///   errors of the file system.
    func begin(_ offer: FileOffer) throws(ConnectionError) {
        let key = offer.key
        if holds(key) || isImported(key) || hasUnreadFolder(key) || hasUnreadFolder(offer.formerKey) {
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

    /// Indicates whether an earlier launch left a folder that `restore` couldn't read.
    private func hasUnreadFolder(_ key: String) -> Bool {
        guard let folder = try? root.folder(key) else { return false }
        return folder.contains("offer") || folder.contains("settled")
    }

    /// Opens the part that has arrived, for appending.
    func openPartial(_ key: String) throws(ConnectionError) -> OpenFile {
        try root.folder(key).openFile("data", O_RDWR | O_CREAT | O_APPEND)
    }

    /// Replaces the part that has arrived with an empty file, and opens it for appending.
    func restart(_ key: String) throws(ConnectionError) -> OpenFile {
        let folder = try root.folder(key)
        folder.remove("data")
        return try folder.openFile("data", O_RDWR | O_CREAT | O_APPEND | O_EXCL)
    }

    /// Moves a carried file into the inbox, before the platform's callback returns.
    func adopt(_ path: String, for offer: FileOffer) throws(ConnectionError) {
        let result = scanLock.withLock { _ in
            Result { () throws(ConnectionError) in try adoptLocked(path, for: offer) }
        }
        try result.get()
    }

    private func adoptLocked(_ path: String, for offer: FileOffer) throws(ConnectionError) {
        // The platform may have launched the app only to deliver this file.
        if !state.withLock({ $0.isRead }) { _ = restoreLocked() }
        try begin(offer)
        do throws(ConnectionError) {
            let folder = try root.folder(offer.key)
            if try !folder.take(path, as: "data") { try copy(path, to: folder) }
            // `openFile` refuses a symbolic link, which could point outside the folder.
            guard try folder.openFile("data", O_RDONLY).byteCount == offer.header.byteCount else {
                throw .deliveryFailed(reason: "the file's size isn't the one that its sender stated")
            }
        } catch {
            discard(offer.key)
            throw error
        }
    }

    /// Copies a file from another disk.
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

    /// Makes a file available to the app.
    /// - Returns: the file's path.
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

    /// Indicates whether the app has left the file in the inbox. True if the disk can't be read.
    func isUnclaimed(_ offer: FileOffer) -> Bool {
        do throws(ConnectionError) {
            let file = try found(root.folder(offer.key).folder("file"))
            return file?.contains(SuggestedName.sanitize(offer.header.name)) ?? false
        } catch {
            return true
        }
    }

    /// Records that the app has imported a file, and deletes what is left of the file.
    func markImported(_ offer: FileOffer) {
        // If the folder can't be opened now, the file is offered again after a relaunch.
        if let folder = try? root.folder(offer.key) {
            try? folder.move("offer", to: folder, as: "settled")
            empty(folder)
        }
        let forgotten = state.withLock { state -> String? in
            state.reserved[offer.key] = nil
            if !state.imported.contains(offer.key) { state.imported.append(offer.key) }
            return state.imported.count > Self.importedMax ? state.imported.first : nil
        }
        if let forgotten { discard(forgotten) }
    }

    /// Deletes the note that a file was imported, because its sender has confirmed.
    func settle(_ key: String) {
        guard state.withLock({ $0.imported.contains(key) }) else { return }
        discard(key)
        state.withLock { $0.settled = ($0.settled + [key]).suffix(Self.importedMax) }
    }

    /// Deletes everything about a file, including the note that it was imported.
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
            state.imported.removeAll { $0 == key }
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

/// A peer's offer of a file.
struct FileOffer: Codable, Hashable, Sendable {
    let header: FileHeader
    let peerID: String
    let chunkBytesMax: Int

    static let bytesMax = 64 << 10

    var key: String { FileInbox.key(peerID: peerID, id: header.id) }
    var formerKey: String { FileInbox.formerKey(peerID: peerID, id: header.id) }

    /// - Returns: nil if a number in the peer's offer is out of range.
    init?(_ header: FileHeader, from peerID: String, chunkBytesMax: Int) {
        guard header.byteCount <= FileHeader.byteCountMax, header.digest.utf8.count <= 64, chunkBytesMax > 0 else {
            return nil
        }
        // The stored name is the one that the app sees.
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
