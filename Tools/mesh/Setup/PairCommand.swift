#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshToolOutput

    #if UDP || MQTT
        import MeshSecurity
    #endif

    struct PairCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "pair", abstract: "Pairs two peers, once and for good.",
            discussion: """
                Run it for both peers within a minute, on one network. Each shows six digits; answer yes on both if they are \
                the same. You compare the digits and never type them, so an attacker between the two has one chance in a \
                million.

                Without a person on both sides use a secret: `--new-secret` prints one. Give it to the other peer in a file, \
                or on standard input with `--secret-file -`.

                A device of yours was lost: `--revoke` it on another one that you paired with `--own`. Your other devices show the \
                report; `--confirm` it there. Pairing the device again undoes that.

                With `--link mqtts://host` they meet at a broker, wherever they are, and always pair by a secret. The broker \
                does not learn it.

                Exit status: 0 paired, 1 not paired, 130 interrupted, 141 not paired because the reader of the output has \
                gone.
                """)

        @Option(help: PeerName.help("The name of this peer, which the other one shows"), transform: PeerName.init)
        var name: PeerName

        @Option(help: Secrets.help("The secret that the other peer shows", Secrets.pairing))
        var secretFile: String?

        @Flag(help: "Prints a new secret, and waits for the peer that gets it.")
        var newSecret = false

        @Option(
            help: ArgumentHelp(
                "Where they meet: 'udp', the local network; or a broker, 'mqtt://host' or 'mqtts://host'.",
                valueName: "link"))
        var link = PeerLink.udp

        @OptionGroup var broker: BrokerOptions
        @OptionGroup var network: NetworkOptions

        @Option(
            help: ArgumentHelp(
                "The folder of identity and pairings; by default ~/.config/sessionmesh/NAME.", valueName: "folder"))
        var home: String?

        @Flag(help: "Lists the peers that this peer is paired with.")
        var list = false

        @Flag(help: "The other peer is your own device: your sessions admit it, and you learn of losses from it.")
        var own = false

        @Flag(help: "If the other peer reports a lost device, nobody confirms that here. At most four such peers.")
        var administrator = false

        @Option(help: ArgumentHelp("Forgets a peer: its name, or the beginning of its id.", valueName: "peer"))
        var forget: String?

        @Option(help: ArgumentHelp("Revokes a lost peer, and reports that to your own devices.", valueName: "peer"))
        var revoke: String?

        @Option(help: ArgumentHelp("Confirms the reports that a peer is lost, and revokes it here.", valueName: "peer"))
        var confirm: String?

        @Option(help: ArgumentHelp("Drops the reports that a peer is lost.", valueName: "peer"))
        var dismiss: String?

        @Flag(help: "Prints JSON, one object a line: 'change' is secret, waiting, compare, paired or failed.")
        var json = false

        /// A listing or a change of the paired peers, without pairing.
        enum Edit {
            case list
            case forget(String)
            case revoke(String)
            case confirm(String)
            case dismiss(String)
        }

        private var edits: [Edit] {
            let named = [
                forget.map(Edit.forget), revoke.map(Edit.revoke), confirm.map(Edit.confirm), dismiss.map(Edit.dismiss),
            ]
            return (list ? [.list] : []) + named.compactMap(\.self)
        }

        func validate() throws {
            let edits = edits
            guard [secretFile != nil, newSecret].count(where: \.self) + edits.count <= 1 else {
                throw ValidationError(
                    "only one of --secret-file, --new-secret, --list, --forget, --revoke, --confirm and --dismiss")
            }
            guard edits.isEmpty || !(own || administrator) else {
                throw ValidationError("--own and --administrator are for pairing: pair again to change them")
            }
            guard network.peer.count <= 1 else { throw ValidationError("a peer is paired with one at a time") }
            try broker.validate(for: link)
            if case .unix = link { throw ValidationError("peers at a socket need no pairing") }
            if link.isGateway {
                throw ValidationError(
                    "peers can't pair at a gateway: pair on the local network or at a broker, and meet at the gateway then"
                )
            }
            guard case .mqtt = link else { return }
            guard !network.isGiven else { throw ValidationError("--interface, --peer and --port are for --link udp") }
            let isInEnvironment = ProcessInfo.processInfo.environment[Secrets.pairing] != nil
            guard secretFile != nil || isInEnvironment || newSecret || !edits.isEmpty else {
                throw ValidationError(
                    "at a broker peers pair by a secret: --new-secret on one, --secret-file on the other")
            }
        }

        func run() async throws {
            #if UDP || MQTT
                let home = try PeerHome(name: name, folder: home, isLive: false)
                guard let edit = edits.first else { return try await pair(home) }
                try PairedPeers(home).apply(edit, asJSON: json)
            #else
                throw ToolError.needsUDP
            #endif
        }
    }

    #if UDP || MQTT
        extension PairCommand {
            private func pair(_ home: PeerHome) async throws {
                let report = PairReport(isJSON: json)
                let window = try window(home, method: try method(report))
                let closed = Locked<OutputError?>(nil)
                let pairing = Task {
                    try await window.run { code in
                        do throws(OutputError) {
                            return try await report.compare(code)
                        } catch {
                            closed.withLock { $0 = error }
                            return false
                        }
                    }
                }
                let interruption = Locked<Int32?>(nil)
                let signals = await SignalWatch([SIGINT, SIGTERM, SIGHUP]) { number in
                    interruption.withLock { $0 = number }
                    pairing.cancel()
                }
                defer { signals.cancel() }
                let waiting = Task {
                    do {
                        try await report.wait(for: window)
                    } catch let error as OutputError {
                        closed.withLock { $0 = error }
                        pairing.cancel()
                    } catch {}
                }
                defer { waiting.cancel() }
                do {
                    report.paired(try await pairing.value)
                } catch {
                    if let number = interruption.withLock({ $0 }) { throw ExitCode(128 + number) }
                    if let closed = closed.withLock({ $0 }) { throw closed }
                    throw report.failed(error)
                }
            }

            /// - Throws: `ToolError`.
            private func window(_ home: PeerHome, method: PairingExchange.Method) throws -> PairingWindow {
                switch (link, method) {
                case (.mqtt(let url), .secret(let secret)):
                    #if MQTT
                        return try PairingWindow(
                            broker.broker(at: url), name, home: home, secret: secret, isOwn: own,
                            isAdministrator: administrator)
                    #else
                        throw ToolError.needsMQTT
                    #endif
                default:
                    #if UDP
                        return PairingWindow(
                            try network.network.pairing(
                                name, home: home, method: method, isOwn: own, isAdministrator: administrator))
                    #else
                        throw ToolError.needsUDP
                    #endif
                }
            }

            /// - Throws: `ToolError`.
            private func method(_ report: PairReport) throws -> PairingExchange.Method {
                if newSecret {
                    let secret = PairingSecret()
                    try report.show(secret)
                    return .secret(secret)
                }
                guard let text = try Secrets.read(file: secretFile, variable: Secrets.pairing) else {
                    guard isatty(STDIN_FILENO) == 1 else {
                        throw ToolError(
                            "digits are compared by a person at a terminal; scripts use --new-secret and --secret-file")
                    }
                    return .digits
                }
                guard let known = PairingSecret(text) else {
                    throw ToolError(
                        "that is no secret, or it has a typing error: compare it with what the other peer shows")
                }
                return .secret(known)
            }
        }
    #endif
#endif
