#if CommandLineTools && SQLite
    import Foundation
    import SessionMesh

    /// A tap that is unique in a run: its side, launch and number in that launch.
    struct Tap: RawRepresentable, Hashable, Codable, Sendable {
        let rawValue: UInt64

        init(rawValue: UInt64) { self.rawValue = rawValue }

        init(side: Side, launch: Int, number: Int) {
            rawValue = UInt64(side.rawValue) << 56 | UInt64(launch) << 24 | UInt64(number)
        }
    }

    extension Tap: CustomStringConvertible {
        var description: String {
            let side = Side(rawValue: UInt8(truncatingIfNeeded: rawValue >> 56)).map { "\($0)" } ?? "nobody"
            return "\(side) \(rawValue >> 24 & 0xFFFF_FFFF).\(rawValue & 0xFF_FFFF)"
        }
    }

    enum Side: UInt8, CaseIterable, Codable, Sendable, CustomStringConvertible {
        case left, right

        var description: String { self == .left ? "left" : "right" }
        var other: Side { self == .left ? .right : .left }
    }

    /// All taps in order, which reveals lost, doubled or misplaced ones.
    struct Taps: Codable, Equatable, Sendable {
        var all: [Tap] = []

        var digest: UInt64 {
            all.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ $1.rawValue) &* 0x100_0000_01b3 }
        }
    }

    struct TapReducer: SessionSyncReducer {
        func reduce(state: inout Taps, event: Tap, context: SessionEventContext) { state.all.append(event) }
    }

    extension TapReducer: SessionFeature {
        static let featureID = SideFolder.featureID
        typealias State = Taps
        typealias Event = Tap
        var initialState: Taps { Taps() }
    }

    typealias TapSession = SyncedSession<Taps, Tap, TapReducer, AcceptingConflictPolicy<Taps, Tap>>
    typealias TapArchive = SessionArchive<Taps, Tap>

    /// A sample that is unique in a run.
    struct Pulse: Codable, Sendable {
        var launch: Int
        /// The number in its launch, from 1.
        var number: Int
    }

    extension Series<Pulse> {
        static let pulse = Series("pulse")
    }

    /// The side and launch that recorded samples.
    struct Recorder: Hashable {
        var side: Side
        var launch: Int
    }

    /// One side's folder: its store and its own records. A record's lines are in the file once `write` returns,
    /// whatever happens to the process.
    struct SideFolder: Sendable {
        let side: Side
        let url: URL

        static let sessionID = UUID(uuid: (0x43, 0x52, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, 0, 1))
        static let featureID = "taps"

        init(_ side: Side, in folder: URL) throws {
            self.side = side
            url = folder.appendingPathComponent("\(side)")
            try FileManager.default.createDirectory(at: store, withIntermediateDirectories: true)
        }

        var store: URL { url.appendingPathComponent("store") }
        /// The file of taps that the session had accepted.
        var accepted: URL { url.appendingPathComponent("accepted") }
        /// The file of launches and the number of each one's stored samples.
        var recorded: URL { url.appendingPathComponent("recorded") }
        /// The file of the launch and tap of every side effect.
        var effects: URL { url.appendingPathComponent("effects") }

        /// Moves the store out of the way, as if it had been lost.
        func putStoreAside(_ number: Int) throws -> URL {
            let aside = url.appendingPathComponent("store-\(number)")
            try FileManager.default.moveItem(at: store, to: aside)
            try FileManager.default.createDirectory(at: store, withIntermediateDirectories: true)
            return aside
        }
    }

    /// A file of lines, each appended with one system call. Removes a line that a crash cut short first.
    struct LineFile {
        private let handle: FileHandle

        init(_ url: URL) throws {
            let descriptor = Foundation.open(url.path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            guard descriptor >= 0 else {
                throw CrashTestError("cannot write \(url.path): \(String(cString: strerror(errno)))")
            }
            handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            let bytes = try Data(contentsOf: url)
            let whole = bytes.lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
            if whole < bytes.count { try handle.truncate(atOffset: UInt64(whole)) }
        }

        func write(_ lines: some Sequence<String>) throws {
            try handle.write(contentsOf: Data(lines.map { $0 + "\n" }.joined().utf8))
        }

        /// Returns the complete lines of a file, without a line that a crash cut short.
        static func lines(of url: URL) -> [Substring] {
            guard let text = try? String(contentsOf: url, encoding: .utf8) else { return [] }
            let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
            return Array(lines.dropLast())
        }
    }

    struct CrashTestError: Error, CustomStringConvertible {
        let description: String

        init(_ description: String) { self.description = description }
    }
#endif
