#if UDP
    import MeshSecurity
    import NIOCore
    import NIOSSL

    /// How connections are secured: TLS 1.3 and nothing before it, a certificate from both sides, whose key is compared with
    /// what is expected. Nothing else in a certificate matters: who pinned a key needs no authority and no clock.
    ///
    /// Of a connection that resumes an earlier one the certificate is not shown again, so nobody is asked during its
    /// handshake: `peerID(of:)` is the check that counts, after every handshake. Tickets die with the context, which is made
    /// anew when somebody is unpaired.
    struct TLSPolicy {
        static let session = "sessionmesh/1"
        static let pairing = "sessionmesh-pair/1"

        let server: NIOSSLContext
        let client: NIOSSLContext

        /// - Parameter protocols: for ALPN (RFC 7301).
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

        /// - Parameter accepts: is asked on the event loop whose key the other side has; nil for one without any.
        func handler(isServer: Bool, accepts: @escaping (PeerID?) -> Bool) throws -> NIOSSLHandler {
            let verify: NIOSSLCustomVerificationCallback = { certificates, promise in
                promise.succeed(accepts(certificates.first.flatMap(Self.peerID)) ? .certificateVerified : .failed)
            }
            return isServer
                ? NIOSSLServerHandler(context: server, customVerificationCallback: verify)
                : try NIOSSLClientHandler(context: client, serverHostname: nil, customVerificationCallback: verify)
        }

        /// Whose key the other side of a connection has proven to have; nil before the handshake is over.
        static func peerID(of handler: NIOSSLHandler) -> PeerID? {
            guard handler.tlsVersion == .tlsv13 else { return nil }
            return handler.peerCertificate.flatMap(peerID)
        }

        private static func peerID(_ certificate: NIOSSLCertificate) -> PeerID? {
            (try? certificate.extractPublicKey().toSPKIBytes()).map { PeerID(publicKeyDER: $0) }
        }
    }

    extension UDPRefusal.Code {
        /// What a failed handshake was about.
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
