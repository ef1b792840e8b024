#if CommandLineTools && (UDP || MQTT || WebSocket)
    import Foundation
    import MeshSecurity
    import MeshToolOutput

    /// The peers with which a peer is paired.
    struct PairedPeers {
        private let trusted: TrustedPeers

        /// - Throws: `ToolError`.
        init(_ home: PeerHome) throws { trusted = try home.trustedPeers() }

        /// The listing as JSON. Scripts rely on the keys: later versions may add keys but never remove one.
        private struct Listing: Encodable {
            let peers: [Row]
            let rows: [Row]
        }

        private struct Row: Encodable {
            let id: String
            let name: String
            let since: Date
        }

        func list(asJSON: Bool) throws {
            try show(trusted.peers, asJSON, empty: "Not paired with any peer.")
        }

        /// Removes a paired peer, named by the beginning of its ID or by its name.
        /// - Throws: `ToolError` if the text matches no paired peer, or several.
        func forget(_ text: String, asJSON: Bool) throws {
            let byID = text.count >= 4 ? trusted.peers.filter { $0.id.description.hasPrefix(text.lowercased()) } : []
            let meant = byID.isEmpty ? trusted.peers.filter { $0.name == text } : byID
            guard let peer = meant.first, meant.count == 1 else {
                throw ToolError(
                    meant.isEmpty
                        ? "no paired peer is called '\(text)' or has an id that begins so: see --list"
                        : "\(meant.count) paired peers are meant by '\(text)': give more of the id")
            }
            do {
                try trusted.distrust(peer.id)
            } catch {
                throw ToolError("\(peer.name) is still paired: \(error)")
            }
            try show([peer], asJSON, title: "Forgotten:")
        }

        private func show(_ peers: [TrustedPeer], _ asJSON: Bool, title: String? = nil, empty: String = "") throws {
            if asJSON {
                let rows = peers.map { Row(id: $0.id.description, name: $0.name, since: $0.since) }
                return try ToolOutput.print(json: Listing(peers: rows, rows: rows).json())
            }
            let table = Table(
                columns: ["name", "since", "id"],
                rows: peers.map { [$0.name, $0.since.formatted(.iso8601), $0.id.description] })
            let text = peers.isEmpty ? empty : table.text()
            try ToolOutput.print([title, text].compactMap(\.self).joined(separator: "\n"))
        }
    }
#endif
