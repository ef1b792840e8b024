import MeshBase
import MeshDelivery
import MeshIdentity
import MeshScenarioTransport
import MeshTesting
import MeshTransport
import MeshWire

/// A hostile peer that sends hellos and lies to one other peer, its victim. It ignores all other peers and every
/// message. Must be used on one thread.
final class FloodingPeer: LinkObserver {
    static let id = "liar"
    private static let waitingMax = 4096

    private struct State {
        var isConnected = false
        /// Packets that the link hasn't accepted yet.
        var waiting = FirstInFirstOut<[UInt8]>()
        var fragmenter: FrameFragmenter?
    }

    private let link: ScenarioLink
    private let lane: LinkLane
    private let victim: LinkAddress
    private let peer = LyingPeer(FloodingPeer.id, as: "sender", "receiver")
    private let state: Locked<State>

    init(on network: ScenarioNetwork, lanes: [LinkLane: PayloadLimit], victim: SessionPeer) {
        link = network.makeLink(localPeer: peer.peer, lanes: lanes)
        lane = lanes[.stream] == nil ? .datagram : .stream
        self.victim = LinkAddress(victim.id)
        state = Locked(State(fragmenter: lanes[lane].map { FrameFragmenter(limit: $0) }))
        link.open(self)
    }

    /// Queues, at random, a run of up to 249 lies. Then sends as many queued packets as the link accepts.
    func lie(_ random: inout SplitMix64) {
        if random.happens(rate: 0.01) {
            var run = (0..<LyingPeer.runBytes).map { _ in UInt8(random.upTo(255)) }
            run[1] &= 31
            // Datagrams may be lost, so each run repeats the hello.
            say((lane == .datagram ? peer.greeting : []) + run.withUnsafeBytes { peer.frames($0) })
        }
        send()
    }

    private func say(_ frames: [[UInt8]]) {
        state.withLock { state in
            guard state.isConnected, state.waiting.count < Self.waitingMax else { return }
            for frame in frames {
                for packet in (try? state.fragmenter?.fragments(of: frame)) ?? [] { state.waiting.append(packet) }
            }
        }
    }

    private func send() {
        while let packet = state.withLock({ $0.isConnected ? $0.waiting.first : nil }) {
            do throws(LinkError) {
                try link.send(LinkPacket(lane: lane, bytes: packet), to: victim)
            } catch {
                return
            }
            state.withLock { _ = $0.waiting.takeFirst() }
        }
    }

    func found(_ address: LinkAddress, as peerID: String?) {}
    func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {}
    func writable(_ address: LinkAddress) {}
    func failed(_ reason: String) {}

    func connected(_ address: LinkAddress, as peerID: String?) {
        guard address == victim else { return }
        state.withLock { state in
            state.isConnected = true
            state.waiting = FirstInFirstOut()
        }
        say(peer.greeting)
        send()
    }

    func disconnected(_ address: LinkAddress, reason: String?) {
        guard address == victim else { return }
        state.withLock { $0.isConnected = false }
    }
}
