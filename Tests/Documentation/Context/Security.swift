import MeshSecurity

let trustedPeers = TrustedPeers()
let watch = TrustedPeer(id: PeerID(publicKeyDER: []), name: "Watch")
func ask(_ question: String) async -> Bool { false }
