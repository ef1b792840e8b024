#if UDP || MQTT || WebSocket
    import Crypto
    import X509

    public import MeshFoundation

    extension PeerIdentity {
        /// Creates a self-signed TLS certificate with a random serial number and a subject that reveals nothing. Each
        /// call creates another certificate for the same key, so peers see the same peer ID.
        ///
        /// Peers that have pinned the key ignore the dates. Other tools may check them.
        ///
        /// - Parameter validity: The duration for which the certificate is valid.
        /// - Throws: `SecurityError` with `invalidArgument` for dates that a certificate can't represent.
        /// - Returns: The certificate in DER (RFC 5280).
        public func makeCertificate(
            validFrom: Date = Date(), validity: Duration = .seconds(10 * 365 * 86_400)
        ) throws(SecurityError) -> [UInt8] {
            // Compare numbers: a `Date` made from NaN would count as within every range.
            let start = validFrom.timeIntervalSince1970
            let end = start + Double(validity.components.seconds)
            guard Self.secondsSince1970.contains(start), Self.secondsSince1970.contains(end), start <= end else {
                throw SecurityError(
                    .invalidArgument, "no certificate can be valid from \(start) to \(end) (seconds since 1970)")
            }
            do {
                let name = try DistinguishedName { CommonName("SessionMesh") }
                let certificate = try Certificate(
                    version: .v3, serialNumber: Self.serialNumber(), publicKey: .init(key.publicKey),
                    notValidBefore: validFrom, notValidAfter: Date(timeIntervalSince1970: end), issuer: name,
                    subject: name,
                    signatureAlgorithm: .ecdsaWithSHA256,
                    extensions: try Certificate.Extensions {
                        Critical(BasicConstraints.notCertificateAuthority)
                        Critical(KeyUsage(digitalSignature: true))
                        try ExtendedKeyUsage([.serverAuth, .clientAuth])
                    },
                    issuerPrivateKey: .init(key))
                // swift-certificates returns the signed content but not the signature, so sign again.
                let content = Array(certificate.tbsCertificateBytes)
                let signature = Array(try key.signature(for: content).derRepresentation)
                return DER.sequence(content + Self.ecdsaWithSHA256 + DER.bitString(signature))
            } catch {
                throw SecurityError(.invalidArgument, "the certificate couldn't be created: \(error)")
            }
        }

        /// The seconds since 1970 that a certificate can represent: from 1950 to the end of 9999.
        private static let secondsSince1970 = -631_152_000.0...253_402_300_799

        /// The AlgorithmIdentifier of 1.2.840.10045.4.3.2 (RFC 5758 section 3.2).
        private static let ecdsaWithSHA256: [UInt8] = [
            0x30, 0x0A, 0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x04, 0x03, 0x02,
        ]

        /// Returns 126 random bits in 16 bytes. The number is positive and its first byte is never zero.
        private static func serialNumber() -> Certificate.SerialNumber {
            var bytes = (0..<16).map { _ in UInt8.random(in: 0 ... .max) }
            bytes[0] = bytes[0] & 0x3F | 0x40
            return Certificate.SerialNumber(bytes: bytes)
        }
    }

    /// The two DER structures (X.690) that contain the signature.
    private enum DER {
        static func sequence(_ content: [UInt8]) -> [UInt8] { [0x30] + length(content.count) + content }
        /// Encodes a bit string of complete bytes.
        static func bitString(_ bytes: [UInt8]) -> [UInt8] { [0x03] + length(bytes.count + 1) + [0] + bytes }

        private static func length(_ count: Int) -> [UInt8] {
            if count < 0x80 { return [UInt8(count)] }
            let digits = withUnsafeBytes(of: UInt32(count).bigEndian) { Array($0.drop { $0 == 0 }) }
            return [0x80 | UInt8(digits.count)] + digits
        }
    }
#endif
