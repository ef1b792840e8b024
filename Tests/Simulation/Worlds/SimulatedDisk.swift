import MeshBase
import MeshStorage

/// A store that fails on purpose: it refuses a commit, loses power in the middle of one, or forgets the latest ones.
///
/// A commit is whole or not at all even then, because that is what stores promise; which of the two it was, nobody is
/// told.
final class SimulatedDisk: SessionStore {
    /// What becomes of the next commit.
    enum Fate: Equatable {
        case succeeds
        /// No room: nothing has been done.
        case isRefused
        /// The power goes while it is under way.
        case isCutShort(isWritten: Bool)

        var isWritten: Bool {
            switch self {
            case .succeeds: true
            case .isRefused: false
            case .isCutShort(let isWritten): isWritten
            }
        }
    }

    private struct State {
        var contents = StoreContents()
        var fate = Fate.succeeds
        /// Commits before it is due.
        var commitsBefore = 0
        var isOff = false
    }

    private let state = Locked(State())
    let durability: StoreDurability
    /// Whether a cut is the end of it: what its process still has under way writes nothing more.
    private let staysOff: Bool

    /// - Parameter durability: `.memory` has sessions call it on the thread that they are on.
    init(_ contents: StoreContents = StoreContents(), durability: StoreDurability = .process, staysOff: Bool = false) {
        self.durability = durability
        self.staysOff = staysOff
        state.withLock { $0.contents = contents }
    }

    /// What is on it; another content is what is left after a loss.
    var contents: StoreContents {
        get { state.withLock { $0.contents } }
        set { state.withLock { $0.contents = newValue } }
    }

    /// - Parameter commits: so many succeed first.
    func prepare(_ fate: Fate, after commits: Int = 0) {
        state.withLock { ($0.fate, $0.commitsBefore) = (fate, commits) }
    }

    /// The power is gone.
    var isOff: Bool { state.withLock { $0.isOff } }

    func turnOff() { state.withLock { $0.isOff = true } }

    func commit(_ batch: StoreBatch) throws {
        try state.withLock { state in
            guard !state.isOff else { throw StorageError(.unavailable, "the power is gone") }
            guard state.commitsBefore == 0 else {
                state.commitsBefore -= 1
                return try state.contents.commit(batch)
            }
            let fate = state.fate
            state.fate = .succeeds
            if fate.isWritten { try state.contents.commit(batch) }
            if staysOff, case .isCutShort = fate { state.isOff = true }
            switch fate {
            case .succeeds: return
            case .isRefused: throw StorageError(.full, "no room on the disk; free some")
            case .isCutShort: throw StorageError(.unavailable, "the power is gone")
            }
        }
    }

    func value(for key: String) throws -> [UInt8]? { contents.value(for: key) }
    func catalog(prefix: String) throws -> StoreCatalog { contents.catalog(prefix: prefix) }

    func entries(of journal: String, from position: UInt64, maxBytes: Int) throws -> [StoreEntry] {
        contents.entries(of: journal, from: position, maxBytes: maxBytes)
    }

    func close() {}
}

/// What peers keep their sessions in.
public enum SimulatedStores: String, CaseIterable, Sendable {
    /// Keeps an engine as it is.
    case perfect
    /// An archive on a disk that refuses commits, is cut short in the middle of one, and forgets the latest.
    case faulty
}
