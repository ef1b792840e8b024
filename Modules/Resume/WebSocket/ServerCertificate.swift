#if WebSocket
    import NIOCore
    package import NIOSSL

    package enum ServerCertificate {
        /// Creates a context for TLS 1.2 and newer from PEM files: the certificate, followed by intermediate ones, and
        /// its key.
        /// - Returns: nil if no file is given.
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
                        .invalidCertificate, "can't use TLS with '\(certificate)' and '\(key)'", cause: error)
                }
            default: throw WebSocketError(.invalidCertificate, "specify both a certificate and its key")
            }
        }

        /// Returns the names and addresses in a certificate (RFC 5280, 4.2.1.6), in lowercase.
        /// - Returns: Nothing if the file can't be read.
        package static func names(_ certificate: String) -> [String] {
            guard let leaf = try? NIOSSLCertificate.fromPEMFile(certificate).first else { return [] }
            return leaf._subjectAlternativeNames().compactMap { name in
                switch name.nameType {
                case .dnsName: String(decoding: name.contents, as: UTF8.self).lowercased()
                case .ipAddress:
                    try? SocketAddress(packedIPAddress: ByteBuffer(bytes: name.contents), port: 0).ipAddress
                default: nil
                }
            }
        }
    }
#endif
