#if CommandLineTools && SQLite
    import Foundation
    import MeshBase
    import SessionMesh

    /// The parent of the delivery test: keeps both sides running, kills them, and checks what arrived.
    ///
    /// Unlike a session's peers over a pipe, the side that isn't killed stays alive. It must notice, take over the
    /// socket's path if necessary, and reconnect with the other side.
    struct DeliveryRun {
        let kills: Int
        let seed: UInt64
        private let folder: URL
        private let folders: [Side: SideFolder]
        private var children: [Side: Child] = [:]
        private var random: SplitMix64
        private var report: DeliveryReport
        private var launch = 0

        init(kills: Int, seed: UInt64, folder: URL) throws {
            self.kills = kills
            self.seed = seed
            self.folder = folder
            folders = [.left: try SideFolder(.left, in: folder), .right: try SideFolder(.right, in: folder)]
            random = SplitMix64(seed: seed)
            report = DeliveryReport(seed: seed)
        }

        /// - Parameter progress: Called with the number of kills so far.
        mutating func perform(progress: (Int) -> Void) throws -> DeliveryReport {
            let start = ContinuousClock.now
            defer { for child in children.values { _ = child.kill() } }
            for side in Side.allCases { try begin(side, settling: false) }
            while report.kills < kills {
                try round()
                progress(report.kills)
            }
            try settle()
            judge()
            report.seconds = (ContinuousClock.now - start) / .seconds(1)
            return report
        }

        /// Kills one side, at times both, and restarts them at once or a little later.
        private mutating func round() throws {
            // Short enough to hit launch and hello, at times long enough for much to pile up.
            pause(upTo: random.upTo(5) == 0 ? 800_000 : 150_000)
            let victim: Side = random.upTo(1) == 0 ? .left : .right
            var victims = [victim]
            if random.upTo(4) == 0, report.kills + 1 < kills { victims.append(victim.other) }
            for side in victims {
                try kill(side)
                pause(upTo: 5_000)
            }
            if random.upTo(2) == 0 { pause(upTo: 200_000) }
            for side in victims { try begin(side, settling: false) }
        }

        private mutating func pause(upTo microseconds: UInt64) {
            Thread.sleep(forTimeInterval: Double(random.upTo(microseconds)) / 1e6)
        }

        private mutating func begin(_ side: Side, settling: Bool) throws {
            guard let folder = folders[side] else { return }
            launch += 1
            report.launches += 1
            var arguments = [
                "delivering-peer", "--side", "\(side)", "--folder", folder.url.deletingLastPathComponent().path,
                "--launch", "\(launch)",
            ]
            if settling { arguments.append("--settles") }
            // Never written to: the end of input tells the child that the parent is gone.
            children[side] = try Child(arguments, input: Pipe(), output: .nullDevice)
        }

        private mutating func kill(_ side: Side) throws {
            guard let child = children[side] else { return }
            if let failure = child.failure { throw CrashTestError("\(side) \(failure); replay with --seed \(seed)") }
            guard child.kill() else { throw CrashTestError("\(side) exited by itself; replay with --seed \(seed)") }
            child.waitUntilExit()
            report.kills += 1
            report.killsBySide["\(side)", default: 0] += 1
        }

        /// Runs both without sending, until everything that was accepted has arrived.
        private mutating func settle() throws {
            for side in Side.allCases {
                _ = children[side]?.kill()
                children[side]?.waitUntilExit()
            }
            for side in Side.allCases { try begin(side, settling: true) }
            let deadline = ContinuousClock.now + hangs
            while ContinuousClock.now < deadline {
                if let failure = children.values.compactMap(\.failure).first {
                    throw CrashTestError("a peer \(failure); replay with --seed \(seed)")
                }
                if Side.allCases.allSatisfy({ missing(at: $0).isEmpty }) { break }
                Thread.sleep(forTimeInterval: 0.1)
            }
            // Duplicates would arrive now.
            Thread.sleep(forTimeInterval: 1)
            for side in Side.allCases {
                _ = children[side]?.kill()
                children[side]?.waitUntilExit()
            }
        }

        // MARK: - Judgement

        private func accepted(by side: Side) -> [Tap] {
            guard let folder = folders[side] else { return [] }
            return LineFile.lines(of: folder.accepted).compactMap { UInt64($0).map(Tap.init(rawValue:)) }
        }

        private func received(at side: Side) -> [Receipt] { folders[side].map { Receipt.all(in: $0.received) } ?? [] }

        private func missing(at side: Side) -> [Tap] {
            let received = Set(received(at: side).map(\.tap))
            return accepted(by: side.other).filter { !received.contains($0) }
        }

        private mutating func judge() {
            for side in Side.allCases {
                let (taps, accepted) = (received(at: side).map(\.tap), accepted(by: side.other))
                report.accepted += accepted.count
                report.received += taps.count
                report.receivedAgain += folders[side].map { Receipt.all(in: $0.receivedAgain).count } ?? 0
                let missing = missing(at: side)
                if let first = missing.first {
                    report.failures.append("\(side) lacks \(missing.count) accepted taps, the first is \(first)")
                }
                // Launches and numbers ascend, so taps do too. This checks both the order and that no tap came twice.
                if let turn = zip(taps, taps.dropFirst()).first(where: { $0.rawValue >= $1.rawValue }) {
                    report.failures.append("\(side) received \(turn.1) after \(turn.0)")
                }
            }
        }
    }

    struct DeliveryReport: Codable {
        var seed: UInt64
        var kills = 0
        var killsBySide: [String: Int] = [:]
        var launches = 0
        /// Envelopes that `send` had accepted and that the sender recorded as accepted before it died.
        var accepted = 0
        /// The accepted envelopes, and some that were accepted but not yet recorded.
        var received = 0
        /// Elements that a side had received and not yet finished when it was killed.
        var receivedAgain = 0
        var seconds = 0.0
        var failures: [String] = []

        init(seed: UInt64) { self.seed = seed }

        var text: String {
            let sides = killsBySide.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
            let counts = """
                \(kills) kills (\(sides)) in \(launches) launches, \(Int(seconds)) s, seed \(seed)
                \(accepted) envelopes accepted, \(received) received, \(receivedAgain) offered again after a relaunch
                """
            return failures.isEmpty ? counts : counts + "\n" + failures.map { "FAILED: \($0)" }.joined(separator: "\n")
        }
    }
#endif
