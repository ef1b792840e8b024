#if UDP
    import Foundation
    import MeshBus
    import SessionMesh

    /// The other process: counts what arrives, acknowledges every burst, and sends questions back. Ends with its input.
    final class DatagramSink: Sendable {
        static let command = "datagram-sink"

        private struct State {
            var end: (any DatagramEnd)?
            var count = 0
        }

        private let state = Locked(State())

        /// - Parameter arguments: `bare`, or `link` and a folder with `identity.key` and `paired.json`.
        static func run() async throws {
            let arguments = CommandLine.arguments.dropFirst(2)
            let sink = DatagramSink()
            if arguments.first == "link", let home = arguments.dropFirst().first {
                let configuration = UDPLinkConfiguration(
                    identity: try PeerIdentity(file: home + "/identity.key"),
                    trustedPeers: try TrustedPeers(file: home + "/paired.json"), address: "127.0.0.1")
                let end = try LinkEnd(configuration) { sink.received($0) }
                sink.state.withLock { $0.end = end }
                say(Int(end.link.port ?? 0))
            } else {
                let end = try await BareEnd(to: nil) { sink.received($0) }
                sink.state.withLock { $0.end = end }
                say(end.port)
            }
            _ = readLine()
            exit(0)
        }

        private static func say(_ port: Int) { FileHandle.standardOutput.write(Data("\(port)\n".utf8)) }

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
