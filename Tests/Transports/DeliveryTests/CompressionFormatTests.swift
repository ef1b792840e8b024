import MeshBase
import MeshIdentity
import MeshStorage
import MeshTestSupport
import MeshTesting
import MeshTransport
import MeshWire
import Testing

@testable import MeshDelivery

/// A preferred compression format between two transports.
@Suite struct CompressionFormatTests {
    private static func configuration(_ policy: CompressionPolicy) -> DeliveryConfiguration {
        var configuration = DeliveryConfiguration()
        configuration.compression = policy
        return configuration
    }

    private static let plain = configuration(.zlib())

    private static func preferring(_ dictionary: CompressionDictionary? = nil) -> DeliveryConfiguration {
        configuration(.zlib().preferring(TestFormat(), dictionary: dictionary))
    }

    /// Two connected transports. The packets so far aren't recorded.
    private static func pair(
        _ left: DeliveryConfiguration, _ right: DeliveryConfiguration, _ lanes: [LinkLane: PayloadLimit]
    ) throws -> Pair {
        let pair = try Pair(MemoryWire(lanes: lanes), configuration: left, rightConfiguration: right)
        pair.wire.connect()
        pair.settle()
        _ = pair.wire.takeSent()
        return pair
    }

    private static let text = letters(4000)

    /// Random letters, which shrink, but not beyond the limit of readers.
    private static func letters(_ count: Int) -> String {
        var random = SplitMix64(seed: 3)
        return String(decoding: (0..<count).map { _ in UInt8(97 + random.next() % 16) }, as: UTF8.self)
    }

    /// Sends a message each way and returns the ends that have used the format.
    private static func ends(_ pair: Pair) async throws -> Set<LinkAddress> {
        let logs = [Log(pair.left.receiveEnvelopes()), Log(pair.right.receiveEnvelopes())]
        try await pair.left.send(envelope(1, text: text), mode: .reliableEventually, to: nil)
        try await pair.right.send(envelope(1, text: text, from: "right"), mode: .reliableEventually, to: nil)
        pair.settle()
        for log in logs { #expect(await log.sequences(1) == [1]) }
        // The flags of the packet's first frame.
        return Set(pair.wire.takeSent().filter { $0.packet.bytes[4] & 0x40 != 0 }.map(\.from))
    }

    @Test(arguments: [LinkLane.stream, .datagram])
    func `Peers that both prefer the format use it, and otherwise neither does`(lane: LinkLane) async throws {
        let lanes = [lane: PayloadLimit.deliveryMessage]
        let (with, without) = (Self.preferring(), Self.plain)
        #expect(try await Self.ends(Self.pair(with, with, lanes)) == ["left", "right"])
        #expect(try await Self.ends(Self.pair(with, without, lanes)) == [])
        #expect(try await Self.ends(Self.pair(without, with, lanes)) == [])
        #expect(try await Self.ends(Self.pair(without, without, lanes)) == [])
    }

    @Test func `Peers with different dictionaries of the format use the other compression`() async throws {
        let lanes = [LinkLane.stream: PayloadLimit.deliveryMessage]
        let one = Self.preferring(try CompressionDictionary(Array("one dictionary".utf8)))
        let other = Self.preferring(try CompressionDictionary(Array("another dictionary".utf8)))
        #expect(try await Self.ends(Self.pair(one, one, lanes)) == ["left", "right"])
        #expect(try await Self.ends(Self.pair(one, other, lanes)) == [])
        // Each side of this pair reads the other's format, but only one side's dictionary is common.
        #expect(try await Self.ends(Self.pair(one, Self.preferring(), lanes)) == ["right"])
    }

    @Test(arguments: [LinkLane.stream, .datagram])
    func `A dictionary of one's own is used only between peers that both have it`(lane: LinkLane) async throws {
        let lanes = [lane: PayloadLimit.deliveryMessage]
        let dictionary = try CompressionDictionary(Array("a dictionary of one's own".utf8))
        let id = (0..<4).map { UInt8(truncatingIfNeeded: dictionary.id >> (8 * $0)) }
        let with = Self.configuration(.dictionary(dictionary))
        func ends(_ right: DeliveryConfiguration) async throws -> Set<LinkAddress> {
            let pair = try Self.pair(with, right, lanes)
            let logs = [Log(pair.left.receiveEnvelopes()), Log(pair.right.receiveEnvelopes())]
            try await pair.left.send(envelope(1, text: Self.text), mode: .reliableEventually, to: nil)
            try await pair.right.send(envelope(1, text: Self.text, from: "right"), mode: .reliableEventually, to: nil)
            pair.settle()
            for log in logs { #expect(await log.sequences(1) == [1]) }
            return Set(pair.wire.takeSent().filter { $0.packet.bytes.contains(id) }.map(\.from))
        }
        #expect(try await ends(with) == ["left", "right"])
        #expect(try await ends(Self.plain) == [])
    }

    @Test func `A later launch reads the store without the dictionary of the launch before`() async throws {
        let dictionary = try CompressionDictionary(Array("a dictionary of one's own".utf8))
        let store = MemoryStore()
        let wire = MemoryWire()
        let first = try Pair(wire, configuration: Self.configuration(.dictionary(dictionary)), leftStore: store)
        try await first.left.send(envelope(1, text: Self.text), mode: .reliableEventually, to: nil)
        await first.left.close()
        await first.right.close()
        let later = try Pair(wire, configuration: Self.plain, leftStore: store)
        let log = Log(later.right.receiveEnvelopes())
        wire.connect()
        later.settle()
        #expect(await log.sequences(1) == [1])
    }

    @Test func `A large message in pieces uses the format`() async throws {
        let pair = try Self.pair(Self.preferring(), Self.preferring(), [.stream: .deliveryMessage])
        let log = Log(pair.right.receiveEnvelopes())
        try await pair.left.send(envelope(1, text: Self.letters(400_000)), mode: .reliableEventually, to: nil)
        pair.settle()
        #expect(await log.sequences(1) == [1])
        var stream = FrameStreamDecoder(codecs: try CodecTable([CompactCodec()]))
        for packet in pair.wire.takeSent() where packet.from == "left" { stream.append(packet.packet.bytes) }
        // A decoder without the format reads the pieces, and refuses the frame that they make.
        #expect(throws: WireError.self) { while try stream.next() != nil {} }
        #expect(stream.failure?.code == .unsupportedVersion)
    }

    @Test func `Packets that the platform keeps never use the format`() async throws {
        let wire = KeptWire([.datagram, .queue, .latest])
        let clock = ManualClock()
        let left = try wire.launch("left", clock, configuration: Self.preferring())
        let right = try wire.launch("right", clock, configuration: Self.preferring())
        let log = Log(right.receiveEnvelopes())
        func send(_ sequence: UInt64) async throws {
            try await left.send(envelope(sequence, text: Self.text), mode: .reliableEventually, to: nil)
            clock.advance(by: .seconds(1))
        }
        clock.advance(by: .seconds(1))
        try await send(1)
        #expect(wire.takeFormatLanes() == [])
        wire.connect()
        clock.advance(by: .seconds(1))
        try await send(2)
        #expect(wire.takeFormatLanes() == [.datagram])
        wire.disconnect()
        clock.advance(by: .seconds(1))
        try await send(3)
        #expect(wire.takeFormatLanes() == [])
        #expect(await log.sequences(3) == [1, 2, 3])
    }

    @Test func `A peer that returns without the format gets the other compression`() async throws {
        let wire = MemoryWire()
        let first = try Pair(wire, configuration: Self.preferring(), rightConfiguration: Self.preferring())
        wire.connect()
        first.settle()
        _ = wire.takeSent()
        #expect(try await Self.ends(first) == ["left", "right"])
        wire.disconnect()
        let later = try LinkTransport(
            localPeer: peer("right"), link: wire.right, configuration: Self.plain, clock: first.clock)
        try later.start()
        wire.connect()
        first.settle()
        _ = wire.takeSent()
        let log = Log(later.receiveEnvelopes())
        try await first.left.send(envelope(2, text: Self.text), mode: .reliableEventually, to: nil)
        first.settle()
        #expect(await log.sequences(1) == [2])
        #expect(wire.takeSent().allSatisfy { $0.packet.bytes[4] & 0x40 == 0 })
    }
}
