#if UDP
    public import MeshBase
    import MeshSecurity

    extension PayloadLimit {
        /// Maximum size of one packet on the stream of a `UDPLink`, which is one record.
        public static let udpStream = PayloadLimit(
            id: "udp.stream", bytes: RecordDecoder.bodyBytesMax,
            summary: "Packet over TLS between paired peers; a message may take several",
            source: "chosen: four records of TLS (RFC 8446 section 5.1)")

        /// Maximum size of one datagram of a `UDPLink`.
        public static let udpSealed = PayloadLimit(
            id: "udp.sealed", bytes: 1232 - SealedDatagrams.overhead,
            summary: "Sealed datagram between paired peers",
            source: "the least MTU of IPv6, 1280 (RFC 8200 section 5), less the headers of IPv6 and UDP and the seal")
    }
#endif
