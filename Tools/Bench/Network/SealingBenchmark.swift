#if UDP
    import MeshBenchmarks
    import MeshSecurity

    /// The cost of sealing and opening a datagram, compared with copying its bytes.
    enum SealingBenchmark {
        static let benchmarkCase = BenchmarkCase(
            id: "sealing", summary: "Sealed datagrams: time to seal one, to seal and open one, and to copy its bytes",
            run: { context in try [0, 64, 256, 1200].map { try row($0, context) } })

        private static func row(_ byteCount: Int, _ context: BenchmarkContext) throws -> BenchmarkRow {
            context.report("datagrams of \(byteCount) bytes")
            let first = DatagramKeyAgreement()
            let second = DatagramKeyAgreement()
            let publicKeys = [first.publicKey, second.publicKey]
            let peers = [PeerIdentity().peerID, PeerIdentity().peerID]
            var left = try first.agree(
                with: publicKeys[1], local: peers[0], remote: peers[1], isInitiator: true)
            var right = try second.agree(
                with: publicKeys[0], local: peers[1], remote: peers[0], isInitiator: false)
            let plaintext = [UInt8](repeating: 7, count: byteCount)
            let seal = try context.stopwatch.nanoseconds { try left.seal(plaintext) }
            let both = try context.stopwatch.nanoseconds { try right.open(left.seal(plaintext)) }
            let copy = context.stopwatch.nanoseconds { plaintext.withUnsafeBytes { Array($0) } }
            return [
                "bytes": .integer(byteCount), "sealNanoseconds": .number(seal),
                "sealAndOpenNanoseconds": .number(both), "copyNanoseconds": .number(copy),
            ]
        }
    }
#endif
