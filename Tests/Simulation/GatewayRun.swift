import MeshBase
import MeshVirtualTime

/// A run of two gateway processes and their store in virtual time. Devices use connections that drop on one side or on
/// both.
protocol GatewayRun {
    associatedtype Step: GatewayStep

    var random: SplitMix64 { get set }
    var queue: EventQueue<Step> { get set }
    /// The virtual time in nanoseconds.
    var now: UInt64 { get set }
    var pipes: [Int: GatewayPipe] { get set }
    var areFaultsOver: Bool { get set }
    /// The virtual time until which the store rejects every call.
    var downUntil: UInt64 { get set }
    /// The virtual time until which the store answers late.
    var slowUntil: UInt64 { get set }
    var faultCounts: [String: Int] { get set }
    /// The first failure, or nil.
    var complaint: String? { get set }

    mutating func take(_ step: Step)
    /// True if a frame to a device is lost although the connection is open.
    mutating func isLost(_ step: Step) -> Bool
}

protocol GatewayStep {
    static func gatewayDisconnects(key: Int) -> Self
    static func deviceDisconnects(key: Int) -> Self
}

/// A device's connection to a gateway.
struct GatewayPipe {
    let device: Int
    let gateway: Int
    var upFreeAt: UInt64 = 0
    var downFreeAt: UInt64 = 0
    var isUp = true
}

extension GatewayRun {
    var time: Duration { Duration(nanoseconds: now) }

    mutating func isLost(_ step: Step) -> Bool { false }

    mutating func enter(_ step: Step, within milliseconds: UInt64) {
        queue.enter(step, at: now + random.upTo(milliseconds * 1_000_000))
    }

    mutating func runUntil(milliseconds end: UInt64) {
        while complaint == nil, let time = queue.nextTime, time <= end * 1_000_000, let (at, step) = queue.take() {
            now = max(now, at)
            take(step)
        }
        now = end * 1_000_000
    }

    /// Plays two minutes of faults, then waits for everything to heal.
    mutating func playFaults() {
        runUntil(milliseconds: 120_000)
        areFaultsOver = true
        (downUntil, slowUntil) = (0, 0)
        runUntil(milliseconds: 400_000)
    }

    mutating func count(_ fault: String) { faultCounts[fault, default: 0] += 1 }

    mutating func stopStore() {
        count("store down")
        downUntil = now + random.upTo(10_000_000_000)
    }

    mutating func slowStore() {
        count("store slow")
        slowUntil = now + random.upTo(10_000_000_000)
    }

    func keys(at gateway: Int) -> [Int] { pipes.filter { $0.value.gateway == gateway }.keys.sorted() }

    /// Cuts a connection. Each side notices separately, at once or much later.
    mutating func cut(_ key: Int, deviceKnows: Bool = true) {
        guard pipes[key]?.isUp == true else { return }
        pipes[key]?.isUp = false
        enter(.gatewayDisconnects(key: key), within: random.happens(rate: 0.5) ? 10 : 50_000)
        // Otherwise the device's socket looks open until a heartbeat fails.
        if deviceKnows, !random.happens(rate: 0.2) { enter(.deviceDisconnects(key: key), within: 100) }
    }

    /// Sends a frame to the gateway (`up`) or to the device. Frames arrive in order. Does nothing if the connection is
    /// cut.
    mutating func send(_ step: Step, _ key: Int, up: Bool) {
        guard var pipe = pipes[key], pipe.isUp else { return }
        let arrival = now + 1_000_000 + random.upTo(40_000_000)
        if up {
            pipe.upFreeAt = max(pipe.upFreeAt + 1, arrival)
            queue.enter(step, at: pipe.upFreeAt)
        } else {
            pipe.downFreeAt = max(pipe.downFreeAt + 1, arrival)
            if !isLost(step) { queue.enter(step, at: pipe.downFreeAt) }
        }
        pipes[key] = pipe
    }
}
