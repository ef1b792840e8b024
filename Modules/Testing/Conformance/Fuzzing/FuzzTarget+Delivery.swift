import MeshBase
import MeshDelivery
import MeshIdentity
import MeshTransport

extension FuzzTarget {
    /// Maximum number of runs. A run has up to 2,041 frames, and more runs find no more faults.
    private static var runsMax: Int { 16 }

    /// A target for delivery from an authenticated peer that lies and floods. The first byte chooses the lane; the rest
    /// is up to 16 runs of a `LyingPeer`. The victim must store nothing in another peer's name, and keep its budgets.
    static var delivery: FuzzTarget {
        FuzzTarget("delivery") { input in
            guard let first = input.first else { return }
            let link = LyingLink(first % 2 == 0 ? .stream : .datagram)
            var configuration = DeliveryConfiguration()
            configuration.seed = 1
            let peer = SessionPeer(id: "victim", deviceClass: .unknown, appInstanceID: "1", topology: .sameHost)
            guard
                let victim = try? LinkTransport(
                    localPeer: peer, link: link, configuration: configuration, clock: link.clock)
            else { return }
            try? victim.start()
            let end = min(input.count, 1 + runsMax * LyingPeer.runBytes)
            for start in stride(from: 1, through: end - LyingPeer.runBytes, by: LyingPeer.runBytes) {
                link.sendFrames(of: UnsafeRawBufferPointer(rebasing: input[start..<start + LyingPeer.runBytes]))
                try require(victim.isWithinBudgets, "a peer's memory in the victim is within its budget")
                for feature in 0..<4 {
                    let source = victim.latestPeerSnapshot(featureID: "\(feature)")?.metadata.sourcePeerID
                    try require(source == nil || source == "liar", "no message is accepted in another peer's name")
                }
            }
        }
    }
}

/// A link to a lying peer. Used on one thread.
private final class LyingLink: TransportLink {
    private static let address: LinkAddress = "link"

    let clock = ManualClock()
    private let lane: LinkLane
    private let liar = LyingPeer("liar", as: "phone", "victim")
    private let observer = Locked<(any LinkObserver)?>(nil)
    private let isConnected = Locked(false)

    init(_ lane: LinkLane) { self.lane = lane }

    var lanes: [LinkLane: PayloadLimit] { [lane: .memoryStream] }
    func open(_ observer: any LinkObserver) { self.observer.withLock { $0 = observer } }
    func send(_ packet: LinkPacket, to address: LinkAddress) {}
    func disconnect(_ address: LinkAddress) { isConnected.withLock { $0 = false } }
    func close() async { observer.withLock { $0 = nil } }

    /// Sends a run's frames. Connects first if the victim has ended the connection.
    func sendFrames(of run: UnsafeRawBufferPointer) {
        let observer = observer.withLock { $0 }
        let begins = isConnected.withLock { isConnected in
            defer { isConnected = true }
            return !isConnected
        }
        if begins {
            observer?.disconnected(Self.address, reason: nil)
            observer?.connected(Self.address, as: liar.peer.id)
        }
        for frame in (begins ? liar.greeting : []) + liar.frames(run) {
            observer?.received(frame, on: lane, from: Self.address)
        }
        clock.advance(by: .milliseconds(100))
    }
}
