import MeshBase
import Testing

@testable import MeshMailbox

/// Messages that a device's mailbox client sends on its own schedule, in virtual time.
struct MailboxClientCoreTests {
    private struct Device {
        let watch: MailboxID
        var core = MailboxClientCore()
        var now = Duration.zero
        /// True if the gateway answers heartbeats.
        var isAnswered = true
        var said: [MailboxRequest] = []
        var dropped = 0
        var tickCount = 0

        init() throws {
            watch = try #require(MailboxID(bytes: [UInt8](repeating: 2, count: MailboxID.byteCount)))
            try connect()
        }

        mutating func connect() throws {
            core.connected(now)
            try hear(.challenge([UInt8](repeating: 9, count: 32), heartbeat: 30_000))
            core.open(
                MailboxOpening(
                    token: "anna", publicKey: [UInt8](repeating: 1, count: 91),
                    signature: [UInt8](repeating: 2, count: 64),
                    will: [0]), now)
            try hear(.opened)
            core.follow([watch], now)
            try hear(.following)
            said = []
        }

        mutating func hear(_ news: MailboxServerFrame) throws {
            core.received(news.bytes, now)
            try run()
        }

        mutating func run() throws {
            for directive in core.takeDirectives() {
                if case .drop = directive { dropped += 1 }
                guard case .send(let bytes) = directive else { continue }
                let request = try MailboxRequest(bytes)
                said.append(request)
                if request == .heartbeat, isAnswered { try hear(.heartbeat) }
            }
        }

        /// Advances time, and calls the core only when it is due.
        mutating func wait(_ seconds: Int, each second: (inout Device, Int) throws -> Void = { _, _ in }) throws {
            for moment in 0..<seconds {
                now += .seconds(1)
                try second(&self, moment)
                guard let due = core.dueAt, due <= now else { continue }
                core.tick(now)
                tickCount += 1
                try run()
            }
        }

        var heartbeats: Int { said.count { $0 == .heartbeat } }
    }

    @Test func `Without other messages a heartbeat is sent every 30 seconds, and nothing in between`() throws {
        var device = try Device()
        try device.wait(600)
        #expect(device.heartbeats == 20)
        #expect(device.tickCount <= 21)
        #expect(device.dropped == 0)
    }

    @Test func `No heartbeat is sent while posts and packets pass`() throws {
        var device = try Device()
        try device.wait(600) { device, moment in
            guard moment % 20 == 0 else { return }
            _ = device.core.post([1], to: device.watch, on: .datagram, isHeld: false, device.now)
            try device.hear(.packet(MailboxPacket(from: device.watch, lane: .datagram, bytes: [1])))
        }
        #expect(device.heartbeats == 0)
        #expect(device.dropped == 0)
    }

    @Test func `A device that only sends probes the gateway, and one that only receives sends heartbeats`()
        throws
    {
        for sends in [true, false] {
            var device = try Device()
            try device.wait(600) { device, moment in
                guard moment % 20 == 0 else { return }
                if sends {
                    _ = device.core.post([1], to: device.watch, on: .datagram, isHeld: false, device.now)
                } else {
                    try device.hear(.packet(MailboxPacket(from: device.watch, lane: .datagram, bytes: [1])))
                }
            }
            #expect((19...20).contains(device.heartbeats), "sends: \(sends)")
            #expect(device.dropped == 0)
        }
    }

    @Test func `The read position is reported again on a new connection, because the last report may be lost`() throws {
        var device = try Device()
        let position = MailboxPosition(epoch: 1, sequence: 7)
        try device.hear(.packet(MailboxPacket(from: device.watch, lane: .queue, position: position, bytes: [1])))
        try device.wait(1)
        #expect(device.said == [.taken(position)])
        device.core.disconnected()
        try device.connect()
        try device.wait(1)
        #expect(device.said == [.taken(position)])
    }

    @Test func `A silent gateway is disconnected after 60 seconds, whatever is sent to it`() throws {
        var device = try Device()
        device.isAnswered = false
        try device.wait(59) { device, _ in
            _ = device.core.post([1], to: device.watch, on: .datagram, isHeld: false, device.now)
        }
        #expect(device.dropped == 0)
        try device.wait(1)
        #expect(device.dropped == 1)
        #expect(device.core.dueAt == nil)
    }
}
