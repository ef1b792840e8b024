/// A record of the taps on devices of one session. It says which taps must be shown, and which ones may be missing.
struct TapLedger {
    enum Standing: Comparable {
        /// The app died before the write was known to have succeeded, or its store is lost.
        case unsure
        case submitted
        /// Stored on its own device.
        case stored
        /// Another device has it too.
        case held
    }

    private struct Tap {
        let device: Int
        var standing = Standing.submitted
    }

    private var taps: [UInt32: Tap] = [:]

    mutating func add(_ number: UInt32, on device: Int) { taps[number] = Tap(device: device) }

    mutating func note(_ number: UInt32, _ standing: Standing) {
        guard let tap = taps[number], tap.standing < standing else { return }
        taps[number]?.standing = standing
    }

    /// Marks taps as unsure after a power failure. The store may or may not have a tap whose write wasn't reported as
    /// successful.
    mutating func crash(of device: Int) { giveUp(through: .submitted, of: device) }

    /// Marks taps that only that device had as unsure.
    mutating func loseStore(of device: Int) { giveUp(through: .stored, of: device) }

    private mutating func giveUp(through standing: Standing, of device: Int) {
        for (number, tap) in taps where tap.device == device && tap.standing <= standing {
            taps[number]?.standing = .unsure
        }
    }

    /// Returns a violation, or nil. The devices must show each tap that isn't unsure, nothing twice, and no tap that
    /// never happened.
    func fault(in shown: [UInt32]) -> String? {
        let once = Set(shown)
        if once.count < shown.count { return "the devices show a tap twice: \(shown)" }
        if let stranger = once.first(where: { taps[$0] == nil }) {
            return "the devices show \(stranger), which no user tapped"
        }
        let lost = taps.filter { $0.value.standing > .unsure && !once.contains($0.key) }.keys.sorted()
        return lost.isEmpty ? nil : "the devices show \(shown.count) taps, but not \(lost)"
    }
}
