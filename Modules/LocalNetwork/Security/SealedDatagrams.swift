#if UDP || MQTT || WebSocket
    import Crypto

    package import MeshFoundation

    // Sealed datagrams; Docs/Internals/SecuritySpecification.md "Sealed datagrams" has every byte. Terms:
    // - seal, open: encrypt and authenticate a packet by ChaCha20-Poly1305 (RFC 8439), and the reverse.
    // - counter: the number of a packet under its key. It makes the nonce unique.
    // - window: the record of the counters accepted lately (RFC 6479). It detects replays.
    // - bundle: a packet that holds several messages.
    // `DatagramKeyAgreement` derives the keys by X25519 (RFC 7748) and HKDF (RFC 5869).

    /// A channel of encrypted datagrams between two peers. Other hosts can't read, change, forge or replay them.
    /// Packets may be lost or reordered. Each direction has its own key.
    ///
    /// A packet consists of its key's ID (8 bytes), a counter (8 bytes), the ciphertext and a tag (16 bytes). Numbers
    /// are big-endian. The header is authenticated too. If a packet holds several messages (a bundle), the lowest bit
    /// of its key ID is flipped.
    ///
    /// The channel can't be copied: two copies would use a nonce twice. Don't use it from two threads at once. You can
    /// separate its two halves and use each of them on one thread. `DatagramKeyAgreement` creates the channel.
    @frozen public struct SealedDatagrams: ~Copyable, Sendable {
        /// The number of bytes that a packet has in addition to its plaintext.
        public static let overhead = 32
        /// Maximum size of a plaintext: it fits the largest UDP datagram over IPv4. Networks carry about 1,200 bytes
        /// without fragmentation.
        public static let plaintextBytesMax = 65_507 - overhead

        /// The half that seals datagrams to send.
        public var sealer: DatagramSealer
        /// The half that opens received datagrams.
        public var opener: DatagramOpener

        init(sealer: consuming DatagramSealer, opener: consuming DatagramOpener) {
            self.sealer = sealer
            self.opener = opener
        }

        /// The ID at the start of every packet that `seal` makes.
        public var remoteKeyID: UInt64 { sealer.keyID }
        /// The ID at the start of every packet that `open` accepts. A receiver finds the channel by it.
        public var localKeyID: UInt64 { opener.keyID }

        /// Returns the key ID at the start of a packet, or nil if it is too short to be one.
        public static func keyID(of packet: UnsafeRawBufferPointer) -> UInt64? {
            guard packet.count >= overhead else { return nil }
            return UInt64(bigEndian: packet.loadUnaligned(as: UInt64.self))
        }

        /// The bit in which a key's ID and the ID of its bundles differ.
        package static let bundleBit: UInt64 = 1

        /// Seals a plaintext as one packet.
        ///
        /// - Throws: `oversized`, `exhausted`.
        public mutating func seal(_ plaintext: UnsafeRawBufferPointer) throws(SealError) -> [UInt8] {
            try sealer.seal(plaintext)
        }

        /// Seals a plaintext in an array as one packet.
        ///
        /// - Throws: `oversized`, `exhausted`.
        public mutating func seal(_ plaintext: [UInt8]) throws(SealError) -> [UInt8] { try sealer.seal(plaintext) }

        /// Opens a packet and returns its plaintext.
        ///
        /// - Throws: `malformed`, `unknownKey`, `replayed`, `tooOld`, `forged`, `exhausted`. A rejected packet doesn't
        ///   affect later ones.
        public mutating func open(_ packet: UnsafeRawBufferPointer) throws(SealError) -> [UInt8] {
            try opener.open(packet)
        }

        /// Opens a packet in an array and returns its plaintext.
        public mutating func open(_ packet: [UInt8]) throws(SealError) -> [UInt8] { try opener.open(packet) }
    }

    /// The sending half of a channel.
    public struct DatagramSealer: ~Copyable, Sendable {
        private let key: SymmetricKey
        /// The ID of the sealing key, which is in every packet.
        public let keyID: UInt64
        /// The counter of the next packet. The highest value is never used.
        private(set) var counter: UInt64

        init(_ key: DatagramKey, counter: UInt64 = 0) {
            self.key = key.key
            keyID = key.id
            self.counter = counter
        }

        /// Seals a plaintext as one packet.
        ///
        /// - Throws: `oversized` for more than `SealedDatagrams.plaintextBytesMax`; `exhausted` after 2^64 - 1 packets.
        public mutating func seal(_ plaintext: UnsafeRawBufferPointer) throws(SealError) -> [UInt8] {
            var failure: SealError?
            let count = SealedDatagrams.overhead + plaintext.count
            let packet = [UInt8](unsafeUninitializedCapacity: count) { packet, initialized in
                do throws(SealError) {
                    try seal(plaintext, into: UnsafeMutableRawBufferPointer(packet))
                    initialized = count
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            return packet
        }

        /// Writes a packet directly into a buffer.
        /// - Parameter packet: A buffer with at least `SealedDatagrams.overhead` bytes more than the plaintext.
        /// - Throws: `SealError`, like the other `seal`.
        package mutating func seal(
            _ plaintext: UnsafeRawBufferPointer, isBundle: Bool = false, into packet: UnsafeMutableRawBufferPointer
        ) throws(SealError) {
            guard plaintext.count <= SealedDatagrams.plaintextBytesMax else { throw .oversized }
            guard counter < .max else { throw .exhausted }
            precondition(
                packet.count >= SealedDatagrams.overhead + plaintext.count, "the buffer is too small for the packet")
            let header = DatagramHeader(
                keyID: isBundle ? keyID ^ SealedDatagrams.bundleBit : keyID, counter: counter)
            // Use up the counter even if sealing fails.
            counter += 1
            do {
                try header.withBytes { header in
                    let box = try ChaChaPoly.seal(
                        plaintext, using: key, nonce: DatagramHeader.nonce(in: header), authenticating: header)
                    packet.copyMemory(from: UnsafeRawBufferPointer(rebasing: header[..<DatagramHeader.nonceOffset]))
                    // The library's `combined` is nonce, ciphertext and tag, and our header ends with the nonce. The
                    // generic `copyBytes` would take ten times as long.
                    box.combined.withUnsafeBytes { combined in
                        UnsafeMutableRawBufferPointer(rebasing: packet[DatagramHeader.nonceOffset...])
                            .copyMemory(from: combined)
                    }
                }
            } catch {
                throw .exhausted
            }
        }

        /// Seals a plaintext in an array as one packet.
        public mutating func seal(_ plaintext: [UInt8]) throws(SealError) -> [UInt8] {
            try plaintext.withUnsafeBufferPointer { bytes throws(SealError) in try seal(UnsafeRawBufferPointer(bytes)) }
        }
    }

    /// The content of a packet.
    package struct OpenedDatagram: Sendable {
        package let plaintext: Data
        /// True if the packet contains several messages.
        package let isBundle: Bool
    }

    /// The receiving half of a channel.
    public struct DatagramOpener: ~Copyable, Sendable {
        /// Maximum number of forged packets per key (RFC 9147 section 4.5.3).
        static let forgeriesMax: UInt64 = 1 << 36

        private let key: SymmetricKey
        /// The ID of the key that opens packets.
        public let keyID: UInt64
        private var window = ReplayWindow()
        private(set) var forgeries: UInt64
        /// The highest accepted counter plus 1; 0 at first. A packet that raises it is newer than all before.
        public var nextCounter: UInt64 { window.end }

        init(_ key: DatagramKey, forgeries: UInt64 = 0) {
            self.key = key.key
            keyID = key.id
            self.forgeries = forgeries
        }

        /// Opens a packet and returns its plaintext.
        ///
        /// - Throws: `SealError`, like `SealedDatagrams.open`. A bundle is an `unknownKey` here.
        public mutating func open(_ packet: UnsafeRawBufferPointer) throws(SealError) -> [UInt8] {
            guard SealedDatagrams.keyID(of: packet) != keyID ^ SealedDatagrams.bundleBit else { throw .unknownKey }
            return try openPacket(packet).plaintext.withUnsafeBytes { Array($0) }
        }

        /// Opens a packet that contains one message or several.
        /// - Throws: `SealError`, like `SealedDatagrams.open`.
        package mutating func openPacket(
            _ packet: UnsafeRawBufferPointer
        ) throws(SealError) -> OpenedDatagram {
            let lengths = SealedDatagrams.overhead...SealedDatagrams.overhead + SealedDatagrams.plaintextBytesMax
            guard lengths.contains(packet.count) else { throw .malformed }
            let header = DatagramHeader(packet)
            let isBundle = header.keyID == keyID ^ SealedDatagrams.bundleBit
            guard isBundle || header.keyID == keyID else { throw .unknownKey }
            guard header.counter < .max else { throw .malformed }
            switch window.verdict(on: header.counter) {
            case .fresh: break
            case .seen: throw .replayed
            case .tooOld: throw .tooOld
            }
            guard forgeries < Self.forgeriesMax else { throw .exhausted }
            guard let plaintext = decrypted(packet) else {
                forgeries += 1
                throw .forged
            }
            window.insert(header.counter)
            return OpenedDatagram(plaintext: plaintext, isBundle: isBundle)
        }

        /// Opens a packet in an array and returns its plaintext.
        public mutating func open(_ packet: [UInt8]) throws(SealError) -> [UInt8] {
            try packet.withUnsafeBufferPointer { bytes throws(SealError) in try open(UnsafeRawBufferPointer(bytes)) }
        }

        private func decrypted(_ packet: UnsafeRawBufferPointer) -> Data? {
            let combined = UnsafeRawBufferPointer(rebasing: packet[DatagramHeader.nonceOffset...])
            let header = UnsafeRawBufferPointer(rebasing: packet[..<DatagramHeader.byteCount])
            guard let box = try? ChaChaPoly.SealedBox(combined: combined) else { return nil }
            return try? ChaChaPoly.open(box, using: key, authenticating: header)
        }
    }

    /// The first 16 bytes of a packet. The last 12 of them are the nonce: four bytes of the key's ID, and the counter,
    /// which is unique per key.
    private struct DatagramHeader {
        static let byteCount = 16
        static let nonceOffset = 4

        let keyID: UInt64
        let counter: UInt64

        init(keyID: UInt64, counter: UInt64) {
            self.keyID = keyID
            self.counter = counter
        }

        /// - Parameter packet: At least 16 bytes.
        init(_ packet: UnsafeRawBufferPointer) {
            keyID = UInt64(bigEndian: packet.loadUnaligned(as: UInt64.self))
            counter = UInt64(bigEndian: packet.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
        }

        func withBytes<Result>(_ body: (UnsafeRawBufferPointer) throws -> Result) rethrows -> Result {
            try withUnsafeBytes(of: (keyID.bigEndian, counter.bigEndian), body)
        }

        static func nonce(in header: UnsafeRawBufferPointer) throws -> ChaChaPoly.Nonce {
            try ChaChaPoly.Nonce(data: UnsafeRawBufferPointer(rebasing: header[nonceOffset...]))
        }
    }
#endif
