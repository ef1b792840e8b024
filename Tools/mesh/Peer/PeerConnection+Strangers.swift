#if CommandLineTools
    import MeshPipeTransport

    extension PeerConnection {
        private static let reportedMax = 64

        /// Reports, once each, refused connections at the socket's path with other users of this machine.
        func followStrangers(_ remark: @escaping @Sendable (String) -> Void) -> Task<Void, Never> {
            guard let refusals = (transport.link as? PipeLink)?.refusals() else { return Task {} }
            return Task {
                var reported: Set<String> = []
                for await refusal in refusals {
                    let text = "not connected: \(refusal)"
                    guard reported.count < Self.reportedMax, reported.insert(text).inserted else { continue }
                    remark(text)
                }
            }
        }
    }
#endif
