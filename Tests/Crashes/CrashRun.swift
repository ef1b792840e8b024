#if CommandLineTools && SQLite
    import Foundation
    import MeshBase
    import MeshSQLiteStorage
    import SessionMesh

    /// The parent process: starts both sides, kills them and checks the results.
    struct CrashRun {
        let kills: Int
        let seed: UInt64
        private let folders: [Side: SideFolder]
        private var random: SplitMix64
        private var report: CrashReport
        private var launch = 0
        /// Taps that were only in a store that was put aside.
        private var lostWithStores: Set<Tap> = []
        /// The number of a launch's samples in the remaining store, when the store with more samples was put aside.
        private var samplesKept: [Recorder: Int] = [:]
        private var readers: [Side: StoreReaders]

        init(kills: Int, seed: UInt64, folder: URL) throws {
            self.kills = kills
            self.seed = seed
            folders = [.left: try SideFolder(.left, in: folder), .right: try SideFolder(.right, in: folder)]
            readers = folders.mapValues(StoreReaders.init)
            random = SplitMix64(seed: seed)
            report = CrashReport(seed: seed)
        }

        /// - Parameter progress: Called with the number of kills so far.
        mutating func perform(progress: (Int) -> Void) throws -> CrashReport {
            let start = ContinuousClock.now
            while report.kills < kills {
                try round()
                progress(report.kills)
            }
            try settle()
            try judge()
            report.readings = Readings(readers.values.map(\.readings))
            report.failures += readers.values.flatMap(\.readings.failures)
            report.seconds = (ContinuousClock.now - start) / .seconds(1)
            return report
        }

        // MARK: - Rounds

        private mutating func round() throws {
            let pair = try start(settling: false)
            defer { pair.end() }
            live(pair)
            let victim: Side = random.upTo(1) == 0 ? .left : .right
            try kill(victim, of: pair)
            readers[victim]?.read()
            // Usually the other side notices and exits. At times it is killed as well, before or after it exits.
            if random.upTo(3) == 0, report.kills < kills {
                Thread.sleep(forTimeInterval: Double(random.upTo(5_000)) / 1e6)
                try kill(victim.other, of: pair)
            }
            try pair.waitForEnd()
            readers[victim.other]?.read()
            if random.upTo(11) == 0 {
                try loseStore(of: victim)
                try heal()
            }
        }

        /// Lets the pair run: short enough to hit launch, hello and join, and at times long enough for much to pile up.
        private mutating func live(_ pair: PeerPair) {
            let lifetime = random.upTo(random.upTo(5) == 0 ? 900_000 : 120_000)
            // As a widget does, another process reads both stores all the while.
            let end = ContinuousClock.now + .microseconds(lifetime)
            while ContinuousClock.now < end {
                for side in Side.allCases { readers[side]?.read() }
                Thread.sleep(forTimeInterval: 0.001)
            }
        }

        /// Lets both sides synchronize. The next store to lose must not hold the only copy, or soon nothing would be
        /// left.
        private mutating func heal() throws {
            let pair = try start(settling: false)
            defer { pair.end() }
            let deadline = ContinuousClock.now + hangs
            while !Side.allCases.allSatisfy({ pair.standing(of: $0)?.isMember == true }) {
                if let failure = pair.failure { throw CrashTestError("a peer \(failure); replay with --seed \(seed)") }
                guard ContinuousClock.now < deadline else {
                    throw CrashTestError(
                        "not a member again ten minutes after its store was lost; replay with --seed \(seed)")
                }
                Thread.sleep(forTimeInterval: 0.005)
            }
            live(pair)
        }

        private mutating func kill(_ side: Side, of pair: PeerPair) throws {
            // A side that has already exited doesn't count.
            guard pair.kill(side) else { return }
            report.kills += 1
            report.killsBySide["\(side)", default: 0] += 1
        }

        private mutating func loseStore(of side: Side) throws {
            guard let folder = folders[side], let other = folders[side.other] else { return }
            report.storesLost += 1
            let aside = try folder.putStoreAside(report.storesLost)
            readers[side]?.forget()
            let (lost, kept) = (try taps(in: aside), try taps(in: other.store))
            lostWithStores.formUnion(lost.subtracting(kept))
            let samples = (lost: try samples(in: aside), kept: try samples(in: other.store))
            for (recorder, numbers) in samples.lost {
                let keptCount = samples.kept[recorder]?.count ?? 0
                if keptCount < numbers.count {
                    samplesKept[recorder] = min(samplesKept[recorder] ?? .max, keptCount)
                }
            }
        }

        private mutating func start(settling: Bool) throws -> PeerPair {
            launch += 1
            report.launches += 2
            return try PeerPair(folders: folders, launch: launch, settling: settling)
        }

        /// Runs both sides without taps until they report the same for a second.
        private mutating func settle() throws {
            let pair = try start(settling: true)
            defer { pair.end() }
            let deadline = ContinuousClock.now + hangs
            var sameSince: ContinuousClock.Instant?
            while ContinuousClock.now < deadline {
                Thread.sleep(forTimeInterval: 0.02)
                if let failure = pair.failure { throw CrashTestError("a peer \(failure); replay with --seed \(seed)") }
                guard let left = pair.standing(of: .left), left == pair.standing(of: .right), left.isMember,
                    left.isSettled
                else {
                    sameSince = nil
                    continue
                }
                let since = sameSince ?? .now
                sameSince = since
                if ContinuousClock.now - since > .seconds(1) { return }
            }
            let standings = Side.allCases.map { side in "\(side): \(pair.standing(of: side)?.line ?? "silent")" }
            report.failures.append("not settled after ten minutes; \(standings.joined(separator: ", "))")
        }

        // MARK: - Judgement

        private mutating func judge() throws {
            var orders: [Side: [Tap]] = [:]
            for (side, folder) in folders { orders[side] = try order(in: folder.store) }
            let (left, right) = (orders[.left] ?? [], orders[.right] ?? [])
            if left != right {
                report.failures.append(
                    "left has \(left.count) taps and right \(right.count), not the same in the same order")
            }
            let final = Set(left)
            report.applied = left.count
            report.digest = Taps(all: left).digest
            if final.count != left.count { report.failures.append("\(left.count - final.count) taps came twice") }

            for folder in folders.values {
                let accepted = LineFile.lines(of: folder.accepted).compactMap { UInt64($0).map(Tap.init(rawValue:)) }
                report.accepted += accepted.count
                let missing = accepted.filter { !final.contains($0) }
                let unexplained = missing.filter { !lostWithStores.contains($0) }
                report.lostWithStores += missing.count - unexplained.count
                if let first = unexplained.first {
                    report.failures.append(
                        "\(unexplained.count) accepted taps of \(folder.side) are lost, the first is \(first)")
                }
                judgeEffects(folder)
            }
            try judgeSamples()
        }

        /// Checks that both sides have the same samples: a gapless prefix of each launch, with all samples known to be
        /// stored.
        private mutating func judgeSamples() throws {
            var held: [Side: [Recorder: [Int]]] = [:]
            for (side, folder) in folders { held[side] = try samples(in: folder.store) }
            if held[.left] != held[.right] { report.failures.append("the sides hold different samples") }
            let final = held[.left] ?? [:]
            report.samples = final.values.reduce(0) { $0 + $1.count }
            for (recorder, numbers) in final where numbers != Array(1...max(1, numbers.count)) {
                report.failures.append("samples of \(recorder.side) \(recorder.launch) are not 1 to \(numbers.count)")
            }
            for folder in folders.values {
                var stored: [Int: Int] = [:]
                for line in LineFile.lines(of: folder.recorded) {
                    let words = line.split(separator: " ").compactMap { Int($0) }
                    if words.count == 2 { stored[words[0]] = words[1] }
                }
                for (launch, count) in stored {
                    let recorder = Recorder(side: folder.side, launch: launch)
                    let there = final[recorder]?.count ?? 0
                    report.samplesStored += count
                    guard there < count else { continue }
                    if let kept = samplesKept[recorder], there >= kept {
                        report.samplesLostWithStores += count - there
                    } else {
                        report.failures.append(
                            "\(count - there) of \(count) stored samples of \(folder.side) \(launch) are lost")
                    }
                }
            }
        }

        /// Returns the sample numbers in a store.
        private func samples(in folder: URL) throws -> [Recorder: [Int]] {
            let store = try SQLiteStore(path: folder.appendingPathComponent("session.sqlite").path)
            defer { store.close() }
            var replica = SeriesReplica(
                peerID: "", prefix: TapArchive.seriesPrefix(SideFolder.featureID, SideFolder.sessionID),
                byteCountMax: .max, makeIncarnation: { 0 })
            try replica.load(from: store)
            var numbers: [Recorder: [Int]] = [:]
            for extent in replica.extents {
                guard let side = Side.allCases.first(where: { "\($0)" == extent.id.peerID }) else { continue }
                try extent.reading.forEachTable(in: .min ... .max, of: store) { table in
                    let reader = SampleReader(table)
                    for index in 0..<table.count {
                        let pulse = try reader.sample(index, as: Pulse.self)
                        numbers[Recorder(side: side, launch: pulse.launch), default: []].append(pulse.number)
                    }
                }
            }
            return numbers
        }

        /// Checks that an effect runs once per launch. After a crash between running and marking, the next launch runs
        /// it again.
        private mutating func judgeEffects(_ folder: SideFolder) {
            var seen: Set<Substring> = []
            var taps: [Substring: Int] = [:]
            for line in LineFile.lines(of: folder.effects) {
                let words = line.split(separator: " ")
                guard words.count == 2 else { continue }
                report.effects += 1
                if !seen.insert(line).inserted {
                    report.failures.append(
                        "\(folder.side) ran the effect of tap \(words[1]) twice in launch \(words[0])")
                }
                taps[words[1], default: 0] += 1
            }
            report.effectsRepeated += taps.values.reduce(0) { $0 + $1 - 1 }
        }

        private func taps(in store: URL) throws -> Set<Tap> { Set(try order(in: store)) }

        /// Returns a store's taps, base and log, in order.
        private func order(in folder: URL) throws -> [Tap] {
            let store = try SQLiteStore(path: folder.appendingPathComponent("session.sqlite").path)
            defer { store.close() }
            var archive = try TapArchive(store: store, sessionID: SideFolder.sessionID, featureID: SideFolder.featureID)
            guard let image = try archive.load() else { return [] }
            return image.base.reduced.state.all
                + image.log.compactMap { record in
                    if case .event(let tap) = record.content { tap } else { nil }
                }
        }
    }

    struct CrashReport: Codable {
        var seed: UInt64
        var kills = 0
        var killsBySide: [String: Int] = [:]
        var storesLost = 0
        var launches = 0
        /// Taps that a peer had accepted and recorded as accepted before it died.
        var accepted = 0
        /// Taps in the final order: the recorded ones, and some accepted but not yet recorded.
        var applied = 0
        var lostWithStores = 0
        /// Samples that both have in the end. The next two: samples that a peer knew to be stored, and samples lost
        /// with stores.
        var samples = 0
        var samplesStored = 0
        var samplesLostWithStores = 0
        var effects = 0
        var effectsRepeated = 0
        var readings = Readings()
        var digest: UInt64 = 0
        var seconds = 0.0
        var failures: [String] = []

        init(seed: UInt64) { self.seed = seed }

        var text: String {
            let sides = killsBySide.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
            let counts = """
                \(kills) kills (\(sides)) in \(launches) launches, \(storesLost) stores lost, \(Int(seconds)) s, seed \(seed)
                \(accepted) taps accepted, \(applied) in the final order, \(lostWithStores) lost with the only store that \
                had them
                \(samplesStored) samples stored, \(samples) held by both, \(samplesLostWithStores) lost with the only store that \
                had them
                \(effects) side effects, \(effectsRepeated) run again after a crash
                \(readings.text)
                """
            return failures.isEmpty ? counts : counts + "\n" + failures.map { "FAILED: \($0)" }.joined(separator: "\n")
        }
    }
#endif
