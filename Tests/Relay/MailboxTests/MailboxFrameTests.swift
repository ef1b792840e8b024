import MeshBase
import Testing

@testable import MeshMailbox

struct MailboxFrameTests {
    private static func id(_ byte: UInt8) -> MailboxID {
        MailboxID(bytes: [UInt8](repeating: byte, count: MailboxID.byteCount)) ?? MailboxID.zero
    }

    private static let requests: [MailboxRequest] = [
        .open(
            MailboxOpening(
                token: "anna", publicKey: [UInt8](repeating: 1, count: 91), signature: [UInt8](repeating: 2, count: 64),
                will: [UInt8](repeating: 3, count: 50), after: MailboxPosition(epoch: .max, sequence: 300))),
        .open(MailboxOpening(token: "", publicKey: [], signature: [], will: [])),
        .follow([]), .follow([id(1), id(2)]),
        .post(MailboxPost(number: 0, to: id(3), lane: .datagram, bytes: [])),
        .post(MailboxPost(number: .max, to: id(3), lane: .latest, key: "feature", bytes: [1, 2, 3])),
        .taken(MailboxPosition(epoch: 1, sequence: .max)), .heartbeat,
    ]

    private static let news: [MailboxServerFrame] = [
        .challenge([UInt8](repeating: 9, count: 32), heartbeat: 30_000), .opened, .following,
        .presence(of: id(4), [1, 2]), .heartbeat, .posted(7, refusal: nil), .posted(8, refusal: "no"),
        .packet(
            MailboxPacket(
                from: id(5), lane: .queue, position: MailboxPosition(epoch: 2, sequence: 3), bytes: [4, 5, 6])),
        .packet(MailboxPacket(from: id(5), lane: .latest, key: "k", bytes: [])),
    ]

    @Test(arguments: requests) func `A request is read as written; a truncated or extended one is invalid`(
        _ request: MailboxRequest
    ) throws {
        let bytes = request.bytes
        #expect(try MailboxRequest(bytes) == request)
        for count in 0..<bytes.count {
            // A request that ends in bytes of any length is still valid when it is cut there.
            if let other = try? MailboxRequest(Array(bytes[..<count])) {
                #expect(other != request && other.bytes.count == count)
            }
        }
    }

    @Test(arguments: news) func `News are read as written; truncated ones are invalid or differ`(
        _ news: MailboxServerFrame
    ) throws {
        let bytes = news.bytes
        #expect(try MailboxServerFrame(bytes) == news)
        for count in 0..<bytes.count {
            if let other = try? MailboxServerFrame(Array(bytes[..<count])) { #expect(other != news) }
        }
    }

    @Test func `Any bytes are read or rejected`() {
        var random = SplitMix64(seed: 24)
        for frame in Self.requests.map(\.bytes) + Self.news.map(\.bytes) {
            for index in frame.indices {
                for bit in 0..<8 {
                    var bytes = frame
                    bytes[index] ^= 1 << UInt8(bit)
                    if let request = try? MailboxRequest(bytes) {
                        #expect((try? MailboxRequest(request.bytes)) == request)
                    }
                    if let news = try? MailboxServerFrame(bytes) {
                        #expect((try? MailboxServerFrame(news.bytes)) == news)
                    }
                }
            }
        }
        for _ in 0..<20_000 {
            let bytes = (0..<Int(random.next() % 80)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            if let request = try? MailboxRequest(bytes) { #expect((try? MailboxRequest(request.bytes)) == request) }
            if let news = try? MailboxServerFrame(bytes) { #expect((try? MailboxServerFrame(news.bytes)) == news) }
        }
    }

    @Test func `A field that exceeds its bound is refused by name`() {
        let long = MailboxPost(
            number: 1, to: Self.id(1), lane: .queue, bytes: [UInt8](repeating: 0, count: MailboxFrame.bytesMax + 1))
        #expect(throws: MailboxError("a message has at most \(MailboxFrame.bytesMax) bytes")) {
            try MailboxRequest(MailboxRequest.post(long).bytes)
        }
        let many = (0...MailboxFrame.followedMax).map { Self.id(UInt8(truncatingIfNeeded: $0)) }
        #expect(throws: MailboxError("a device follows at most \(MailboxFrame.followedMax) others")) {
            try MailboxRequest(MailboxRequest.follow(many).bytes)
        }
        let token = MailboxOpening(
            token: String(repeating: "t", count: MailboxFrame.tokenBytesMax + 1), publicKey: [], signature: [], will: []
        )
        #expect(throws: MailboxError.self) { try MailboxRequest(MailboxRequest.open(token).bytes) }
    }

    @Test func `An id is its 32 bytes and its 64 digits`() {
        let bytes = (0..<32).map { UInt8($0 * 8 + 3) }
        let id = MailboxID(bytes: bytes)
        #expect(id?.bytes == bytes && id.flatMap { MailboxID($0.description) } == id)
        #expect(MailboxID(bytes: bytes.dropLast()) == nil && MailboxID("0f") == nil)
        #expect(MailboxID(String(repeating: "g", count: 64)) == nil)
        #expect(Self.id(1) < Self.id(2) && !(Self.id(2) < Self.id(1)) && !(Self.id(1) < Self.id(1)))
    }
}

extension MailboxID {
    fileprivate static let zero = MailboxID(String(repeating: "0", count: 64))!
}
