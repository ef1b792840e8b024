#if UDP
    import Foundation
    import MeshBase
    import MeshToolOutput
    import SessionMesh

    /// The second process: counts datagrams, acknowledges every burst and returns questions. Exits when its input ends.
    package final class DatagramSink: Sendable {
        package static let command = "datagram-sink"

        private struct State {
            var end: (any DatagramEnd)?
            var count = 0
        }

        private let state = Locked(State())

        /// Runs the process. The arguments are `bare`, or `link` and a folder with `identity.key` and `paired.json`.
        package static func main() async -> Never {
            ToolOutput.prepare()
            do {
                try await run(CommandLine.arguments.dropFirst(2))
                exit(EXIT_SUCCESS)
            } catch {
                ToolOutput.exit(error, message: "Error: \(error)".printable(), status: EXIT_FAILURE)
            }
        }

        private static func run(_ arguments: ArraySlice<String>) async throws {
            let sink = DatagramSink()
            if arguments.first == "link", let home = arguments.dropFirst().first {
                let configuration = UDPLinkConfiguration(
                    identity: try PeerIdentity(file: home + "/identity.key"),
                    trustedPeers: try TrustedPeers(file: home + "/paired.json"), address: "127.0.0.1")
                let end = try LinkEnd(configuration) { sink.received($0) }
                sink.state.withLock { $0.end = end }
                try ToolOutput.print("\(end.link.port ?? 0)")
            } else {
                let end = try await BareEnd(to: nil) { sink.received($0) }
                sink.state.withLock { $0.end = end }
                try ToolOutput.print("\(end.port)")
            }
            _ = readLine()
        }

        private func received(_ bytes: UnsafeRawBufferPointer) {
            switch bytes.first.flatMap(DatagramMeter.Kind.init) {
            case .counted:
                let end = state.withLock { state in
                    state.count += 1
                    return state.count % DatagramMeter.burst == 0 ? state.end : nil
                }
                end?.send([DatagramMeter.message(.burstArrived)])
            case .question: state.withLock { $0.end }?.send([DatagramMeter.message(.answer)])
            default: break
            }
        }
    }
#endif
