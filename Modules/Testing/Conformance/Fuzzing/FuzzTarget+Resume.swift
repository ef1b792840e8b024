import MeshResume

extension FuzzTarget {
    /// A frame of a resumable stream, as text and as binary, from a client and from a server. A decoded client's frame must
    /// survive a round trip.
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
