#if CommandLineTools && (UDP || MQTT || WebSocket)
    import Foundation
    import MeshSecurity
    import MeshToolOutput

    extension PeerHome {
        /// - Throws: `ToolError`.
        func identity() throws -> PeerIdentity {
            do {
                return try PeerIdentity(file: folder.appending(path: "identity.key").path)
            } catch {
                throw ToolError("the identity in \(folder.path): \(error)")
            }
        }

        /// - Throws: `ToolError`.
        func trustedPeers() throws -> TrustedPeers {
            do {
                return try TrustedPeers(file: folder.appending(path: "paired.json").path)
            } catch {
                throw ToolError("the paired peers in \(folder.path): \(error)")
            }
        }
    }
#endif
