#if CommandLineTools && (UDP || MQTT || WebSocket)
    import Foundation
    import MeshSecurity
    import MeshToolOutput

    /// The peers with which a peer is paired.
    struct PairedPeers {
        private let trusted: TrustedPeers

        /// - Throws: `ToolError`.
        init(_ home: PeerHome) throws { trusted = try home.trustedPeers() }

        /// Shows or changes the list. Peers are named by their name or by the beginning of their ID.
        ///
        /// - Throws: `ToolError` if the name matches no peer, or several, or if the list can't be stored.
        func apply(_ edit: PairCommand.Edit, asJSON: Bool) throws {
            switch edit {
            case .list:
                return try show(
                    trusted.peers, reports: trusted.lossReports, revoked: trusted.revoked, asJSON,
                    empty: "Not paired with any peer.")
            case .forget(let name):
                let peer = try peer(name)
                try store { () throws(SecurityError) in try trusted.distrust(peer.id) }
                try show([peer], asJSON, title: "Forgotten:")
            case .revoke(let name):
                let peer = try peer(name)
                try store { () throws(SecurityError) in try trusted.revoke(peer.id) }
                try show([peer], asJSON, title: "Revoked. Your own devices are told when they meet this one:")
            case .confirm(let name):
                try decide(name, asJSON, title: "Revoked here:", trusted.confirm)
            case .dismiss(let name):
                try decide(name, asJSON, title: "Still paired:", trusted.dismiss)
            }
        }

        private func decide(
            _ name: String, _ asJSON: Bool, title: String, _ decide: (LossReport) throws(SecurityError) -> Bool
        ) throws {
            let peer = try peer(name)
            let reports = trusted.lossReports.filter { $0.peer.id == peer.id }
            guard !reports.isEmpty else { throw ToolError("no device reports that \(peer.name) is lost: see --list") }
            // The first confirmation drops the other reports of that peer.
            for report in reports { try store { () throws(SecurityError) in _ = try decide(report) } }
            try show([peer], asJSON, title: title)
        }

        private func peer(_ text: String) throws(ToolError) -> TrustedPeer {
            let byID = text.count >= 4 ? trusted.peers.filter { $0.id.description.hasPrefix(text.lowercased()) } : []
            let matches = byID.isEmpty ? trusted.peers.filter { $0.name == text } : byID
            guard let peer = matches.first, matches.count == 1 else {
                throw ToolError(
                    matches.isEmpty
                        ? "no paired peer is called '\(text)' or has an id that begins so: see --list"
                        : "'\(text)' means \(matches.count) paired peers: give more of the id")
            }
            return peer
        }

        private func store(_ change: () throws(SecurityError) -> Void) throws(ToolError) {
            do { try change() } catch { throw ToolError("the list of paired peers is as it was: \(error)") }
        }

        /// The listing as JSON. Scripts rely on the keys: later versions may add keys but never remove one.
        private struct Listing: Encodable {
            let peers: [Row]
            let rows: [Row]
            let reports: [Report]
            let revoked: [Revoked]
        }

        private struct Row: Encodable {
            let id: String
            let name: String
            let since: Date
            let isOwn: Bool
            let isAdministrator: Bool
        }

        private struct Report: Encodable {
            let reporter: String
            let peer: String
        }

        private struct Revoked: Encodable {
            let id: String
            let name: String
        }

        private func show(
            _ peers: [TrustedPeer], reports: [LossReport] = [], revoked: [RevokedPeer] = [], _ asJSON: Bool,
            title: String? = nil, empty: String = ""
        ) throws {
            if asJSON {
                let rows = peers.map {
                    Row(
                        id: $0.id.description, name: $0.name, since: $0.since, isOwn: $0.isOwn,
                        isAdministrator: $0.isAdministrator)
                }
                let listing = Listing(
                    peers: rows, rows: rows,
                    reports: reports.map {
                        Report(reporter: $0.reporter.id.description, peer: $0.peer.id.description)
                    },
                    revoked: revoked.map { Revoked(id: $0.id.description, name: $0.name) })
                return try ToolOutput.print(json: listing.json())
            }
            let table = Table(
                columns: ["name", "kind", "since", "id"],
                rows: peers.map { [$0.name, $0.kind, $0.since.formatted(.iso8601), $0.id.description] })
            var lines = [title, peers.isEmpty ? empty : table.text()].compactMap(\.self)
            lines += reports.map { "\($0): --confirm \($0.peer.name), or --dismiss \($0.peer.name)" }
            lines += revoked.map { "\($0.name) is revoked (\($0.id))" }
            try ToolOutput.print(lines.joined(separator: "\n"))
        }
    }

    extension TrustedPeer {
        fileprivate var kind: String { isAdministrator ? "administrator" : isOwn ? "own" : "other" }
    }
#endif
