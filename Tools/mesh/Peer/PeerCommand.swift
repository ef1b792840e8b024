#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshIdentity
    import MeshSession
    import MeshStorage
    import MeshToolOutput
    import MeshTransport
    import WorkoutExample

    #if Inspector
        import MeshInspector
    #endif

    struct PeerCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "peer", abstract: "Takes part in a workout, live.",
            discussion: """
                Peers that find each other share one workout. The peer that starts it invites the peers that are connected \
                then. A peer that connects later joins if the starter was alone; otherwise it watches until the next workout. \
                Of two workouts that were started apart the earlier one goes on.

                Keys: \(PeerKey.help). On a terminal they work at once. Otherwise the tool reads them as characters from \
                standard input, and its end counts as 'q'. With --json each change is one object on a line, with 'change', \
                'message' and the state at that moment.

                With `--link udp` peers find each other on the local network and accept only peers that they are paired \
                with: see `mesh pair`. With `--link mqtts://host` paired peers meet at that broker, and with \
                `--link wss://host` at that gateway, wherever they are. With `--link unix:/path` two peers of one machine meet \
                at a Unix socket.
                """)

        @Option(
            help: PeerName.help("The name that other peers show for this one, such as 'phone' or 'watch'"),
            transform: PeerName.init)
        var name: PeerName

        @OptionGroup var link: LinkOptions

        @Flag(help: "Sends the other peers a made-up heart rate each second, as a watch would send a real one.")
        var heartRate = false

        @Option(help: "Seconds after which three or more peers remove one that is away; at least 30.")
        var letGo = 60

        @Flag(help: "Serves a page with the traffic and the workout, and prints its address.")
        var inspect = false

        @OptionGroup var inspection: InspectOptions

        @Flag(help: "Prints each change as JSON: one object per line.")
        var json = false

        @MainActor
        func run() async throws {
            let output = PeerOutput(isJSON: json)
            let home = try PeerHome(name: name, folder: link.home)
            let connection = try link.connection(name: name, home: home)
            let store = try home.openStore()
            #if Inspector
                let shown = inspect ? try await PeerInspection(connection.transport, inspection) : nil
                let transport: any SessionSyncTransport = shown?.recorder ?? connection.transport
            #else
                if inspect { throw ToolError.needsInspector }
                let transport = connection.transport
            #endif
            let workout = LiveWorkout(
                name: name.value, transport: transport, store: store, membersMax: connection.membersMax
            ) { $0.memberTimeout = .seconds(max(30, letGo)) }
            let peer = LivePeer(
                workout: workout, transport: connection.transport, output: output,
                sensor: heartRate ? HeartRateSensor() : nil)
            #if Inspector
                let following = shown?.follow(workout)
                defer { following?.cancel() }
                if let shown { ToolOutput.remark("The inspector is at \(shown.inspector.address)") }
            #endif
            #if UDP || MQTT || WebSocket
                let watch = connection.followPairings(name, home: home, peer.remark)
                defer { watch.cancel() }
            #endif
            let strangers = connection.followStrangers(peer.remark)
            defer { strangers.cancel() }
            if store == nil { output.remark("The workout is only in memory. It ends when its last peer exits.") }
            let signal: Int32?
            do {
                signal = try await peer.run()
            } catch {
                throw link.explained(error)
            }
            store?.close()
            if let signal { throw ExitCode(128 + signal) }
        }
    }

    /// The name that a user gives to a peer. It is also the name of a folder.
    struct PeerName: Hashable, Sendable {
        private static let charactersMax = 32
        private static let bytesMax = 128
        private static let marks = " -_.'"

        let value: String

        /// - Throws: `ValidationError`, which says what is wrong with the name and what is allowed.
        init(_ text: String) throws {
            func demand(_ isFine: Bool, _ problem: @autoclosure () -> String) throws {
                guard isFine else { throw ValidationError(problem()) }
            }
            let allowed = "a name must have 1 to \(Self.charactersMax) letters, digits, spaces, or any of - _ . '"
            try demand(!text.isEmpty, "it is empty; \(allowed)")
            for (index, character) in text.enumerated() {
                let isFine = character.unicodeScalars.allSatisfy {
                    $0.properties.isAlphabetic || $0.properties.numericType != nil
                        || Self.marks.unicodeScalars.contains($0)
                }
                try demand(
                    isFine,
                    "character \(index + 1) is '\(String(character).printable())', which isn't allowed; \(allowed)")
            }
            try demand(
                text.count <= Self.charactersMax,
                "it has \(text.count) characters; the maximum is \(Self.charactersMax); shorten it")
            try demand(
                text.utf8.count <= Self.bytesMax,
                "it takes \(text.utf8.count) bytes; the maximum is \(Self.bytesMax); shorten it")
            try demand(
                text.first != ".", "it starts with '.', so its folder would be hidden; start with a letter")
            value = text
        }

        static func help(_ text: String) -> ArgumentHelp {
            "\(text): 1 to \(charactersMax) letters, digits, spaces, or any of - _ . '"
        }

        var deviceClass: SessionPeerDeviceClass {
            ["phone", "watch", "tablet", "desktop"].contains(value) ? .init(rawValue: value) : .unknown
        }
    }
#endif
