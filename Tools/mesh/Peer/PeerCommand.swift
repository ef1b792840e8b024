#if CommandLineTools
    import ArgumentParser
    import Foundation
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
                Peers that find each other share one workout. Whoever starts it invites those that are connected then; \
                who comes later joins when the starter was alone, and else watches until the next one. Of two workouts \
                that were started apart the earlier goes on.

                Keys: \(PeerKey.help). On a terminal they work at once. Otherwise they are read as characters from \
                standard input, of which the end is 'q'; with --json each change is an object on a line of its own, with \
                'change', 'message' and the state as it is then.

                With `--link udp` peers find each other on the local network and let in only those that they have been \
                paired with: see `mesh pair`. With `--link mqtts://host` paired peers meet at that broker, and with \
                `--link wss://host` at that gateway, wherever they are. With `--link unix:/path` two peers of one machine meet at a Unix socket.
                """)

        @Option(help: "How the others call this peer, as 'phone' or 'watch'.")
        var name: PeerName

        @OptionGroup var link: LinkOptions

        @Flag(help: "Shows the others a heart rate, each second a new one, as a watch would. It is made up.")
        var heartRate = false

        @Option(help: "Seconds for which one of three and more peers may be away before the others go on; 30 at least.")
        var letGo = 60

        @Flag(help: "Shows what passes, and the workout, in a browser of this machine; says at which address.")
        var inspect = false

        @OptionGroup var inspection: InspectOptions

        @Flag(help: "Says each change as a JSON object on a line of standard output.")
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
            if store == nil { output.remark("The workout is kept in memory: it ends with its last peer.") }
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

    /// What a person may call a peer. It is also the name of a folder.
    struct PeerName: Hashable, Sendable, ExpressibleByArgument {
        let value: String

        init?(argument: String) {
            let isPlain = argument.unicodeScalars.allSatisfy {
                $0.properties.isAlphabetic || $0.properties.numericType != nil || " -_.'".unicodeScalars.contains($0)
            }
            guard isPlain, (1...32).contains(argument.count), argument.first != ".", argument.utf8.count <= 128 else {
                return nil
            }
            value = argument
        }

        var deviceClass: SessionPeerDeviceClass {
            ["phone", "watch", "tablet", "desktop"].contains(value) ? .init(rawValue: value) : .unknown
        }
    }
#endif
