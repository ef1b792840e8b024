import Foundation
import MeshBase
import MeshTestSupport
import Testing

@testable import MeshDiscovery

@Suite struct MulticastSocketTests {
    private static let home = IPAddress.v4(0x7F00_0001)
    private let port = UInt16.random(in: 20_000...60_000)

    @Test("A packet is received with its source, interface and destination", arguments: [true, false])
    func way(isToGroup: Bool) async throws {
        let socket = try MulticastSocket(on: loopback(), .v4, port: port)
        let destination = isToGroup ? MulticastSocket.group4 : Self.home
        try socket.send([1, 2, 3], to: destination, port: port, scope: 0)
        var buffer = [UInt8](repeating: 0, count: 8)
        let packet = try await arrival(at: socket, &buffer)
        #expect(buffer.prefix(packet.count) == [1, 2, 3])
        #expect(packet.source == Self.home)
        #expect(packet.port == port)
        let index = try loopback().index
        #expect(packet.arrival == MulticastSocket.Arrival(interfaceIndex: index, destination: destination))
    }

    @Test("An IPv6 packet is received likewise, if this machine has IPv6") func six() async throws {
        let home = IPAddress.v6(0, 1)
        guard let socket = try? MulticastSocket(on: loopback(), .v6, port: port),
            (try? socket.send([7], to: home, port: port, scope: 0)) != nil
        else { return }
        var buffer = [UInt8](repeating: 0, count: 8)
        let packet = try await arrival(at: socket, &buffer)
        #expect(packet.source == home && packet.port == port)
        let index = try loopback().index
        #expect(packet.arrival == MulticastSocket.Arrival(interfaceIndex: index, destination: home))
    }

    @Test("Control data with wrong lengths are read safely") func lengths() {
        let header = MemoryLayout<cmsghdr>.size
        for (level, type) in [(IPPROTO_IP, IP_PKTINFO), (IPPROTO_IPV6, 50), (IPPROTO_UDP, 1)] {
            for written in 0...64 {
                for length in 0...80 {
                    var word = cmsghdr()
                    word.cmsg_len = numericCast(length)
                    (word.cmsg_level, word.cmsg_type) = (Int32(level), type)
                    var info = PacketInfo()
                    info.withBuffer { buffer, count in
                        withUnsafeBytes(of: word) { buffer.copyMemory(from: $0) }
                        count = written
                    }
                    if written < header || length < header || length > written { #expect(info.arrival == nil) }
                }
            }
        }
    }

    @Test("At most sixteen packets of a flood are read per turn, and all in the end") func flood() async throws {
        let flood = 100
        var options = MulticastDNSOptions(interfaces: [DiscoveryBackend.loopback])
        options.port = port
        let tally = Locked(DiscoveryStatistics())
        let core = try MulticastDNSCore(type: .unique(), seed: 1)
        let loop = MulticastDNSLoop(core, options, DiscoveryRecorder(), tally)
        _ = loop.advance()
        let sender = try MulticastSocket(on: loopback(), .v4, port: port)
        for _ in 0..<flood { try sender.send([0], to: MulticastSocket.group4, port: port, scope: 0) }
        var pieces: [UInt64] = []
        try await eventually("the flood") {
            let before = tally.withLock { $0.packetsReceived }
            for source in loop.sources { source.read() }
            _ = loop.advance()
            pieces.append(tally.withLock { $0.packetsReceived } - before)
            return tally.withLock { $0.malformed } == UInt64(flood)
        }
        #expect(pieces.allSatisfy { $0 <= 16 })
        loop.end()
        #expect(loop.sources.isEmpty)
    }

    private func loopback() throws -> NetworkInterface {
        try #require(NetworkInterfaces.all().first { $0.interface.name == DiscoveryBackend.loopback }).interface
    }

    private func arrival(
        at socket: MulticastSocket, _ buffer: inout [UInt8]
    ) async throws -> MulticastSocket.Packet {
        for _ in 0..<100_000 {
            if let packet = try socket.receive(into: &buffer) { return packet }
            try await Task.sleep(for: .milliseconds(2))
        }
        throw WaitTimedOut(description: "no packet arrived in time")
    }
}
