#if CommandLineTools && SQLite
    import Foundation
    import MeshSQLiteStorage
    import SessionMesh

    /// Reads one side's session from outside, while its process writes, dies or is gone.
    struct StoreReaders {
        private let folder: SideFolder
        /// The number of lines in the file of accepted taps when the side's store was last lost.
        private var lost = 0
        private(set) var readings = Readings()

        init(_ folder: SideFolder) { self.folder = folder }

        /// Expects no more what was only in a store that was put aside.
        mutating func forget() { lost = LineFile.lines(of: folder.accepted).count }

        /// Reads the session, and checks it against what the side had said to be accepted before.
        mutating func read() {
            let accepted = LineFile.lines(of: folder.accepted).dropFirst(lost).suffix(40)
                .compactMap { UInt64($0).map(Tap.init(rawValue:)) }
            let start = ContinuousClock.now
            do {
                let store = try SQLiteStore.snapshot(path: folder.store.appendingPathComponent("session.sqlite").path)
                let reading = try SessionReader(TapReducer(), .id(SideFolder.sessionID), in: store).read()
                readings.note(ContinuousClock.now - start, taps: reading.state.all.count)
                let taps = Set(reading.state.all)
                if taps.count != reading.state.all.count { fail("read a tap twice") }
                if let missing = accepted.first(where: { !taps.contains($0) }) {
                    fail("read a state without \(missing)")
                }
            } catch let error as StorageError where error.code == .missing && accepted.isEmpty {
                readings.early += 1
            } catch let error as StorageError where error.code == .busy {
                readings.busy += 1
            } catch {
                fail("a reader got \(error)")
            }
        }

        private mutating func fail(_ what: String) {
            // The first say enough.
            if readings.failures.count < 3 { readings.failures.append("\(folder.side): \(what)") }
        }
    }

    /// The results and times of readings.
    struct Readings: Codable {
        var count = 0
        /// Readings before the side had created its session.
        var early = 0
        /// Readings that found no moment at which the store rested.
        var busy = 0
        var tapsMax = 0
        var milliseconds = 0.0
        var millisecondsMax = 0.0
        var failures: [String] = []

        init() {}

        init(_ parts: [Readings]) {
            for part in parts {
                count += part.count
                early += part.early
                busy += part.busy
                tapsMax = max(tapsMax, part.tapsMax)
                milliseconds += part.milliseconds
                millisecondsMax = max(millisecondsMax, part.millisecondsMax)
            }
        }

        mutating func note(_ duration: Duration, taps: Int) {
            count += 1
            tapsMax = max(tapsMax, taps)
            milliseconds += duration / .milliseconds(1)
            millisecondsMax = max(millisecondsMax, duration / .milliseconds(1))
        }

        var text: String {
            """
            \(count) readings of up to \(tapsMax) taps from outside in \(Int(milliseconds / Double(max(count, 1)) * 1000)) µs each, \
            \(Int(millisecondsMax)) ms at most; \(early) before there was a session, \(busy) found the store busy
            """
        }
    }
#endif
