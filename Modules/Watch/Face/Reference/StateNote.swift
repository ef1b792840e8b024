import Foundation
import MeshIdentity
import MeshWatchConnectivityTransport

// Values of WatchConnectivitySwift 5 carry no time. To order two of them after a launch, this library writes a note
// next to each state in the application context: hashes of the value written here last, and of the counterpart's value
// known at that time. A value that doesn't match its note was written later, or the state's store didn't have it yet.
// `StateHistory.reconciliation` uses this.

/// A note next to a state in the application context, about the values that the state's store had when it was written.
struct StateNote: Hashable, Sendable {
    /// The hash of the JSON value that this app wrote last; nil if there was none.
    var own: UInt64?
    /// The hash of the counterpart's JSON value that was known at that time; nil if there was none.
    var seen: UInt64?

    init(own: Data?, seen: Data?) {
        self.own = own.map(Self.hash)
        self.seen = seen.map(Self.hash)
    }

    static func key(_ typeName: String) -> String { WatchSessionMultiplexer.prefix + "state/" + typeName }

    /// Returns a hash that is never 0, because 0 stands for no value.
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

/// The contents of both contexts for one state at launch, and the conclusion from them.
struct StateHistory {
    /// The value in this app's context.
    var own: Data?
    /// The value in the counterpart's context.
    var received: Data?
    /// The note in this app's context. WatchConnectivitySwift 5 leaves a note unchanged when it writes a value, so the
    /// note then no longer matches the value.
    var note: StateNote?
    /// The note in the counterpart's context.
    var theirs: StateNote?

    enum Reconciliation: Equatable {
        /// Values older than every dated change. If there are two, the last one is more likely to be current.
        case old([Data])
        /// A value written since this library last ran here.
        case change(Data)
    }

    var reconciliation: Reconciliation {
        guard let note else { return atFirstLaunch }
        let isOwnKnown = note.own == own.map(StateNote.hash)
        // A value that the counterpart's mesh wrote arrives through the mesh too, with its versions.
        let isReceivedKnown = received.map { note.seen == StateNote.hash($0) || isTheirs($0) } ?? true
        if let own, !isOwnKnown, theirs?.seen != StateNote.hash(own) { return .change(own) }
        if let received, !isReceivedKnown { return .change(received) }
        return .old(own.map { [$0] } ?? [])
    }

    /// The reconciliation if this app has no note, because it ran WatchConnectivitySwift 5 before. Values of that
    /// library have no order, so this app's own value wins: the counterpart starts from it at each launch.
    private var atFirstLaunch: Reconciliation {
        guard let own else { return .old(received.map { [$0] } ?? []) }
        guard let received, received != own else {
            return theirs != nil && theirs?.seen != StateNote.hash(own) ? .change(own) : .old([own])
        }
        guard let theirs, isTheirs(received) else { return .old([received, own]) }
        return theirs.seen == StateNote.hash(own) ? .old([received]) : .change(own)
    }

    private func isTheirs(_ bytes: Data) -> Bool { theirs.map { $0.own == StateNote.hash(bytes) } ?? false }
}
