import MeshBase
import MeshTransport

/// A link that keeps sent packets until they are passed to the other end, without any system call.
final class KeepingLink: TransportLink {
    private struct State {
        var observer: (any LinkObserver)?
        var packets: [[UInt8]] = []
    }

    private static let address: LinkAddress = "way"
    private let state = Locked(State())

    let lanes: [LinkLane: PayloadLimit] = [
        .stream: PayloadLimit(id: "way", bytes: 1 << 20, summary: "kept as it is", source: "chosen")
    ]

    func open(_ observer: any LinkObserver) {
        state.withLock { $0.observer = observer }
        observer.connected(Self.address, as: nil)
    }

    func send(_ packet: LinkPacket, to address: LinkAddress) {
        state.withLock { $0.packets.append(packet.bytes) }
    }

    func close() async { state.withLock { $0 = State() } }

    func takePackets() -> [[UInt8]] {
        state.withLock { state in
            defer { state.packets = [] }
            return state.packets
        }
    }

    func receive(_ packets: [[UInt8]]) {
        guard let observer = state.withLock({ $0.observer }) else { return }
        for packet in packets { observer.received(packet, on: .stream, from: Self.address) }
    }
}
