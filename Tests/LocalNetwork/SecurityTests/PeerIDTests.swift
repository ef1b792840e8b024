#if UDP
    import Crypto
    import Foundation
    import Testing

    @testable import MeshSecurity

    @Suite struct PeerIDTests {
        @Test func `A peer id is the SHA-256 of the public key and reads the same in every form`() throws {
            let identity = PeerIdentity()
            let id = identity.peerID
            #expect(id.bytes == Array(SHA256.hash(data: Data(identity.publicKeyDER))))
            #expect(id == PeerID(bytes: id.bytes))
            #expect(id == PeerID(id.description))
            #expect(id == PeerID(id.description.uppercased()))
            #expect(id.description == id.bytes.hex)
            #expect(try JSONDecoder().decode([PeerID].self, from: JSONEncoder().encode([id])) == [id])
        }

        @Test func `Only 32 bytes or 64 digits are a peer ID`() {
            for count in 0...70 where count != 32 { #expect(PeerID(bytes: [UInt8](repeating: 1, count: count)) == nil) }
            for count in 0...130 where count != 64 { #expect(PeerID(String(repeating: "a", count: count)) == nil) }
            let digits = PeerID.sample(1).description
            for stranger in ["g", "G", "/", ":", "@", "`", " ", "+", "-", "ä", "\0"] {
                #expect(PeerID(stranger + digits.dropFirst()) == nil, "\(stranger)")
                #expect(PeerID(digits.dropLast() + stranger) == nil, "\(stranger)")
            }
            #expect(throws: DecodingError.self) { try JSONDecoder().decode([PeerID].self, from: Data("[\"12\"]".utf8)) }
        }

        @Test func `Every bit distinguishes peer IDs, and their order is that of the bytes`() throws {
            let id = PeerID.sample(7)
            for bit in 0..<256 {
                var bytes = id.bytes
                bytes[bit / 8] ^= 0x80 >> UInt8(bit % 8)
                let other = try #require(PeerID(bytes: bytes))
                #expect(other != id)
                #expect((other < id) == other.bytes.lexicographicallyPrecedes(id.bytes))
                #expect((other < id) == (other.description < id.description))
            }
        }

        @Test func `A hint is 8 bytes that change with the label and with the peer`() {
            let id = PeerID.sample(1)
            #expect(id.hint(instance: "abc") == Array(SHA256.hash(data: id.bytes + Array("abc".utf8)).prefix(8)))
            #expect(id.hint(instance: "abc") != id.hint(instance: "abd"))
            #expect(id.hint(instance: "abc") != PeerID.sample(2).hint(instance: "abc"))
        }

        @Test func `Names are shown without deceptive characters`() {
            #expect(DeviceName.sanitized("Ada's  watch\n") == "Ada's watch")
            #expect(DeviceName.sanitized("\u{202E}hctaw\u{200B}\u{0}") == "hctaw")
            #expect(DeviceName.sanitized("👩‍👩‍👧 Grüße 日本") == "👩‍👩‍👧 Grüße 日本")
            for nothing in ["", " ", "\n\t", "\u{FEFF}", "a" + String(repeating: "\u{301}", count: 500)] {
                #expect(DeviceName.sanitized(nothing) == DeviceName.unknown)
            }
            for count in 0...80 {
                for unit in ["a", "ä", "日", "👩‍👩‍👧", " a"] {
                    let name = DeviceName.sanitized("x" + String(repeating: unit, count: count))
                    #expect(name.utf8.count <= DeviceName.bytesMax)
                    #expect(("x" + String(repeating: unit, count: count)).hasPrefix(name))
                    #expect(DeviceName.sanitized(name) == name)
                }
            }
        }
    }
#endif
