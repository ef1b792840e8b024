#if CommandLineTools
    import MeshToolOutput
    import WorkoutExample

    /// The content of a live view of a replay: the reports of the two processes, and the state of the link between them, which
    /// this process controls.
    struct LiveScene {
        /// A tap made on one device that the other doesn't have yet, or has just received.
        struct Message: Equatable {
            let from: ReplayPlan.Actor
            let name: String
            let number: UInt64
            /// Number of the line between the devices that shows it, from 0.
            let line: Int
            var sentAt: Duration
            var isHeld: Bool
        }

        /// Bytes that one device has sent and this process has not yet passed on to the other.
        struct Packet: Equatable {
            let from: ReplayPlan.Actor
            var sentAt: Duration
        }

        struct Remark: Equatable {
            let at: Duration
            /// Parts of the text. As many as fit are shown.
            let parts: [String]
        }

        static let messagesMax = 6
        private static let remarksMax = 64
        private static let packetsMax = 256

        let title: String
        /// Delay of the link; nil for none.
        let delay: Duration?
        private(set) var now = Duration.zero
        private(set) var joined: Set<ReplayPlan.Actor> = []
        private(set) var devices: [ReplayPlan.Actor: LiveDevice] = [:]
        private(set) var messages: [Message] = []
        private(set) var packets: [Packet] = []
        private(set) var remarks: [Remark] = []
        private(set) var isApart = false
        private(set) var summaries: [ReplayPlan.Actor: PeerSummary] = [:]

        init(title: String, delay: Duration?) {
            self.title = title
            self.delay = delay
        }

        mutating func pass(to now: Duration) {
            self.now = max(self.now, now)
            guard !isApart else { return }
            packets.removeAll { self.now - $0.sentAt > delay ?? .zero }
        }

        mutating func join(_ actor: ReplayPlan.Actor) {
            joined.insert(actor)
            remark(
                "\(actor.rawValue) starts", "a process of its own",
                actor == .watch ? "and catches up from the phone" : "")
        }

        /// Records that a device has sent bytes to the other one.
        mutating func send(from actor: ReplayPlan.Actor) {
            guard packets.count < Self.packetsMax else { return }
            packets.append(Packet(from: actor, sentAt: now))
        }

        mutating func take(_ report: PeerReport, from actor: ReplayPlan.Actor) {
            switch report {
            case .progress, .failed: break
            case .tapped(let name, let number): tapped(name, number, on: actor)
            case .state(let device):
                devices[actor] = device
                arrive(upTo: device.held, at: actor)
            case .finished(let summary):
                summaries[actor] = summary
                arrive(upTo: .max, at: actor)
                remark("\(actor.rawValue) is done", "\(summary.events) taps", "\(summary.samples) samples")
            }
        }

        /// - Parameter isApart: True while this process holds back what the devices send.
        mutating func reach(isApart: Bool) {
            guard isApart != self.isApart else { return }
            self.isApart = isApart
            if isApart {
                remark("out of range", "taps work on both sides", "and wait")
            } else {
                remark("back in range", "waiting taps are on their way")
            }
            for index in messages.indices where messages[index].isHeld || isApart {
                messages[index].isHeld = isApart
                if !isApart { messages[index].sentAt = now }
            }
            if !isApart { for index in packets.indices { packets[index].sentAt = now } }
        }

        /// Returns how far something sent at that time has traveled, from 0 to 1.
        func progress(since sentAt: Duration) -> Double {
            guard let delay, delay > .zero else { return 0 }
            return min(1, max(0, (now - sentAt) / delay))
        }

        /// True if both have ended with the same state and samples; nil until both have ended.
        var agrees: Bool? {
            guard let phone = summaries[.phone], let watch = summaries[.watch] else { return nil }
            return phone.digest == watch.digest && phone.trackDigest == watch.trackDigest
        }

        /// Returns the taps of a device that are in flight or wait.
        func waiting(from actor: ReplayPlan.Actor) -> [Message] { messages.filter { $0.from == actor } }

        private mutating func tapped(_ name: String, _ number: UInt64, on actor: ReplayPlan.Actor) {
            let other = actor == .phone ? ReplayPlan.Actor.watch : .phone
            guard joined.contains(other) else { return remark("\(actor.rawValue): \(name)", "shown at once") }
            remark(
                "\(actor.rawValue): \(name)", "shown at once", isApart ? "waits" : "on its way to the \(other.rawValue)"
            )
            let taken = Set(messages.map(\.line))
            guard let line = (0..<Self.messagesMax).first(where: { !taken.contains($0) }) else { return }
            messages.append(
                Message(from: actor, name: name, number: number, line: line, sentAt: now, isHeld: isApart))
        }

        private mutating func arrive(upTo number: UInt64, at actor: ReplayPlan.Actor) {
            for message in messages where message.from != actor && message.number <= number {
                remark("\(actor.rawValue) has it: \(message.name)")
            }
            messages.removeAll { $0.from != actor && $0.number <= number }
        }

        private mutating func remark(_ parts: String...) {
            remarks.append(Remark(at: now, parts: parts.filter { !$0.isEmpty }))
            if remarks.count > Self.remarksMax { remarks.removeFirst() }
        }
    }
#endif
