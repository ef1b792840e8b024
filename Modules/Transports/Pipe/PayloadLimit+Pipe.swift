public import MeshBase

extension PayloadLimit {
    /// Maximum size of one packet over a pipe.
    public static let pipePacket = PayloadLimit(
        id: "pipe.packet", bytes: 1 << 20, summary: "Packet over a pipe or a Unix socket; a message may take several",
        source: "chosen: the largest frame of FrameLimits")
}
