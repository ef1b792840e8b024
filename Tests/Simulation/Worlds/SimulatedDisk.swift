import MeshBase
import MeshStorage

/// A store that fails on purpose: it rejects a commit, loses power during one, or loses the latest ones.
///
/// Even then a commit is applied completely or not at all, because stores promise that. After a power failure the
/// caller doesn't know which.
final class SimulatedDisk: SessionStore {
    /// The outcome of the next commit.
    enum Fate: Equatable {
        case succeeds
        /// The disk is full: nothing was written.
        case isRefused
        /// The power fails during the commit.
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
        /// The number of commits that succeed before `fate` applies.
        var commitsBefore = 0
        var isOff = false
    }

    private let state = Locked(State())
    let durability: StoreDurability
    /// True if a power failure is final: later writes of the same process have no effect.
    private let staysOff: Bool

    /// - Parameter durability: With `.memory`, sessions call the store on their own thread.
    init(_ contents: StoreContents = StoreContents(), durability: StoreDurability = .process, staysOff: Bool = false) {
        self.durability = durability
        self.staysOff = staysOff
        state.withLock { $0.contents = contents }
    }

    /// The disk's contents. Set them to simulate a loss.
    var contents: StoreContents {
        get { state.withLock { $0.contents } }
        set { state.withLock { $0.contents = newValue } }
    }

    /// - Parameter commits: The number of commits that succeed first.
    func prepare(_ fate: Fate, after commits: Int = 0) {
        state.withLock { ($0.fate, $0.commitsBefore) = (fate, commits) }
    }

    /// True after a power failure.
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
            case .isRefused: throw StorageError(.full, "The disk is full. Free some space.")
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

/// The kind of store that peers keep their sessions in.
public enum SimulatedStores: String, CaseIterable, Sendable {
    /// Keeps an engine in memory.
    case perfect
    /// An archive on a disk that rejects commits, loses power during one, and loses the latest ones.
    case faulty
}
