import MeshResume

extension FuzzTarget {
    /// A target for frames of a resumable stream, text and binary, from a client and from a server. A client's decoded
    /// frame must survive a round trip.
    static var resume: FuzzTarget {
        FuzzTarget("resume") { input in
            for encoding in FrameEncoding.allCases {
                _ = try? ServerFrame(input, as: encoding).payload(as: [String: Int].self)
                guard let frame = try? ClientFrame(input, as: encoding) else { continue }
                let written = try? frame.encoded(as: encoding)
                let again = written.flatMap { try? ClientFrame($0, as: encoding) }
                try require(again == frame, "a client's \(encoding.rawValue) frame survives a round trip")
            }
        }
    }
}
