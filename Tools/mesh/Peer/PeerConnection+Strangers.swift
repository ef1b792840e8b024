#if CommandLineTools
    import MeshPipeTransport

    extension PeerConnection {
        private static let toldMax = 64

        /// Reports, once each, refused connections at the socket's path with other users of this machine.
        func followStrangers(_ remark: @escaping @Sendable (String) -> Void) -> Task<Void, Never> {
            guard let refusals = (transport.link as? PipeLink)?.refusals() else { return Task {} }
            return Task {
                var told: Set<String> = []
                for await refusal in refusals {
                    let what = "not connected: \(refusal)"
                    guard told.count < Self.toldMax, told.insert(what).inserted else { continue }
                    remark(what)
                }
            }
        }
    }
#endif
