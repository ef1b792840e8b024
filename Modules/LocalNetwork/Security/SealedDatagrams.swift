#if UDP || MQTT || WebSocket
    import Crypto

    package import MeshFoundation

    /// Encrypted datagrams between two peers, which other hosts can't read, change, forge or replay: ChaCha20-Poly1305
    /// (RFC 8439) under a key for each direction. Losses and any order are fine.
    ///
    /// A packet is the id of its key (8 bytes), a counter (8 bytes), the ciphertext and a tag (16 bytes); numbers are big-
    /// endian. Header and plaintext are authenticated. Of a bundle, which holds several messages, the lowest bit of the key's
    /// id is turned. Docs/Internals/SecuritySpecification.md has it byte by byte.
    ///
    /// Not copyable: two copies would use one nonce twice. Not safe to use from two threads at once; the two halves may be
    /// taken apart and used from one thread each. `DatagramKeyAgreement` makes one.
    @frozen public struct SealedDatagrams: ~Copyable, Sendable {
        /// The number of bytes that a packet is longer than its plaintext.
        public static let overhead = 32
        /// Maximum size of a plaintext: what fits into the largest datagram of UDP over IPv4. Networks carry about
        /// 1,200 bytes without fragmenting them.
        public static let plaintextBytesMax = 65_507 - overhead

        /// The half that sends.
        public var sealer: DatagramSealer
        /// The half that receives.
        public var opener: DatagramOpener

        init(sealer: consuming DatagramSealer, opener: consuming DatagramOpener) {
            self.sealer = sealer
            self.opener = opener
        }

        /// Begins every packet that `seal` makes.
        public var remoteKeyID: UInt64 { sealer.keyID }
        /// Begins every packet that `open` takes: the receiver finds the channel by it.
        public var localKeyID: UInt64 { opener.keyID }

        /// Returns the key ID at the start of a packet, or nil if it is too short to be one.
        public static func keyID(of packet: UnsafeRawBufferPointer) -> UInt64? {
            guard packet.count >= overhead else { return nil }
            return UInt64(bigEndian: packet.loadUnaligned(as: UInt64.self))
        }

        /// What turns a key's id into that of its bundles, and back.
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
        /// - Throws: `malformed`, `unknownKey`, `replayed`, `tooOld`, `forged`, `exhausted`. Nothing is accepted then, and
        ///   the packets still to come are judged as if this one had never been.
        public mutating func open(_ packet: UnsafeRawBufferPointer) throws(SealError) -> [UInt8] {
            try opener.open(packet)
        }

        /// Opens a packet in an array and returns its plaintext.
        public mutating func open(_ packet: [UInt8]) throws(SealError) -> [UInt8] { try opener.open(packet) }
    }

    /// The half that sends.
    public struct DatagramSealer: ~Copyable, Sendable {
        private let key: SymmetricKey
        /// The ID of the sealing key, which stands in each packet.
        public let keyID: UInt64
        /// Of the next packet. The highest number is never used.
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

        /// Writes the packet where it is sent from.
        /// - Parameter packet: room for `SealedDatagrams.overhead` bytes more than the plaintext has.
        /// - Throws: as the other `seal`.
        package mutating func seal(
            _ plaintext: UnsafeRawBufferPointer, isBundle: Bool = false, into packet: UnsafeMutableRawBufferPointer
        ) throws(SealError) {
            guard plaintext.count <= SealedDatagrams.plaintextBytesMax else { throw .oversized }
            guard counter < .max else { throw .exhausted }
            precondition(packet.count >= SealedDatagrams.overhead + plaintext.count, "room for the packet")
            let header = DatagramHeader(
                keyID: isBundle ? keyID ^ SealedDatagrams.bundleBit : keyID, counter: counter)
            // Spent whatever happens next.
            counter += 1
            do {
                try header.withBytes { header in
                    let box = try ChaChaPoly.seal(
                        plaintext, using: key, nonce: DatagramHeader.nonce(in: header), authenticating: header)
                    packet.copyMemory(from: UnsafeRawBufferPointer(rebasing: header[..<DatagramHeader.nonceOffset]))
                    // What the library calls combined is the nonce, which the header ends with, ciphertext and tag. Not
                    // `copyBytes`, which is generic and ten times as slow.
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
        /// Whether it is several messages.
        package let isBundle: Bool
    }

    /// The half that receives.
    public struct DatagramOpener: ~Copyable, Sendable {
        /// So many forgeries may be tried on one key (RFC 9147 section 4.5.3).
        static let forgeriesMax: UInt64 = 1 << 36

        private let key: SymmetricKey
        /// The ID of the key that opens packets.
        public let keyID: UInt64
        private var window = ReplayWindow()
        private(set) var forgeries: UInt64
        /// One more than the highest counter that was accepted; 0 while none was. A packet that raises it is newer than all
        /// before it.
        public var nextCounter: UInt64 { window.end }

        init(_ key: DatagramKey, forgeries: UInt64 = 0) {
            self.key = key.key
            keyID = key.id
            self.forgeries = forgeries
        }

        /// Opens a packet and returns its plaintext.
        ///
        /// - Throws: as `SealedDatagrams.open`.
        public mutating func open(_ packet: UnsafeRawBufferPointer) throws(SealError) -> [UInt8] {
            guard SealedDatagrams.keyID(of: packet) != keyID ^ SealedDatagrams.bundleBit else { throw .unknownKey }
            return try openPacket(packet).plaintext.withUnsafeBytes { Array($0) }
        }

        /// Opens a packet of one message or of several.
        /// - Throws: as `SealedDatagrams.open`.
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

    /// The first 16 bytes of a packet. The nonce is the last 12 of them: four bytes of the key's id, which tell nothing
    /// apart, and the counter, which no two packets under a key have in common.
    private struct DatagramHeader {
        static let byteCount = 16
        static let nonceOffset = 4

        let keyID: UInt64
        let counter: UInt64

        init(keyID: UInt64, counter: UInt64) {
            self.keyID = keyID
            self.counter = counter
        }

        /// - Parameter packet: at least 16 bytes.
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
