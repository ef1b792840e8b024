import Foundation
import MeshIdentity

@testable import MeshEngine

/// Two engines whose directives are carried out directly, without a network between them.
struct EnginePair {
    var phone: ListEngine
    var watch: ListEngine
    var now = noon
    var watchAheadSeconds = 0.0
    var confirmed: [String: [String]] = [:]
    var alarms: [SessionAlarm] = []

    init(
        phone: ListEngine = makeEngine("phone", incarnation: 1), watch: ListEngine = makeEngine("watch", incarnation: 2)
    ) {
        self.phone = phone
        self.watch = watch
    }

    /// A pair that has exchanged enough controls to be sealed.
    static func joined(watchAheadSeconds: Double = 0) throws -> EnginePair {
        var pair = EnginePair()
        pair.watchAheadSeconds = watchAheadSeconds
        for _ in 0..<3 { try pair.exchange() }
        return pair
    }

    /// Ticks both engines and carries out their directives, until neither has anything left to send.
    mutating func exchange(latencySeconds: (Double, Double) = (0, 0)) throws {
        phone.tick(at: now)
        watch.tick(at: now + watchAheadSeconds)
        for _ in 0..<6 {
            let ofPhone = phone.takeDirectives()
            note(ofPhone, "phone")
            now += latencySeconds.0
            for message in ofPhone.outgoing { try Self.deliver(message, to: &watch, at: now + watchAheadSeconds) }
            let ofWatch = watch.takeDirectives()
            note(ofWatch, "watch")
            now += latencySeconds.1
            for message in ofWatch.outgoing { try Self.deliver(message, to: &phone, at: now) }
            if ofPhone.outgoing.isEmpty && ofWatch.outgoing.isEmpty { break }
        }
        now += 1
    }

    private mutating func note(_ directives: SessionDirectives<[String], String>, _ peer: String) {
        confirmed[peer, default: []] += directives.confirmed.map(\.envelope.payload)
        alarms += directives.alarms
    }

    static func deliver(
        _ message: SessionOutgoing<[String], String>, to engine: inout ListEngine, at moment: Date
    ) throws {
        switch message {
        case .control(let envelope, _): try engine.receiveControl(envelope, at: moment)
        case .events(let envelopes, _): for envelope in envelopes { _ = try engine.receive(envelope) }
        case .relay(let envelope, _): try engine.receiveRelay(envelope, at: moment)
        case .checkpoint(let checkpoint, let metadata, _): try engine.adopt(checkpoint, from: metadata, at: moment)
        }
    }
}
