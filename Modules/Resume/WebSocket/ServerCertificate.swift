#if WebSocket
    package import NIOSSL

    package enum ServerCertificate {
        /// TLS 1.2 and newer, by PEM files: the certificate with those between it and an authority, and its key.
        /// - Returns: nil where neither is named.
        package static func context(_ certificate: String?, _ key: String?) throws(WebSocketError) -> NIOSSLContext? {
            switch (certificate, key) {
            case (nil, nil): return nil
            case (let certificate?, let key?):
                do {
                    let chain = try NIOSSLCertificate.fromPEMFile(certificate).map {
                        NIOSSLCertificateSource.certificate($0)
                    }
                    let key = try NIOSSLPrivateKey(file: key, format: .pem)
                    var configuration = TLSConfiguration.makeServerConfiguration(
                        certificateChain: chain, privateKey: .privateKey(key))
                    configuration.minimumTLSVersion = .tlsv12
                    return try NIOSSLContext(configuration: configuration)
                } catch {
                    throw WebSocketError(
                        .invalidCertificate, "no TLS with '\(certificate)' and '\(key)'", cause: error)
                }
            default: throw WebSocketError(.invalidCertificate, "a certificate and its key go together")
            }
        }
    }
#endif
