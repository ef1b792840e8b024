import MeshBase
import MeshTransport
import Testing

@Suite struct LinkWrapperTests {
    /// A wrapper compiles even if it doesn't forward a requirement with a default. The wrapped link would miss those calls.
    @Test func `A wrapper forwards every requirement of a link`() async throws {
        let spy = SpyLink()
        let wrapper: any TransportLink = BareLink(base: spy)
        #expect(!wrapper.lanes.isEmpty && wrapper.traits.provesPeers)
        #expect(wrapper.problems.map(\.code) == [.peerIDInUse] && wrapper.isOwn("watch"))
        #expect(wrapper.revokedPeers() != nil && wrapper.remainingWakes == 3)
        try wrapper.open(Deaf())
        try wrapper.send(LinkPacket(lane: .stream, bytes: [1]), to: "address")
        wrapper.disconnect("address")
        await wrapper.close()
        let calls = spy.calls.withLock { $0 }
        #expect(Set(calls).count == calls.count)
        #expect(
            calls.count == (try requirementCount(of: "TransportLink")), "call the new requirement here, and forward it")
    }
}

private final class BareLink: LinkWrapper {
    let base: any TransportLink

    init(base: any TransportLink) { self.base = base }
}

/// Records the requirements that are called.
private final class SpyLink: TransportLink {
    let calls = Locked<[String]>([])

    private func note(_ call: String) { calls.withLock { $0.append(call) } }

    var lanes: [LinkLane: PayloadLimit] {
        note("lanes")
        return [.stream: .udpSafe]
    }
    var traits: LinkTraits {
        note("traits")
        return LinkTraits(provesPeers: true)
    }
    var problems: [SessionProblem] {
        note("problems")
        return [.peerIDInUse("phone")]
    }
    var remainingWakes: Int? {
        note("remainingWakes")
        return 3
    }
    func open(_ observer: any LinkObserver) { note("open") }
    func send(_ packet: LinkPacket, to address: LinkAddress) { note("send") }
    func disconnect(_ address: LinkAddress) { note("disconnect") }
    func isOwn(_ peerID: String) -> Bool {
        note("isOwn")
        return true
    }
    func revokedPeers() -> AsyncStream<Set<String>>? {
        note("revokedPeers")
        return AsyncStream { $0.finish() }
    }
    func close() async { note("close") }
}

private final class Deaf: LinkObserver {
    func found(_ address: LinkAddress, as peerID: String?) {}
    func connected(_ address: LinkAddress, as peerID: String?) {}
    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {}
    func writable(_ address: LinkAddress) {}
    func disconnected(_ address: LinkAddress, reason: String?) {}
    func failed(_ reason: String) {}
}
