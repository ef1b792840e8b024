#if CommandLineTools && SQLite
    import Foundation
    import SessionMesh

    /// One tap, of which there is only one in a whole run: who, in which launch, and its number there.
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

    /// All taps in their order: one that is lost, doubled or misplaced shows.
    struct Taps: Codable, Equatable, Sendable {
        var all: [Tap] = []

        var digest: UInt64 {
            all.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ $1.rawValue) &* 0x100_0000_01b3 }
        }
    }

    struct TapReducer: SessionSyncReducer {
        func reduce(state: inout Taps, event: Tap, context: SessionEventContext) { state.all.append(event) }
    }

    typealias TapSession = SyncedSession<Taps, Tap, TapReducer, AcceptingConflictPolicy<Taps, Tap>>
    typealias TapArchive = SessionArchive<Taps, Tap>

    /// A sample, of which there is only one in a whole run.
    struct Pulse: Codable, Sendable {
        var launch: Int
        /// From 1 on in each launch.
        var number: Int
    }

    extension Series<Pulse> {
        static let pulse = Series("pulse")
    }

    /// Whose samples.
    struct Recorder: Hashable {
        var side: Side
        var launch: Int
    }

    /// Where one side keeps its store, and what it says of itself: lines that are in the file once `write` returns,
    /// whatever becomes of the process.
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
        /// Taps that the session had accepted.
        var accepted: URL { url.appendingPathComponent("accepted") }
        /// Launch, and how many of its samples were in the store.
        var recorded: URL { url.appendingPathComponent("recorded") }
        /// Launch and tap of every side effect.
        var effects: URL { url.appendingPathComponent("effects") }

        /// Moves the store out of the way, as if it had been lost.
        func putStoreAside(_ number: Int) throws -> URL {
            let aside = url.appendingPathComponent("store-\(number)")
            try FileManager.default.moveItem(at: store, to: aside)
            try FileManager.default.createDirectory(at: store, withIntermediateDirectories: true)
            return aside
        }
    }

    /// Appends lines, each with one call to the system. What a crash has cut short is removed first.
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

        /// The whole lines of a file; a line that a crash cut short counts for nothing.
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
