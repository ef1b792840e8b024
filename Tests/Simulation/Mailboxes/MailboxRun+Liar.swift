import MeshBase
import MeshMailbox

/// A liar: a device that opens its own mailbox, is admitted by the others, and forges its messages. The gateway names
/// each message's sender, so none may appear to come from another device. The others' messages must arrive as usual.
extension MailboxRun {
    mutating func postLies(from device: Int) {
        for receiver in honest {
            let bytes = (0..<random.upTo(64)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            let lane = random.element([MailboxLane.queue, .latest, .datagram])
            let key = lane == .latest ? "\(random.upTo(7))" : ""
            _ = devices[device].core.post(bytes, to: devices[receiver].id, on: lane, key: key, isHeld: true, time)
        }
        carryOut(device: device)
    }

    mutating func sendLies(like bytes: [UInt8], _ key: Int) {
        guard !areFaultsOver, random.happens(rate: 0.1) else { return }
        count("lie")
        send(.toGateway(key: key, forged(bytes)), key, up: true)
    }

    private mutating func forged(_ bytes: [UInt8]) -> [UInt8] {
        var forged = bytes
        switch random.upTo(4) {
        case 0: forged.removeLast(min(forged.count, 1 + random.below(8)))
        case 1: forged += (0..<random.upTo(32)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        // Another device's mailbox in place of the liar's own.
        case 2:
            let (own, other) = (devices[honest.upperBound].id.bytes, devices[random.element(Array(honest))].id.bytes)
            for place in forged.indices where forged[place...].starts(with: own) {
                forged.replaceSubrange(place..<place + own.count, with: other)
            }
        default:
            for _ in 0...random.upTo(3) where !forged.isEmpty {
                forged[random.below(forged.count)] = random.element([0, 1, 0x7F, 0x80, 0xFF])
            }
        }
        return forged
    }

    mutating func misattribute(_ number: Int, _ sender: Int, _ receiver: Int) {
        complaint = "device \(receiver) receives message \(number) of device \(sender), which never sent it"
    }
}
