import MeshEngine
import MeshFoundation
import MeshIdentity
import MeshSession
import MeshWire

/// An event that fills a message and may request an answer.
struct LinkMessage: Codable, Hashable, Sendable {
    /// Number of bytes of the encoded payload, as many as a raw message has.
    static let bytes = 256
    static let plain = LinkMessage(wantsAnswer: false)
    static let question = LinkMessage(wantsAnswer: true)

    var wantsAnswer: Bool
    var filler: String

    private init(wantsAnswer: Bool) {
        self.wantsAnswer = wantsAnswer
        let overhead = (try? CompactCodec().encode(LinkMessage(wantsAnswer: wantsAnswer, filler: "").padded(200)).count)
        filler = ""
        filler = padded(Self.bytes - (overhead ?? 200) + 200).filler
    }

    private init(wantsAnswer: Bool, filler: String) {
        self.wantsAnswer = wantsAnswer
        self.filler = filler
    }

    /// Adds text that compression can't shrink.
    private func padded(_ count: Int) -> LinkMessage {
        var seed: UInt64 = 1
        let letters = (0..<count).map { _ in
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Character(UnicodeScalar(UInt8(48 + seed >> 58)))
        }
        return LinkMessage(wantsAnswer: wantsAnswer, filler: String(letters))
    }
}

extension LinkMessage: WireCodable {
    enum WireKeys: Int, CodingKey {
        case wantsAnswer = 1
        case filler
    }

    func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(wantsAnswer, .wantsAnswer)
        fields.write(filler, .filler)
    }

    init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        wantsAnswer = try fields.read(.wantsAnswer)
        filler = try fields.read(.filler)
    }
}

/// The number of received messages, and of those that request an answer.
struct LinkState: Codable, Hashable, Sendable {
    var messageCount = 0
    var questionCount = 0
}

struct LinkReducer: SessionSyncReducer {
    func reduce(state: inout LinkState, event: LinkMessage, context: SessionEventContext) {
        state.messageCount += 1
        if event.wantsAnswer { state.questionCount += 1 }
    }
}

typealias LinkPolicy = AcceptingConflictPolicy<LinkState, LinkMessage>
typealias LinkEngine = SessionSyncEngine<LinkState, LinkMessage, LinkReducer, LinkPolicy>
typealias LinkSession = SyncedSession<LinkState, LinkMessage, LinkReducer, LinkPolicy>

/// The two peers, paired in advance.
enum LinkPeers {
    static let asking = peer("asking")
    static let answering = peer("answering")
    static let members = [asking, answering].map(source)
    static let sessionID = UUID(uuid: (1, 2, 3, 4, 5, 6, 0x47, 8, 0x89, 10, 11, 12, 13, 14, 15, 16))
    static let featureID = "bench"

    static func source(of peer: SessionPeer) -> SessionSource { SessionSource(peerID: peer.id, incarnation: 1) }

    static func engine(of local: SessionPeer, with peer: SessionPeer) -> LinkEngine {
        LinkEngine(
            sessionID: sessionID, featureID: featureID, localPeerID: local.id, payloadType: "\(featureID).event",
            snapshotPayloadType: "\(featureID).state", initialState: LinkState(), reducer: LinkReducer(),
            conflictPolicy: LinkPolicy(), incarnation: 1, seed: 1, members: [local, peer].map(source))
    }

    private static func peer(_ id: String) -> SessionPeer {
        SessionPeer(id: id, deviceClass: .unknown, appInstanceID: "bench", topology: .sameHost)
    }
}
