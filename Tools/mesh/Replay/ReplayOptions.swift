#if CommandLineTools
    public import ArgumentParser
    import Foundation
    import MeshGPX
    import MeshToolOutput
    public import WorkoutExample

    /// The options that must be the same for the replay and both peers, so that they derive the same plan.
    struct ReplayOptions: ParsableArguments {
        @Option(help: ArgumentHelp("The recording, GPX 1.0 or 1.1. Without it, a built-in run.", valueName: "file"))
        var gpx: String?

        @Option(
            help: ArgumentHelp(
                """
                Times real speed, 0.1 to 10000, or 'max'. By default 1; with --live the speed at which a recording with few \
                pauses takes half a minute. A pause of the recording lasts 5 s at speed 1.
                """, valueName: "factor"))
        var speed: ReplayPace?

        @Option(
            help: ArgumentHelp(
                """
                What joins the peers: 'pipe', 'unix:' and a path, 'udp', the local network, a broker, 'mqtt://host', or a \
                gateway, 'ws://127.0.0.1:port' or 'wss://host'.
                """, valueName: "link"))
        var link = ReplayLink.pipe

        @OptionGroup var password: BrokerPassword
        @OptionGroup var token: GatewayToken

        @Option(help: ArgumentHelp("With --link udp: the network interface, by default loopback.", valueName: "name"))
        var interface: String?

        @Option(
            help: ArgumentHelp("The codec in which peers write payloads. They read every codec.", valueName: "codec"))
        var codec = "compact"

        @Flag(help: "Both peers make every tap at the same time, without waiting for each other.")
        var concurrent = false

        @Option(help: ArgumentHelp("Seconds without progress after which a peer gives up.", valueName: "seconds"))
        var patience = 30.0

        func validate() throws {
            guard interface == nil || link == .udp else { throw ValidationError("--interface needs --link udp") }
            try password.validate(url: link.brokerURL)
            try token.validate(url: link.gatewayURL)
            guard (1...86_400).contains(patience) else {
                throw ValidationError("--patience must be from 1 to 86400 seconds, not \(patience)")
            }
        }

        var pace: ReplayPace { speed ?? .times(1) }

        /// - Parameter isSaid: True to print which parts of the recording are missing.
        /// - Throws: `GPXError`, or `ToolError` for an unknown codec or a recording without times.
        func plan(isSaid: Bool = false) throws -> ReplayPlan {
            _ = try Codecs().named(codec)
            let recording = try gpx.map { try GPXRecording(path: $0) } ?? .syntheticRun()
            if isSaid, let shortfall = recording.shortfall { ToolOutput.remark("\(gpx ?? "") \(shortfall).") }
            do {
                return try ReplayPlan(recording: recording)
            } catch {
                throw ToolError("\(gpx ?? "the recording") \(error)")
            }
        }

        /// Returns a time longer than any wait in the plan.
        func patience(for plan: ReplayPlan) -> Duration {
            let waits = zip(plan.steps, plan.steps.dropFirst()).map {
                pace.wait(from: $0.moment, to: $1.moment)
            }
            return .seconds(patience) + (waits.max() ?? .zero)
        }

        /// Returns the secrets as environment variables for a child process, which reads neither this process's standard input nor its
        /// files.
        /// - Throws: `ToolError`.
        func environment() throws(ToolError) -> [String: String] {
            var variables: [String: String] = [:]
            if link.brokerURL != nil { variables[Secrets.password] = try password.read() }
            if link.gatewayURL != nil { variables[Secrets.token] = try token.read() }
            return variables
        }

        /// The options as arguments for a child process.
        var arguments: [String] {
            let recording = gpx.map { ["--gpx", $0] } ?? []
            return recording + ["--speed", pace.defaultValueDescription, "--link", link.defaultValueDescription]
                + ["--codec", codec, "--patience", "\(patience)"] + (concurrent ? ["--concurrent"] : [])
        }
    }

    enum ReplayLink: Hashable, Sendable, ExpressibleByArgument {
        /// Standard input and output of one process, connected to those of the other.
        case pipe
        /// A Unix socket at a path where the peers meet.
        case unix(path: String)
        /// The local network, on which the peers discover each other.
        case udp
        /// An MQTT broker where the peers meet.
        case mqtt(url: String)
        /// A gateway that has mailboxes for the peers. The default token is 'replay'.
        case gateway(url: String)

        init?(argument: String) {
            if argument == "pipe" {
                self = .pipe
            } else if argument == "udp" {
                self = .udp
            } else if argument.hasPrefix("mqtt://") || argument.hasPrefix("mqtts://") {
                self = .mqtt(url: argument)
            } else if argument.hasPrefix("ws://") || argument.hasPrefix("wss://") {
                self = .gateway(url: argument)
            } else if argument.hasPrefix("unix:"), argument.count > 5 {
                self = .unix(path: String(argument.dropFirst(5)))
            } else {
                return nil
            }
        }

        var defaultValueDescription: String {
            switch self {
            case .pipe: "pipe"
            case .unix(let path): "unix:\(path)"
            case .udp: "udp"
            case .mqtt(let url), .gateway(let url): url
            }
        }

        var gatewayURL: String? { if case .gateway(let url) = self { url } else { nil } }
        var brokerURL: String? { if case .mqtt(let url) = self { url } else { nil } }

        /// True if each peer needs a home in which it is paired with the other.
        var needsHomes: Bool {
            switch self {
            case .pipe, .unix: false
            case .udp, .mqtt, .gateway: true
            }
        }

        /// True if a peer that has disconnected may return.
        var peersComeBack: Bool { self != .pipe }
    }

    extension ReplayPlan.Actor: ExpressibleByArgument {}

    extension ReplayPace: ExpressibleByArgument {
        public init?(argument: String) {
            if argument == "max" {
                self = .asFastAsPossible
            } else if let factor = Double(argument), (0.1...10_000).contains(factor) {
                self = .times(factor)
            } else {
                return nil
            }
        }

        public var defaultValueDescription: String {
            switch self {
            case .asFastAsPossible: "max"
            case .times(let factor): factor == factor.rounded() ? "\(Int(factor))" : "\(factor)"
            }
        }
    }
#endif
