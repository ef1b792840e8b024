/// What became of taps on devices of one session: which of them have to be shown, and which may be.
struct TapLedger {
    enum Standing: Comparable {
        /// Its app died before it was known to be written, or its store is lost.
        case unsure
        case submitted
        /// In the store of its own device.
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

    /// The power went: what was not written may be there or not.
    mutating func endLife(of device: Int) { giveUp(through: .submitted, of: device) }

    /// Nobody has to have what only that device had.
    mutating func loseStore(of device: Int) { giveUp(through: .stored, of: device) }

    private mutating func giveUp(through standing: Standing, of device: Int) {
        for (number, tap) in taps where tap.device == device && tap.standing <= standing {
            taps[number]?.standing = .unsure
        }
    }

    /// What all show must be all that is not unsure, nothing twice and nothing that was never tapped.
    func fault(in shown: [UInt32]) -> String? {
        let once = Set(shown)
        if once.count < shown.count { return "they show a tap twice: \(shown)" }
        if let stranger = once.first(where: { taps[$0] == nil }) { return "they show \(stranger), which nobody tapped" }
        let lost = taps.filter { $0.value.standing > .unsure && !once.contains($0.key) }.keys.sorted()
        return lost.isEmpty ? nil : "they show \(shown.count) taps, but not \(lost)"
    }
}
