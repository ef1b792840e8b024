import Foundation
import MeshGatewayServer
import MeshGatewayTransport
import MeshMQTTTransport
import MeshResume
import MeshResumeGateway
import MeshResumeWebSocket
import MeshSQLiteStorage
import MeshSecurity
import Observation
import SessionMesh

struct Score: SessionFeature {
    static let featureID = "score"
    struct State: Codable, Sendable, Equatable { var home = 0, away = 0 }
    enum Event: Codable, Sendable { case home, away }
    let initialState = State()

    func reduce(state: inout State, event: Event, context: SessionEventContext) {
        switch event {
        case .home: state.home += 1
        case .away: state.away += 1
        }
    }
}

struct Settings: Codable, Sendable, Equatable { var volume = 5 }
struct Recipe: Codable, Sendable { var title = "" }
struct FetchRecipe: SessionRequest {
    typealias Response = Recipe
    var id: String
}
struct Recipes: Sendable { func find(_ id: String) async throws -> Recipe { Recipe() } }
struct Message: Codable, Sendable { let text: String }
struct Account: Sendable { var token: String? { get async { nil } } }

let recipes = Recipes()
let account = Account()
let message = Message(text: "")
let sessionID = UUID()
let path = "/var/lib/app/cursor"
let folder = FileManager.default.temporaryDirectory
let (library, url) = (folder, folder)
let (bytes, head): ([UInt8], [UInt8]) = ([], [])
let (phonePeer, watchPeer) = (SessionPeer.thisDevice(named: "phone"), SessionPeer.thisDevice(named: "watch"))
let peer = SessionPeer.thisDevice()
let transport = LoopbackSessionSyncTransport(localPeer: peer)
let connection = TransportConnection(transport: transport)
let store = MemoryStore()
let identity = PeerIdentity()
let peers = TrustedPeers()
let settings = GatewayServerSettings()
let buffer = MemoryReplayBuffer()
var socket: any SessionTransport { fatalError() }
var envelope: AnySessionSyncEnvelope { fatalError() }
@MainActor var game: SharedSession<Score> { fatalError() }
@MainActor var session: SessionOf<Score> { fatalError() }
func user(of token: String) async -> String? { nil }
func show(_ message: Message) {}
func show(_ message: Message, alerts: Bool) async throws {}

// As on Apple's systems, where WatchConnectivity is.
extension SessionSyncTransport where Self == WatchConnectivitySessionSyncTransport {
    static var companion: Self { fatalError() }
}
