import Foundation
import MeshBase
import Testing

@testable import MeshWire

@Suite("Fragments")
struct FragmentTests {
    static func frame(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var generator = SplitMix64(seed: seed)
        let body = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return Sample.frame(kind: 5, body: body)
    }

    static let limit = PayloadLimit(id: "test", bytes: 100, summary: "", source: "")

    @Test("a frame that fits passes as it is, and one byte more is cut", arguments: PayloadLimit.known)
    func boundary(limit: PayloadLimit) throws {
        guard limit.bytes <= 65_507 else { return }
        var fragmenter = FrameFragmenter(limit: limit)
        for surplus in [-1, 0, 1] {
            let frame = Self.frame(limit.bytes - 14 + surplus)
            let datagrams = try fragmenter.fragments(of: frame)
            #expect((datagrams.count == 1) == (frame.count <= limit.bytes))
            for datagram in datagrams { #expect(datagram.count <= limit.bytes) }
            var reassembler = FrameReassembler()
            var whole: [UInt8]?
            for datagram in datagrams { whole = try reassembler.receive(datagram, now: .zero) ?? whole }
            #expect(whole == frame)
        }
    }

    @Test("pieces in any order, some twice, make the frame once", arguments: 0..<50 as Range<UInt64>)
    func shuffled(seed: UInt64) throws {
        var generator = SplitMix64(seed: seed)
        let frames = (0..<3).map { Self.frame(Int.random(in: 90...3000, using: &generator), seed: seed + UInt64($0)) }
        var fragmenter = FrameFragmenter(limit: Self.limit, firstMessage: .max)
        var datagrams = try frames.flatMap { try fragmenter.fragments(of: $0) }
        datagrams += datagrams.filter { _ in Int.random(in: 0..<4, using: &generator) == 0 }
        datagrams.shuffle(using: &generator)
        var reassembler = FrameReassembler()
        var whole: [[UInt8]] = []
        for datagram in datagrams {
            if let frame = try reassembler.receive(datagram, now: .zero) { whole.append(frame) }
        }
        for frame in frames { #expect(whole.contains(frame), "seed \(seed)") }
    }

    @Test("an incomplete frame is dropped after its timeout")
    func timeout() throws {
        var fragmenter = FrameFragmenter(limit: Self.limit)
        let datagrams = try fragmenter.fragments(of: Self.frame(500))
        var reassembler = FrameReassembler(timeout: .seconds(5))
        for datagram in datagrams.dropLast() {
            #expect(try reassembler.receive(datagram, now: .seconds(1)) == nil)
        }
        reassembler.expire(now: .seconds(6) - .nanoseconds(1))
        #expect(reassembler.heldBytes > 0)
        reassembler.expire(now: .seconds(6))
        #expect(reassembler.heldBytes == 0)
        #expect(reassembler.droppedCount == 1)
        // The last piece now starts a frame that never completes.
        #expect(try reassembler.receive(try #require(datagrams.last), now: .seconds(6)) == nil)
    }

    @Test("incomplete frames never exceed their bounds")
    func bounds() throws {
        var reassembler = FrameReassembler(framesMax: 3, bytesMax: 4000)
        for message in 0..<100 as Range<UInt32> {
            let total = 500 + Int(message) * 30
            let datagram = Self.fragment(message: message, total: total, piece: 100, index: 0, count: 100)
            #expect(try reassembler.receive(datagram, now: .zero) == nil)
            #expect(reassembler.heldBytes <= 4000)
        }
        #expect(reassembler.droppedCount >= 97)
        let huge = Self.fragment(message: 7, total: 4001, piece: 100, index: 0, count: 100)
        #expect(throws: WireError.self) { try reassembler.receive(huge, now: .zero) }
    }

    @Test("invalid pieces are rejected and change nothing")
    func impossible() throws {
        var reassembler = FrameReassembler()
        let first = Self.fragment(message: 1, total: 250, piece: 100, index: 0, count: 100)
        #expect(try reassembler.receive(first, now: .zero) == nil)
        let impossible: [[UInt8]] = [
            Self.fragment(message: 1, total: 250, piece: 100, index: 3, count: 50),
            Self.fragment(message: 1, total: 250, piece: 100, index: 2, count: 49),
            Self.fragment(message: 1, total: 250, piece: 100, index: 1, count: 101),
            Self.fragment(message: 1, total: 260, piece: 100, index: 1, count: 100),
            Self.fragment(message: 1, total: 250, piece: 50, index: 1, count: 50),
            Self.fragment(message: 2, total: 250, piece: 0, index: 0, count: 0),
            Self.fragment(message: 2, total: 250, piece: 250, index: 0, count: 250),
            Self.fragment(message: 2, total: 0, piece: 0, index: 0, count: 0),
            Self.fragment(message: 2, total: 1 << 20, piece: 1, index: 0, count: 1),
            Self.fragment(message: 2, total: 1 << 62, piece: 1 << 61, index: 0, count: 10),
            Self.fragment(message: 2, total: -1, piece: 10, index: 0, count: 10),
            Self.fragment(message: 2, total: 250, piece: 100, index: -1, count: 100),
        ]
        for (index, datagram) in impossible.enumerated() {
            #expect(throws: WireError.self, "case \(index)") { try reassembler.receive(datagram, now: .zero) }
        }
        #expect(reassembler.heldBytes == 250)
        var damaged = Self.fragment(message: 1, total: 250, piece: 100, index: 1, count: 100)
        damaged[50] ^= 4
        #expect(throws: WireError.self) { try reassembler.receive(damaged, now: .zero) }
        let rest = [
            Self.fragment(message: 1, total: 250, piece: 100, index: 2, count: 50),
            Self.fragment(message: 1, total: 250, piece: 100, index: 1, count: 100),
        ]
        #expect(try reassembler.receive(rest[0], now: .zero) == nil)
        #expect(try reassembler.receive(rest[1], now: .zero)?.count == 250)
    }

    @Test("too many pieces are refused before any is sent")
    func tooMany() {
        var fragmenter = FrameFragmenter(
            limit: PayloadLimit(id: "tiny", bytes: FrameFragmenter.datagramBytesMin, summary: "", source: ""))
        let frame = Self.frame(4096 * 32 + 1)
        var sent = 0
        #expect(throws: WireError.self) {
            try frame.withUnsafeBytes { try fragmenter.fragment($0) { _ in sent += 1 } }
        }
        #expect(sent == 0)
    }

    private static func fragment(message: UInt32, total: Int, piece: Int, index: Int, count: Int) -> [UInt8] {
        var body = WireWriter()
        body.writeVarint(UInt64(message))
        body.writeVarint(UInt64(bitPattern: Int64(total)))
        body.writeVarint(UInt64(bitPattern: Int64(piece)))
        body.writeVarint(UInt64(bitPattern: Int64(index)))
        body.writeRaw([UInt8](repeating: 9, count: count))
        return Sample.frame(kind: FrameKind.fragment.rawValue, codec: 0, body: body.array())
    }
}
