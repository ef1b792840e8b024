#if WebSocket
    import NIOHTTP1
    import Testing

    @testable import MeshWebSocket

    @Suite struct OriginPolicyTests {
        private func refusal(
            _ host: String?, origin: String? = nil, isSecure: Bool = false, allowed: Set<String> = []
        ) -> UInt? {
            var headers = HTTPHeaders()
            if let host { headers.add(name: "Host", value: host) }
            if let origin { headers.add(name: "Origin", value: origin) }
            let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: headers)
            return OriginPolicy(isSecure: isSecure, allowedOrigins: allowed).refusal(head, port: 8080)?.code
        }

        @Test(arguments: ["127.0.0.1:8080", "localhost:8080", "LOCALHOST:8080", "127.1.2.3:8080", "[::1]:8080"])
        func `A program on this machine is answered, and so is the server's own page`(host: String) {
            #expect(refusal(host) == nil)
            #expect(refusal(host, origin: "http://\(host.lowercased())") == nil)
        }

        @Test(arguments: [
            "attacker.example:8080", "attacker.example", "127.0.0.1.attacker.example:8080", "localhost.:8080",
            "127.0.0.1:8081", "127.0.0.1", "localhost:", "localhost:08080x", "", "10.0.0.1:8080", "::1:8080",
            "user@127.0.0.1:8080", "[::1]", "0.0.0.0:8080",
        ])
        func `A host name that a page can resolve to this machine is rejected`(host: String) {
            #expect(refusal(host) == 421)
        }

        @Test(arguments: [
            "http://attacker.example", "null", "", "https://127.0.0.1:8080", "http://127.0.0.1:8081",
            "http://127.0.0.1",
            "http://localhost:8080", "http://127.0.0.1:8080/", "file://", "http://127.0.0.1:8080.attacker.example",
        ])
        func `A page of another site is refused`(origin: String) {
            #expect(refusal("127.0.0.1:8080", origin: origin) == 403)
        }

        @Test func `Repeated hosts and origins, and a missing host, are rejected`() {
            func refusal(_ headers: [(String, String)]) -> UInt? {
                let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: HTTPHeaders(headers))
                return OriginPolicy().refusal(head, port: 8080)?.code
            }
            let (host, origin) = (("Host", "127.0.0.1:8080"), ("Origin", "http://127.0.0.1:8080"))
            #expect(refusal([]) == 400)
            #expect(refusal([host, host]) == 400)
            #expect(refusal([host, origin, ("Origin", "http://attacker.example")]) == 403)
        }

        @Test func `With TLS any host is accepted, and pages must be from the server's own site or a listed one`() {
            #expect(refusal("gateway.example", isSecure: true) == nil)
            for origin in ["https://gateway.example", "https://gateway.example:443"] {
                #expect(refusal("gateway.example", origin: origin, isSecure: true) == nil)
                #expect(refusal("gateway.example:443", origin: origin, isSecure: true) == nil)
            }
            #expect(refusal("gateway.example", origin: "http://gateway.example", isSecure: true) == 403)
            #expect(refusal("gateway.example", origin: "https://app.example", isSecure: true) == 403)
            for allowed in ["https://app.example", "https://App.Example:443"] {
                #expect(
                    refusal("gateway.example", origin: "https://app.example", isSecure: true, allowed: [allowed]) == nil
                )
            }
            #expect(
                refusal(
                    "gateway.example", origin: "https://app.example.attacker.example", isSecure: true,
                    allowed: ["https://app.example"]) == 403)
        }
    }
#endif
