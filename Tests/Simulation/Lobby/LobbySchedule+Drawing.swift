import MeshBase
import MeshScenarioTransport

extension LobbySchedule {
    /// Draws the schedule of a seed.
    /// - Parameter devices: The number of devices, 2 to 5.
    init(seed: UInt64, devices: Int) {
        var draw = Draw(devices: devices, random: SplitMix64(seed: seed &* 0x9E37_79B9_7F4A_7C15 &+ UInt64(devices)))
        let all = Set(0..<devices)
        self.seed = seed
        self.devices = devices
        membersMax = devices > 2 && draw.random.happens(rate: 0.2) ? 2 : 16
        // At most one device loses its store: events that a majority has lost are gone.
        let forgetful = draw.random.happens(rate: 0.4) ? draw.device() : nil
        let hasStore = forgetful == nil || draw.random.happens(rate: 0.5)
        draw.forgetful = hasStore ? forgetful : nil
        keepers = hasStore ? all : all.subtracting([forgetful ?? 0])
        absent = devices > 2 && draw.random.happens(rate: 0.3) ? draw.device() : nil
        conditions = draw.random.happens(rate: 0.5) ? .rough : .calm
        draw.begin()
        for _ in 0..<(3 + draw.random.upTo(17)) { draw.addStep() }
        // Steps at one moment keep the order in which they were drawn.
        entries = draw.entries.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }
            .map(\.element)
    }

    private struct Draw {
        let devices: Int
        var random: SplitMix64
        var entries: [Entry] = []
        /// The device that loses its store at its first crash.
        var forgetful: Int?
        private var now = Duration.zero

        init(devices: Int, random: SplitMix64) {
            self.devices = devices
            self.random = random
        }

        mutating func device() -> Int { Int(random.upTo(UInt64(devices - 1))) }

        private mutating func time(upTo milliseconds: UInt64) -> Duration {
            .milliseconds(Int64(random.upTo(milliseconds)))
        }

        private mutating func add(_ step: Step, after delay: Duration = .zero) {
            entries.append(Entry(at: now + delay, step: step))
        }

        /// Launches the devices, at once or one by one. Then one or several of them open a session, often after all
        /// have connected.
        mutating func begin() {
            if random.happens(rate: 0.3) {
                for device in 0..<devices where random.happens(rate: 0.5) { add(.clock(device, seconds: skew())) }
            }
            let isTogether = random.happens(rate: 0.5)
            for device in 0..<devices { add(.launch(device), after: isTogether ? .zero : time(upTo: 6000)) }
            now = isTogether && random.happens(rate: 0.7) ? .seconds(3) : time(upTo: 3000)
            let openers = random.happens(rate: 0.4) ? Array(0..<devices) : [device()]
            let isAtOnce = random.happens(rate: 0.7)
            for opener in openers { add(.open(opener), after: isAtOnce ? .zero : time(upTo: 2000)) }
        }

        private mutating func skew() -> Int {
            Int(random.upTo(random.happens(rate: 0.5) ? 10 : 1200)) - (random.happens(rate: 0.5) ? 5 : 600)
        }

        mutating func addStep() {
            pass()
            let device = device()
            switch random.upTo(99) {
            case 0..<14: add(.open(device))
            case 14..<18:
                let other = self.device()
                add(.open(device))
                add(.open(other), after: random.happens(rate: 0.5) ? .zero : time(upTo: 300))
            case 18..<46: add(.tap(device, count: 1 + Int(random.upTo(3))))
            case 46..<58:
                add(.invite(self.device(), by: device))
                // A device invites at the same moment, before it can know of the first invitation.
                if random.happens(rate: 0.5) { add(.invite(self.device(), by: self.device())) }
            case 58..<62: add(.end(device))
            case 62..<67:
                add(.end(device))
                add(.open(random.happens(rate: 0.7) ? device : self.device()), after: time(upTo: 3000))
            case 67..<79: relaunch(device)
            case 79..<88:
                add(.cut(side()))
                guard random.happens(rate: 0.7) else { break }
                add(.heal, after: time(upTo: random.happens(rate: 0.8) ? 8000 : 90_000))
            case 88..<92: add(.silence(device, to: self.device()))
            case 92..<98: add(.heal)
            default: add(.clock(device, seconds: skew()))
            }
        }

        /// Advances time by nothing, so that steps coincide, by up to 12 seconds, or by more than a minute, so that
        /// absent members are removed.
        private mutating func pass() {
            switch random.upTo(99) {
            case 0..<35: break
            case 35..<85: now += time(upTo: 1500)
            case 85..<97: now += time(upTo: 12_000)
            default: now += .seconds(65) + time(upTo: 30_000)
            }
        }

        private mutating func relaunch(_ device: Int) {
            let loses = forgetful == device
            if loses { forgetful = nil }
            add(.crash(device, losesStore: loses))
            if random.happens(rate: 0.9) { add(.launch(device), after: time(upTo: 5000)) }
        }

        /// Returns some of the devices, but not all.
        private mutating func side() -> Set<Int> {
            let most = UInt64(1) << UInt64(devices) - 2
            let bits = 1 + random.upTo(most - 1)
            return Set((0..<devices).filter { bits >> UInt64($0) & 1 == 1 })
        }
    }
}
