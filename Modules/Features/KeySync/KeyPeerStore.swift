import MeshStorage

/// The state of peers in a store. Each peer has a number, which names its record and the pieces of a large value.
struct KeyPeerStore {
    private static let peerPrefix = "sessionmesh.keys/peer/"
    private static let piecePrefix = "sessionmesh.keys/pieces/"

    private struct Place {
        var number: Int
        var journal: StoreJournal
        /// The part of the value that is in the journal.
        var extent: KeyPeer.Download.Extent?
    }

    private var places: [String: Place] = [:]
    /// The journals found by `init`. If a peer can't be read, its journal is erased when its number is used again.
    private var leftovers = StoreCatalog()
    /// The peers found by `init`.
    var peers: [StoredPeer] = []

    init() {}

    /// Reads the peers. A damaged record counts as missing, so its number is free.
    /// - Throws: an error of the store other than `damaged`.
    init(_ store: any SessionStore) throws {
        leftovers = try store.catalog(prefix: Self.piecePrefix)
        for key in try store.catalog(prefix: Self.peerPrefix).keys {
            guard let number = Int(key.dropFirst(Self.peerPrefix.count)), (0..<KeyLimits.peersMax).contains(number),
                var peer = try Self.readable({ try store.value(for: key).map(StoredPeer.init(stored:)) }),
                places[peer.id] == nil
            else { continue }
            var journal = StoreJournal(Self.piecePrefix + "\(number)")
            journal.load(leftovers)
            if !journal.isEmpty {
                peer.download = try Self.readable {
                    var pieces: [[UInt8]] = []
                    try store.forEachEntry(of: journal.name) { pieces.append($0.bytes) }
                    return KeyPeer.Download(stored: pieces)
                }
            }
            places[peer.id] = Place(number: number, journal: journal, extent: peer.download?.extent)
            peers.append(peer)
        }
    }

    private static func readable<Value>(_ read: () throws -> Value?) throws -> Value? {
        do {
            return try read()
        } catch let error as StorageError where error.code != .damaged {
            throw error
        } catch {
            return nil
        }
    }

    func holds(_ id: String) -> Bool { places[id] != nil }

    mutating func remove(_ id: String, in batch: inout StoreBatch) {
        put(nil, of: id, in: &batch)
        guard let place = places.removeValue(forKey: id) else { return }
        batch.removeValue(for: Self.peerPrefix + "\(place.number)")
    }

    mutating func put(_ peer: StoredPeer, in batch: inout StoreBatch) {
        guard let place = place(of: peer.id) else { return }
        places[peer.id] = place
        batch.set(peer.stored(), for: Self.peerPrefix + "\(place.number)")
    }

    /// Appends the bytes that have arrived since the last call. Starts over for another value.
    mutating func put(_ download: KeyPeer.Download?, of id: String, in batch: inout StoreBatch) {
        guard download?.extent != places[id]?.extent, var place = place(of: id) else { return }
        let had = place.extent.flatMap { had in
            download.flatMap {
                had.name == $0.name && had.total == $0.total && had.count < $0.bytes.count ? had.count : nil
            }
        }
        if had == nil, !place.journal.isEmpty { place.journal.erase(in: &batch) }
        if let download { place.journal.append(download.stored(from: had ?? 0), in: &batch) }
        place.extent = download?.extent
        places[id] = place
    }

    /// Returns nil if no number is free, because as many peers are known as there are numbers.
    private func place(of id: String) -> Place? {
        if let place = places[id] { return place }
        let taken = Set(places.values.map(\.number))
        guard let number = (0..<KeyLimits.peersMax).first(where: { !taken.contains($0) }) else { return nil }
        var journal = StoreJournal(Self.piecePrefix + "\(number)")
        journal.load(leftovers)
        return Place(number: number, journal: journal)
    }
}
