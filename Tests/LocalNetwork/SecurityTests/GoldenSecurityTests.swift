#if UDP
    import Crypto
    import Foundation
    import MeshBase
    import Testing

    @testable import MeshSecurity

    /// Compares the bytes that are sent with committed bytes, which a reader in Python recomputes from
    /// Docs/Internals/SecuritySpecification.md.
    ///
    /// `SESSIONMESH_UPDATE_FIXTURES=1 swift test --filter GoldenSecurityTests` rewrites the files.
    @Suite(.serialized) struct GoldenSecurityTests {
        private struct PairingCase: Codable, Equatable {
            struct Side: Codable, Equatable {
                var id: String
                var name: String
                var nonce: String
            }

            struct Message: Codable, Equatable {
                var from: String
                var bytes: String
            }

            var method: String
            var secret: String?
            var initiator: Side
            var responder: Side
            var messages: [Message]
            var code: String?
        }

        @Test func `Pairing messages have the documented bytes`() async throws {
            let secret = PairingSecret(bytes: Array(0..<16))
            let cases = [PairingExchange.Method.secret(secret), .digits].flatMap { method in
                [["Phone", "Watch"], ["日本のパソコン", String(repeating: "w", count: 64)]].enumerated().map { index, names in
                    Self.pairingCase(method, names, seed: UInt64(index))
                }
            }
            try Interop.check(cases, isIn: "pairing.json")
            _ = try await Interop.python("pairing", Interop.fixture("pairing.json").path)
        }

        private static func pairingCase(
            _ method: PairingExchange.Method, _ names: [String], seed: UInt64
        ) -> PairingCase {
            var meeting = PairingMeeting(methods: [method, method], seed: seed, names: names)
            let sides = meeting.sides.map { side in
                PairingCase.Side(
                    id: side.local.description, name: String(decoding: side.localName, as: UTF8.self),
                    nonce: side.localNonce.hex)
            }
            meeting.run()
            var text: String?
            if case .secret(let secret) = method { text = secret.text }
            return PairingCase(
                method: text == nil ? "digits" : "secret", secret: text, initiator: sides[0], responder: sides[1],
                messages: meeting.messages.map {
                    PairingCase.Message(from: $0.from == 0 ? "initiator" : "responder", bytes: $0.bytes.hex)
                }, code: meeting.codes[0])
        }

        private struct DatagramCase: Codable, Equatable {
            struct Side: Codable, Equatable {
                var id: String
                var privateKey: String
                var publicKey: String
            }

            struct Packet: Codable, Equatable {
                var from: String
                var counter: String
                var plaintext: String
                var packet: String
            }

            var initiator: Side
            var responder: Side
            var packets: [Packet]
        }

        @Test func `Sealed datagrams have the documented bytes`() async throws {
            var random = SplitMix64(seed: 5)
            func draw(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0 ... .max, using: &random) } }
            let (ids, keys) = ([PeerID.sample(1), .sample(2)], [draw(32), draw(32)])
            let sides = try (0..<2).map { side in
                DatagramCase.Side(
                    id: ids[side].description, privateKey: keys[side].hex,
                    publicKey: try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: keys[side]).publicKey
                        .rawRepresentation.hex)
            }
            let channel = try DatagramChannel(ids: ids, privateKeys: keys)
            var packets: [DatagramCase.Packet] = []
            for (name, end, other) in [
                ("initiator", channel.left, channel.right), ("responder", channel.right, channel.left),
            ] {
                for count in [0, 1, 16, 63, 64, 65, 256] {
                    let plaintext = draw(count)
                    let counter = end.datagrams.sealer.counter
                    let packet = try end.seal(plaintext)
                    #expect(try other.open(packet) == plaintext)
                    packets.append(
                        .init(from: name, counter: "\(counter)", plaintext: plaintext.hex, packet: packet.hex))
                }
            }
            try Interop.check(
                DatagramCase(initiator: sides[0], responder: sides[1], packets: packets), isIn: "datagrams.json")
            _ = try await Interop.python("datagrams", Interop.fixture("datagrams.json").path)
        }
    }
#endif
