import Foundation
import MeshIdentity
import MeshWatchConnectivityTransport

/// Beside a state in the application context: which value was written last by this library, and which of the
/// counterpart's was known then. So two values that bear no time can be ordered, also after a launch.
struct StateNote: Hashable, Sendable {
    /// Hashes of a value in JSON; nil where there was none.
    var own: UInt64?
    var seen: UInt64?

    init(own: Data?, seen: Data?) {
        self.own = own.map(Self.hash)
        self.seen = seen.map(Self.hash)
    }

    static func key(_ typeName: String) -> String { WatchSessionMultiplexer.prefix + "state/" + typeName }

    /// 0 would be none.
    static func hash(_ bytes: Data) -> UInt64 { max(1, StableHash([UInt8](bytes)).low) }

    // MARK: In the context

    init?(_ data: Data?) {
        guard let data, data.count == 16 else { return nil }
        let words = [data.prefix(8), data.suffix(8)].map { $0.reduce(UInt64(0)) { $0 << 8 | UInt64($1) } }
        (own, seen) = (words[0] == 0 ? nil : words[0], words[1] == 0 ? nil : words[1])
    }

    var data: Data {
        let words = [own ?? 0, seen ?? 0]
        return Data(words.flatMap { word in (0..<8).reversed().map { UInt8(truncatingIfNeeded: word >> ($0 * 8)) } })
    }
}

/// What the two contexts say of one state when an app is launched, and what follows from it.
struct StateHistory {
    /// What this app has in its context, and the counterpart in its own.
    var own: Data?
    var received: Data?
    /// What this library has noted beside them, here and there. An app with WatchConnectivitySwift 5 leaves a note as it
    /// is, so that it no longer fits the value.
    var note: StateNote?
    var theirs: StateNote?

    enum Verdict: Equatable {
        /// Older than every change that bears a time; of several the last is the likelier one.
        case old([Data])
        /// Made since this library ran here.
        case change(Data)
    }

    var verdict: Verdict {
        guard let note else { return atFirstLaunch }
        let isOwnKnown = note.own == own.map(StateNote.hash)
        // What the counterpart's mesh has written comes with its versions too.
        let isReceivedKnown = received.map { note.seen == StateNote.hash($0) || isTheirs($0) } ?? true
        if let own, !isOwnKnown, theirs?.seen != StateNote.hash(own) { return .change(own) }
        if let received, !isReceivedKnown { return .change(received) }
        return .old(own.map { [$0] } ?? [])
    }

    /// The app had WatchConnectivitySwift 5 before, whose values have no order. That of this app stands: it is what the
    /// counterpart begins with at each launch.
    private var atFirstLaunch: Verdict {
        guard let own else { return .old(received.map { [$0] } ?? []) }
        guard let received, received != own else {
            return theirs != nil && theirs?.seen != StateNote.hash(own) ? .change(own) : .old([own])
        }
        guard let theirs, isTheirs(received) else { return .old([received, own]) }
        return theirs.seen == StateNote.hash(own) ? .old([received]) : .change(own)
    }

    private func isTheirs(_ bytes: Data) -> Bool { theirs.map { $0.own == StateNote.hash(bytes) } ?? false }
}
