#if WebSocket
    import Foundation
    import MeshBase
    import MeshResume
    import MeshResumeGateway
    import MeshTestSupport
    import MeshWebSocket
    import NIOSSL
    import Testing

    @testable import MeshGatewayServer

    /// Bytes below the level of frames that any client may send to a port.
    @Suite struct HostileSocketTests {
        private static let frames: [(what: String, bytes: [UInt8], code: UInt16)] = [
            ("no mask", RawSocket.frame(0x81, [0x7b, 0x7d], isMasked: false), 1002),
            ("a terabyte", [0x82, 0xff, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], 1009),
            ("larger than a message may be", [0x82, 0xff, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0], 1009),
            ("a ping in fragments", RawSocket.frame(0x09, []), 1002),
            ("a long ping", RawSocket.frame(0x89, Array(repeating: 0, count: 126)), 1002),
            ("a reserved operation", RawSocket.frame(0x83, []), 1002),
            ("a reserved control operation", RawSocket.frame(0x8b, []), 1002),
            ("an extension's bit", RawSocket.frame(0xc1, [0x7b, 0x7d]), 1002),
            ("the end of what never began", RawSocket.frame(0x80, []), 1002),
            ("a message within a message", RawSocket.frame(0x01, [0x7b]) + RawSocket.frame(0x81, [0x7d]), 1002),
            ("no UTF-8", RawSocket.frame(0x81, [0xff, 0xfe]), 1007),
            (
                "a message that is too large in fragments",
                RawSocket.frame(0x02, Array(repeating: 0, count: 40_000))
                    + RawSocket.frame(0x80, Array(repeating: 0, count: 40_000)), 1009
            ),
            ("binary, which was not agreed on", RawSocket.frame(0x82, [1]), 4002),
        ]

        @Test func `A client that breaks the protocol is closed with a code, and others are still served`() async throws
        {
            var settings = GatewayServerSettings()
            settings.socket.closeTimeout = .milliseconds(50)
            let server = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
            for frame in Self.frames {
                let socket = try await RawSocket(server)
                socket.send(Array(RawSocket.upgrade(server).utf8) + frame.bytes)
                let said = await socket.rest()
                #expect(RawSocket.closeCode(in: said) == frame.code, "\(frame.what)")
            }
            let (frames, _) = try await PlainClient.converse(server, PlainClient.identify("anna")) { !$0.isEmpty }
            #expect(frames.first?.t == "READY")
            #expect(await server.counts().accepted == Self.frames.count + 1)
            await server.shutDown()
        }

        @Test func `Frames that are cut anywhere don't affect other clients`() async throws {
            try await withServer { server, _ in
                let whole =
                    Array(RawSocket.upgrade(server).utf8) + RawSocket.frame(0x81, Array(PlainClient.identify("u").utf8))
                for end in stride(from: 0, to: whole.count, by: 7) {
                    let socket = try await RawSocket(server)
                    socket.send(Array(whole[..<end]))
                    socket.close()
                    _ = await socket.rest()
                }
                let (frames, _) = try await PlainClient.converse(server, PlainClient.identify("anna")) { !$0.isEmpty }
                #expect(frames.first?.t == "READY")
            }
        }

        @Test func `A connection that doesn't become a WebSocket in time is closed, and a page is refused`()
            async throws
        {
            var settings = GatewayServerSettings()
            settings.socket.upgradeTimeout = .milliseconds(100)
            let server = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
            for begun in ["", "G", String(RawSocket.upgrade(server).dropLast(2))] {
                let socket = try await RawSocket(server)
                socket.send(Array(begun.utf8))
                #expect(await socket.rest().isEmpty, "after \(begun.count) bytes")
            }
            for request in [
                "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
                RawSocket.upgrade(server).replacing("Version: 13", with: "Version: 12"), "\0\0\0\0\r\n\r\n",
                "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 20_000))\r\n\r\n",
            ] {
                let socket = try await RawSocket(server)
                socket.send(Array(request.utf8))
                let said = String(decoding: await socket.rest(), as: UTF8.self)
                #expect(!said.hasPrefix("HTTP/1.1 101"), "\(request.prefix(60))")
            }
            #expect(await server.counts().accepted == 0)
            await server.shutDown()
        }

        @Test func `A client that doesn't identify in time is closed, and may reconnect`() async throws {
            var settings = GatewayServerSettings()
            settings.connection.identifyTimeout = .milliseconds(100)
            settings.socket.closeTimeout = .milliseconds(50)
            let server = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
            let socket = try await RawSocket(server)
            socket.send(Array(RawSocket.upgrade(server).utf8))
            #expect(RawSocket.closeCode(in: await socket.rest()) == CloseCode.notAuthenticated.rawValue)
            #expect(!CloseCode.notAuthenticated.isFatal)
            await server.shutDown()
        }

        @Test func `Pages of other sites get no socket, and non-browser clients do`() async throws {
            try await withServer { server, _ in
                let own = "127.0.0.1:\(server.port)"
                for (host, headers, status) in [
                    (own, "", "101"), (own, "Origin: http://\(own)\r\n", "101"),
                    ("attacker.example:\(server.port)", "", "421"), (own, "Origin: http://attacker.example\r\n", "403"),
                    (own, "Origin: null\r\n", "403"),
                ] {
                    let socket = try await RawSocket(server)
                    let close = status == "101" ? RawSocket.frame(0x88, [3, 232]) : []
                    socket.send(Array(RawSocket.upgrade(host, headers).utf8) + close)
                    let said = String(decoding: await socket.rest().prefix(12), as: UTF8.self)
                    #expect(said == "HTTP/1.1 \(status)", "\(host) \(headers)")
                }
            }
        }

        @Test func `The last place is also for a client of a trusted proxy`() async throws {
            var settings = GatewayServerSettings()
            settings.trustedProxies = ["127.0.0.0/8"]
            settings.socket.connectionsMax = 1
            let server = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
            let socket = try await RawSocket(server)
            let head = RawSocket.upgrade("gateway.example", "X-Forwarded-For: 192.0.2.1\r\n")
            socket.send(Array(head.utf8) + RawSocket.frame(0x88, [3, 232]))
            let answer = String(decoding: await socket.rest().prefix(12), as: UTF8.self)
            #expect(answer == "HTTP/1.1 101")
            await server.shutDown()
        }

        @Test func `Clients of a trusted proxy are counted by the addresses that it reports`() async throws {
            var settings = GatewayServerSettings()
            settings.trustedProxies = ["127.0.0.0/8"]
            settings.socket.connectionsPerAddress = 1
            let server = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
            func connect(_ forwardedFor: String) async throws -> RawSocket {
                let socket = try await RawSocket(server)
                // Uses the host name under which the proxy was called.
                let head = RawSocket.upgrade("gateway.example", "X-Forwarded-For: \(forwardedFor)\r\n")
                socket.send(Array(head.utf8))
                return socket
            }
            let first = try await connect("192.0.2.1")
            while await server.counts().accepted < 1 { await Task.yield() }
            let second = try await connect("203.0.113.1, 192.0.2.1")
            #expect(!String(decoding: await second.rest(), as: UTF8.self).hasPrefix("HTTP/1.1 101"))
            let third = try await connect("192.0.2.2")
            while await server.counts().accepted < 2 { await Task.yield() }
            for socket in [first, third] { socket.close() }
            await server.shutDown()
        }

        @Test func `Only a trusted TCP proxy may name its client first`() async throws {
            var settings = GatewayServerSettings()
            settings.trustedProxies = ["127.0.0.1"]
            settings.usesProxyProtocol = true
            settings.socket.connectionsPerAddress = 1
            let server = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
            func connect(_ header: String) async throws -> RawSocket {
                let socket = try await RawSocket(server)
                socket.send(Array((header + RawSocket.upgrade("gateway.example")).utf8))
                return socket
            }
            let first = try await connect("PROXY TCP4 192.0.2.1 127.0.0.1 1 443\r\n")
            while await server.counts().accepted < 1 { await Task.yield() }
            // A second connection of the same client, one without a header, and one with half of it.
            for header in ["PROXY TCP4 192.0.2.1 127.0.0.1 2 443\r\n", "", "PROXY TCP4 192.0.2.9\r\n"] {
                let socket = try await connect(header)
                #expect(await socket.rest().isEmpty, "\(header)")
            }
            let second = try await connect("PROXY TCP6 2001:db8::1 ::1 1 443\r\n")
            while await server.counts().accepted < 2 { await Task.yield() }
            for socket in [first, second] { socket.close() }
            await server.shutDown()
        }

        @Test func `Without the setting, a proxy header is an invalid request`() async throws {
            try await withServer { server, _ in
                let socket = try await RawSocket(server)
                socket.send(Array(("PROXY TCP4 192.0.2.1 127.0.0.1 1 443\r\n" + RawSocket.upgrade(server)).utf8))
                #expect(!String(decoding: await socket.rest(), as: UTF8.self).hasPrefix("HTTP/1.1 101"))
            }
        }

        // MARK: TLS

        private static func file(_ name: String) -> String {
            Checkout.fixtures.appending(path: "Gateway/\(name)").path
        }

        /// Trusts only this certificate.
        private static func trust(_ name: String) throws -> NIOSSLContext {
            var configuration = TLSConfiguration.makeClientConfiguration()
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(file(name)))
            return try NIOSSLContext(configuration: configuration)
        }

        @Test func `Over TLS only a client that trusts the certificate connects`() async throws {
            var settings = GatewayServerSettings()
            settings.certificateFile = Self.file("gateway.pem")
            settings.keyFile = Self.file("gateway.key.pem")
            let server = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
            for host in ["127.0.0.1", "localhost"] {
                let address = try WebSocketAddress("wss://\(host):\(server.port)/")
                let socket = try await WebSocketDialer.connect(address, tls: Self.trust("gateway.pem"))
                var said: [WebSocketConnection.Incoming] = []
                await socket.read { incoming in
                    said.append(incoming)
                    socket.drop()
                }
                guard case .text(let hello) = said.first else {
                    Issue.record("\(host) said \(said)")
                    continue
                }
                #expect(try ServerFrame(json: hello).event == .hello(heartbeatInterval: 30))
            }
            let address = try WebSocketAddress("wss://127.0.0.1:\(server.port)/")
            await #expect(throws: WebSocketError.self) {
                try await WebSocketDialer.connect(address, tls: Self.trust("stranger.pem"))
            }
            await #expect(throws: WebSocketError.self) { try await WebSocketDialer.connect(address) }
            let clear = try WebSocketAddress("ws://127.0.0.1:\(server.port)/")
            await #expect(throws: WebSocketError.self) { try await WebSocketDialer.connect(clear) }
            await server.shutDown()
        }

        @Test func `A certificate with a missing or wrong key, or a missing certificate, is rejected by name`()
            async throws
        {
            for (certificate, key) in [
                ("gateway.pem", nil), (nil, "gateway.key.pem"), ("gateway.pem", "stranger.key.pem"),
                ("missing.pem", "gateway.key.pem"), ("gateway.key.pem", "gateway.pem"),
            ] as [(String?, String?)] {
                var settings = GatewayServerSettings()
                settings.certificateFile = certificate.map(Self.file)
                settings.keyFile = key.map(Self.file)
                do {
                    let server = try await GatewayServer.start(settings, app: app, buffer: MemoryReplayBuffer())
                    await server.shutDown()
                    Issue.record("\(certificate ?? "-") with \(key ?? "-") serves")
                } catch let error as WebSocketError {
                    #expect(error.code == .invalidCertificate)
                }
            }
        }
    }
#endif
