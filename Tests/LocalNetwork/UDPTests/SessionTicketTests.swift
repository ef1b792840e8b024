#if UDP
    import Foundation
    import MeshBase
    import MeshSecurity
    import MeshTestSupport
    import MeshTransport
    import NIOSSL
    import Testing

    @testable import MeshUDPTransport

    /// Python's `ssl` as the other side of TLS. It keeps the ticket of a session and resumes it on request.
    private struct PythonPeer {
        private static let script = """
            import socket, ssl, sys
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.minimum_version = ssl.TLSVersion.TLSv1_3
            context.load_cert_chain(sys.argv[2], sys.argv[3])
            context.set_alpn_protocols(['sessionmesh/1'])
            session = None
            for line in sys.stdin:
                try:
                    plain = socket.create_connection(('127.0.0.1', int(sys.argv[1])), timeout=10)
                    secure = context.wrap_socket(plain, session=session if 'resume' in line else None)
                    first = secure.recv(4096)
                    session = secure.session or session
                    print('greeted' if first else 'closed', 'resumed' if secure.session_reused else 'anew', flush=True)
                    secure.close()
                except Exception as error:
                    print('refused', 'resumed' if 'secure' in dir() and secure.session_reused else 'anew', error, flush=True)
            """

        private let program: Program

        init(port: UInt16, _ identity: PeerIdentity) throws {
            let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sessionmesh-\(UUID())")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let (certificate, key) = (
                folder.appendingPathComponent("cert.pem"), folder.appendingPathComponent("key.pem")
            )
            try Self.pem("CERTIFICATE", identity.makeCertificate()).write(
                to: certificate, atomically: true, encoding: .utf8)
            try Self.pem("PRIVATE KEY", Self.pkcs8(identity)).write(to: key, atomically: true, encoding: .utf8)
            program = try Program("python3", ["-c", Self.script, "\(port)", certificate.path, key.path])
        }

        /// Connects and returns the outcome.
        func connect(resuming: Bool) async throws -> String {
            try program.write(resuming ? "resume\n" : "connect\n")
            return await program.nextLine() ?? "nothing"
        }

        private static func pem(_ kind: String, _ bytes: [UInt8]) -> String {
            let text = Data(bytes).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
            return "-----BEGIN \(kind)-----\n\(text)\n-----END \(kind)-----\n"
        }

        private static func pkcs8(_ identity: PeerIdentity) -> [UInt8] { identity.privateKeyDER }
    }

    @Suite struct SessionTicketTests {
        @Test("An unpaired peer with a session ticket is refused; a paired one may resume")
        func ticket() async throws {
            let victim = try await Victim()
            let identity = PeerIdentity()
            try victim.phone.trust(identity.peerID)
            let peer = try PythonPeer(port: victim.port, identity)
            #expect(try await peer.connect(resuming: false).hasPrefix("greeted anew"))
            let resumed = try await peer.connect(resuming: true)
            #expect(resumed.hasPrefix("greeted resumed"), "\(resumed)")
            try victim.phone.trusted.distrust(identity.peerID)
            let refused = try await peer.connect(resuming: true)
            #expect(!refused.hasPrefix("greeted"), "\(refused)")
            try await victim.refused(.unknownPeer)
            #expect(try await victim.isUnaffected())
            await victim.close()
        }
    }
#endif
