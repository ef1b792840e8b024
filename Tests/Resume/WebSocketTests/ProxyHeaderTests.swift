#if WebSocket
    import MeshBase
    import Testing

    @testable import MeshWebSocket

    @Suite struct ProxyHeaderTests {
        /// Returns a version 2 header with these fields.
        private static func binary(command: UInt8 = 1, family: UInt8, _ fields: [UInt8]) -> [UInt8] {
            [13, 10, 13, 10, 0, 13, 10, 81, 85, 73, 84, 10, 0x20 | command, family]
                + [UInt8(fields.count >> 8), UInt8(fields.count & 255)] + fields
        }

        private static let v4: [UInt8] = [192, 0, 2, 1, 198, 51, 100, 7, 0x1f, 0x90, 1, 187]
        private static let v6: [UInt8] =
            [0x20, 1, 0xd, 0xb8] + Array(repeating: 0, count: 11) + [9] + Array(repeating: 7, count: 16) + [1, 2, 3, 4]

        private static let headers: [(bytes: [UInt8], client: String?)] = [
            (Array("PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n".utf8), "192.0.2.1"),
            (Array("PROXY TCP6 2001:db8::9 ::1 1 65535\r\n".utf8), "2001:db8::9"),
            (Array("PROXY UNKNOWN\r\n".utf8), nil),
            (Array("PROXY UNKNOWN ffff::1 ::1 65535 65535\r\n".utf8), nil),
            (binary(family: 0x11, v4), "192.0.2.1"),
            // With an additional field.
            (binary(family: 0x11, v4 + [4, 0, 1, 0]), "192.0.2.1"),
            (binary(family: 0x21, v6), "2001:db8:0:0:0:0:0:9"),
            (binary(family: 0x31, Array(repeating: 0, count: 216)), nil),
            (binary(family: 0, []), nil),
            (binary(command: 0, family: 0x11, v4), nil),
        ]

        @Test func `Every header is read whole, in pieces, and before other bytes`() throws {
            for (bytes, client) in Self.headers {
                for end in bytes.indices { #expect(try ProxyHeader.read(Array(bytes[..<end])) == nil) }
                let header = ProxyHeader(client: client, byteCount: bytes.count)
                #expect(try ProxyHeader.read(bytes) == header)
                #expect(try ProxyHeader.read(bytes + Array("GET / HTTP/1.1\r\n".utf8)) == header)
            }
        }

        @Test func `An invalid header is refused as soon as it is recognized`() {
            let long = Array("PROXY TCP4 ".utf8) + Array(repeating: UInt8(ascii: "1"), count: 200)
            let refused: [[UInt8]] = [
                Array("GET / HTTP/1.1\r\n\r\n".utf8), [0x16, 3, 1], Array("PROXZ".utf8), long,
                Array("PROXY \n".utf8), Array("PROXY \r\n".utf8), Array("PROXY TCP4 192.0.2.1 198.51.100.7 1\r\n".utf8),
                Array("PROXY TCP4 ::1 ::2 1 2\r\n".utf8), Array("PROXY TCP4 x.y x.z 1 2\r\n".utf8),
                Array("PROXY TCP4 192.0.2.1 198.51.100.7 1 65536\r\n".utf8),
                Array("PROXY UDP4 192.0.2.1 198.51.100.7 1 2\r\n".utf8),
                Self.binary(command: 2, family: 0x11, Self.v4), Self.binary(family: 0x11, Array(Self.v4.dropLast())),
                Self.binary(family: 0x21, Self.v4), Self.binary(family: 0x41, Self.v4),
                Self.binary(family: 0x11, Array(repeating: 0, count: ProxyHeader.fieldBytesMax + 1)),
            ]
            for bytes in refused {
                #expect(throws: ProxyHeader.Malformed.self, "\(bytes.prefix(40))") { try ProxyHeader.read(bytes) }
            }
        }

        @Test func `No bytes trap or make it wait beyond its bound`() {
            var random = SplitMix64(seed: 53)
            for (bytes, _) in Self.headers {
                for _ in 0..<2000 {
                    var changed = bytes
                    for _ in 0...Int(random.next() % 3) {
                        changed[Int(random.next() % UInt64(changed.count))] = UInt8(truncatingIfNeeded: random.next())
                    }
                    _ = try? ProxyHeader.read(changed)
                    let filled = changed + Array(repeating: 0, count: ProxyHeader.fieldBytesMax + 16)
                    let needsMore = (try? ProxyHeader.read(filled) == nil) ?? false
                    #expect(!needsMore, "\(changed)")
                }
            }
        }
    }
#endif
