import Foundation
import MeshIdentity

/// A store that this suite fills, named by the first cell of its row in the table.
enum Budget: String, CaseIterable, Codable, Sendable {
    case earlyMessages = "Delivery · messages before their turn"
    case messageIDs = "Delivery · IDs of recent messages"
    case peers = "Delivery · remembered peers"
    case channels = "Delivery · features and outboxes of a peer"
    case owed = "Delivery · messages that a peer hasn't acknowledged"
    case unsent = "Delivery · best-effort messages for a slow connection"
    case guests = "Delivery · guests"
    case unread = "Transport · unread messages of one subscriber"
    case newest = "Transport · newest snapshots"
    case pieces = "Wire · incomplete frames on datagrams"
    case frame = "Wire · an incomplete frame on a stream"
    case sources = "Session · sources of a session"
    case gaps = "Session · events before their turn"
    case groups = "Session · groups of other peers"
    case heard = "Session · what peers hold"
    case copy = "Session · a copy that arrives"
    case shown = "Session · shown values"
    case series = "Series · series of others, and what each peer holds"
    case keys = "KeySync · keys that peers sent"
    case keyPeer = "KeySync · exchange with a peer"
    case fields = "SharedState · fields"
    case statePeers = "SharedState · what peers have seen"
    case requests = "Requests · remembered requests"
    case clocks = "Requests · clocks and slots of peers"
    case waiting = "Connection · messages for features that don't exist yet"
    case files = "FileTransfer · chunks out of order"
    case seals = "Relay · contexts and counters of a peer"
    case mailbox = "Gateway · values of a mailbox"
    case posts = "Gateway · a device's connection"
    case stream = "Gateway · a stream or queue in memory"
    case records = "Diagnostics · records"
    case entries = "Inspector · entries"

    /// - Returns: The object that holds the filled store.
    func fill() async throws -> Any {
        switch self {
        case .earlyMessages: try fillEarlyMessages()
        case .messageIDs: fillMessageIDs()
        case .peers: try fillPeers()
        case .channels: try fillChannels()
        case .owed: try fillOwed()
        case .unsent: try fillUnsent()
        case .guests: fillGuests()
        case .unread: fillUnread()
        case .newest: fillNewest()
        case .pieces: try fillPieces()
        case .frame: try fillFrame()
        case .sources: try fillSources()
        case .gaps: fillGaps()
        case .groups: fillGroups()
        case .heard: fillHeard()
        case .copy: fillCopy()
        case .shown: fillShown()
        case .series: try fillSeries()
        case .keys: fillKeys()
        case .keyPeer: fillKeyPeer()
        case .fields: try fillFields()
        case .statePeers: fillStatePeers()
        case .requests: try await fillRequests()
        case .clocks: fillClocks()
        case .waiting: fillWaiting()
        case .files: fillFiles()
        case .seals: try fillSeals()
        case .mailbox: fillMailbox()
        case .posts: fillPosts()
        case .stream: try fillStream()
        case .records: fillRecords()
        case .entries: fillEntries()
        }
    }
}

/// Returns a separately allocated text of that many bytes, different for each number.
func text(_ number: Int, bytes: Int) -> String {
    let digits = "\(number)."
    return digits + String(repeating: "n", count: max(0, bytes - digits.utf8.count))
}

/// The maximum length that any reader accepts, in bytes.
let nameBytes = 4096

func metadata(
    _ number: Int, feature: String = "workout", peer: String = "liar", type: String = "test"
) -> SessionSyncMetadata {
    SessionSyncMetadata(
        sessionID: UUID(uuid: (1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)), featureID: feature, sourcePeerID: peer,
        sequence: UInt64(number + 1), causalTimestamp: Date(timeIntervalSince1970: 1_767_225_600), payloadType: type)
}
