#if UDP
    import MeshSecurity
    import NIOCore
    import NIOSSL

    /// The rules for TLS: only version 1.3, and a certificate from both sides, whose key is compared with the pinned
    /// ones. Nothing else in a certificate counts, so neither an authority nor a correct clock is needed.
    ///
    /// When TLS resumes a session, the peer doesn't present its certificate again, and TLS doesn't call `accepts`. So
    /// the decisive check is `peerID(of:)` after every handshake. Tickets become invalid with the context, which is
    /// replaced when the trusted peers or guests change.
    struct TLSPolicy {
        static let session = "sessionmesh/1"
        static let pairing = "sessionmesh-pair/1"

        let server: NIOSSLContext
        let client: NIOSSLContext

        /// - Parameter protocols: The protocols for ALPN (RFC 7301).
        /// - Throws: `UDPLinkError.invalidIdentity`.
        init(_ identity: PeerIdentity, protocols: [String]) throws(UDPLinkError) {
            do {
                let certificate = try NIOSSLCertificate(bytes: identity.makeCertificate(), format: .der)
                let key = try NIOSSLPrivateKey(bytes: identity.privateKeyDER, format: .der)
                var server = TLSConfiguration.makeServerConfigurationWithMTLS(
                    certificateChain: [.certificate(certificate)], privateKey: .privateKey(key),
                    trustRoots: .certificates([]))
                Self.harden(&server, protocols)
                var client = TLSConfiguration.makeClientConfiguration()
                client.certificateChain = [.certificate(certificate)]
                client.privateKey = .privateKey(key)
                client.trustRoots = .certificates([])
                client.certificateVerification = .noHostnameVerification
                Self.harden(&client, protocols)
                self.server = try NIOSSLContext(configuration: server)
                self.client = try NIOSSLContext(configuration: client)
            } catch {
                throw UDPLinkError(.invalidIdentity, "\(error)")
            }
        }

        private static func harden(_ configuration: inout TLSConfiguration, _ protocols: [String]) {
            configuration.minimumTLSVersion = .tlsv13
            configuration.maximumTLSVersion = .tlsv13
            configuration.applicationProtocols = protocols
            configuration.shutdownTimeout = .milliseconds(500)
        }

        /// - Parameter accepts: Called on the event loop with the other side's peer ID, or nil if it has no
        ///   certificate. Returns false to refuse it.
        func handler(isServer: Bool, accepts: @escaping (PeerID?) -> Bool) throws -> NIOSSLHandler {
            let verify: NIOSSLCustomVerificationCallback = { certificates, promise in
                promise.succeed(accepts(certificates.first.flatMap(Self.peerID)) ? .certificateVerified : .failed)
            }
            return isServer
                ? NIOSSLServerHandler(context: server, customVerificationCallback: verify)
                : try NIOSSLClientHandler(context: client, serverHostname: nil, customVerificationCallback: verify)
        }

        /// The peer ID that the other side has proven; nil before the handshake is complete.
        static func peerID(of handler: NIOSSLHandler) -> PeerID? {
            guard handler.tlsVersion == .tlsv13 else { return nil }
            return handler.peerCertificate.flatMap(peerID)
        }

        private static func peerID(_ certificate: NIOSSLCertificate) -> PeerID? {
            (try? certificate.extractPublicKey().toSPKIBytes()).map { PeerID(publicKeyDER: $0) }
        }
    }

    extension UDPRefusal.Code {
        /// Derives the reason for a refusal from a failed handshake.
        init(handshake error: any Error) {
            let text = "\(error)"
            if text.contains("UNSUPPORTED_PROTOCOL") || text.contains("PROTOCOL_VERSION")
                || text.contains("VERSION_TOO_LOW")
                || text.contains("WRONG_VERSION_NUMBER")
            {
                self = .downgrade
            } else if text.contains("PEER_DID_NOT_RETURN_A_CERTIFICATE") || text.contains("CERTIFICATE_REQUIRED") {
                self = .noCertificate
            } else if text.contains("ALERT") {
                self = .refusedByPeer
            } else {
                self = .handshakeFailed
            }
        }
    }
#endif
