import Foundation
import MeshBase
import MeshIdentity
import MeshScenarioTransport
import MeshTransport
import Testing

/// Decoders that remember a connection rely on this: between two announcements all bytes belong to one stream, from its
/// first byte.
@Suite struct ScenarioStreamTests {
    /// Counts bytes from 0 on each connection, and expects that the other side does too.
    private final class Counter: LinkObserver {
        struct Side {
            var isConnected = false
            var sent = 0
            var received = 0
            var connections = 0
            var total = 0
            var faults: [String] = []
        }

        let link: ScenarioLink
        let side = Locked(Side())

        init(_ peer: SessionPeer, on network: ScenarioNetwork) {
            link = network.makeLink(localPeer: peer)
            link.open(self)
        }

        func write(_ count: Int, to address: LinkAddress) {
            side.withLock { side in
                guard side.isConnected else { return }
                let bytes = (0..<count).map { UInt8(truncatingIfNeeded: side.sent + $0) }
                do {
                    try link.send(LinkPacket(lane: .stream, bytes: bytes), to: address)
                    side.sent += count
                } catch let error as LinkError where error.code == .full {
                    return
                } catch {
                    side.faults.append("\(error)")
                }
            }
        }

        func found(_ address: LinkAddress, as peerID: String?) {}
        func connected(_ address: LinkAddress, as peerID: String?) {
            side.withLock { side in
                if side.isConnected { side.faults.append("connected twice") }
                side.isConnected = true
                (side.sent, side.received) = (0, 0)
                side.connections += 1
            }
        }
        func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
            side.withLock { side in
                if !side.isConnected { side.faults.append("received while not connected") }
                for byte in bytes {
                    if byte != UInt8(truncatingIfNeeded: side.received) {
                        side.faults.append("byte \(side.received) is \(byte)")
                        return
                    }
                    side.received += 1
                }
                side.total += bytes.count
            }
        }
        func writable(_ address: LinkAddress) {}
        func disconnected(_ address: LinkAddress, reason: String?) {
            side.withLock { side in
                if !side.isConnected { side.faults.append("disconnected twice") }
                side.isConnected = false
            }
        }
        func failed(_ reason: String) {}
    }

    @Test("Whatever happens, a connection's bytes start with its first byte", arguments: 0..<100 as Range<UInt64>)
    func streams(seed: UInt64) async {
        let network = ScenarioNetwork(seed: seed, conditions: .rough)
        var random = SplitMix64(seed: seed)
        let peers = ["a", "b"].map {
            SessionPeer(id: $0, deviceClass: .unknown, appInstanceID: "1", topology: .sameHost)
        }
        var ends = peers.map { Counter($0, on: network) }
        var faults: [String] = []
        var totals = (bytes: 0, connections: 0)
        func note(_ end: Counter) {
            end.side.withLock { side in
                faults += side.faults
                totals = (totals.bytes + side.total, totals.connections + side.connections)
            }
        }
        for _ in 0..<400 {
            let (one, other) = random.happens(rate: 0.5) ? (0, 1) : (1, 0)
            switch random.upTo(30) {
            case 0: network.partition([peers[0]], [peers[1]])
            case 1: network.partition(from: peers[one], to: peers[other])
            case 2, 3, 4: network.heal()
            case 5: network.setReachable(random.happens(rate: 0.5), of: peers[one], seenBy: peers[other])
            case 6, 7, 8: for one in 0...1 { network.setReachable(nil, of: peers[one], seenBy: peers[1 - one]) }
            case 9: ends[one].link.disconnect(LinkAddress(peers[other].id))
            case 10:
                note(ends[one])
                if random.happens(rate: 0.5) { await ends[one].link.close() }
                ends[one] = Counter(peers[one], on: network)
            default: break
            }
            for _ in 0..<random.upTo(5) {
                ends[one].write(1 + Int(random.upTo(300)), to: LinkAddress(peers[other].id))
            }
            network.advance(by: .milliseconds(Int64(random.upTo(80))))
        }
        network.heal()
        for one in 0...1 { network.setReachable(nil, of: peers[one], seenBy: peers[1 - one]) }
        network.runUntilIdle()
        for index in 0...1 { ends[index].write(100, to: LinkAddress(peers[1 - index].id)) }
        network.runUntilIdle()
        for (index, end) in ends.enumerated() {
            note(end)
            let (received, sent) = end.side.withLock { side in
                (side.received, ends[1 - index].side.withLock { $0.sent })
            }
            #expect(received == sent, "seed \(seed): in the end everything arrives")
        }
        #expect(faults == [], "seed \(seed)")
        #expect(totals.connections > 2 && totals.bytes > 1000, "seed \(seed): nothing happened")
    }
}
