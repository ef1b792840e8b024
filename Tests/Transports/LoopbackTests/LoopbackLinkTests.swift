import MeshBase
import MeshLoopbackTransport
import MeshTransport
import Testing

/// The link alone, without a transport.
@Suite struct LoopbackLinkTests {
    private final class Witness: LinkObserver {
        let words = Locked<[String]>([])

        private func note(_ word: String) { words.withLock { $0.append(word) } }

        func found(_ address: LinkAddress, as peerID: String?) { note("found \(address)") }
        func connected(_ address: LinkAddress, as peerID: String?) { note("connected \(address)") }
        func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
            note("\(Array(bytes)) on \(lane) from \(address)")
        }
        func writable(_ address: LinkAddress) { note("writable") }
        func disconnected(_ address: LinkAddress, reason: String?) { note("disconnected") }
        func failed(_ reason: String) { note("failed") }
    }

    private func code(_ body: () throws -> Void) -> LinkError.Code? {
        do { try body() } catch { return (error as? LinkError)?.code }
        return nil
    }

    @Test func `A sent message has been received when the call returns`() throws {
        let (link, witness) = (LoopbackLink(), Witness())
        try link.open(witness)
        try link.send(LinkPacket(lane: .stream, bytes: [1, 2]), to: LoopbackLink.address)
        #expect(witness.words.withLock { $0 } == ["connected loopback", "[1, 2] on stream from loopback"])
    }

    @Test
    func `The link rejects other addresses and lanes, oversized packets, and sends before opening or after closing`()
        async throws
    {
        let (link, witness) = (LoopbackLink(), Witness())
        let packet = LinkPacket(lane: .stream, bytes: [1])
        #expect(code { try link.send(packet, to: LoopbackLink.address) } == .closed)
        try link.open(witness)
        #expect(code { try link.open(witness) } == .closed)
        #expect(code { try link.send(packet, to: "elsewhere") } == .unreachable)
        #expect(code { try link.send(LinkPacket(lane: .queue, bytes: [1]), to: LoopbackLink.address) } == .unreachable)
        let large = LinkPacket(lane: .stream, bytes: [UInt8](repeating: 0, count: 1 << 20 + 1))
        #expect(code { try link.send(large, to: LoopbackLink.address) } == .oversized)
        await link.close()
        #expect(code { try link.send(packet, to: LoopbackLink.address) } == .closed)
        #expect(witness.words.withLock { $0.count } == 1)
    }
}
