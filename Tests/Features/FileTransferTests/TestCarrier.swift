import Foundation
import MeshBase
import MeshConnection
import MeshIdentity

@testable import MeshFileTransfer

/// A platform that moves complete files on request, and deletes them when its callback returns. Its files outlive the
/// apps.
final class TestPlatform: Sendable {
    struct Cargo: Sendable {
        let id: UUID
        let path: String
        let header: Data
    }

    private struct State {
        var cargo: [Cargo] = []
        var deliveredCount = 0
        var takenCount = 0
    }

    private let state = Locked(State())
    private let root: URL

    init(root: URL) { self.root = root }

    var outstandingIDs: Set<UUID> { state.withLock { Set($0.cargo.map(\.id)) } }
    var deliveredCount: Int { state.withLock { $0.deliveredCount } }
    var takenCount: Int { state.withLock { $0.takenCount } }

    func take(_ file: URL, _ id: UUID, _ header: Data) throws(ConnectionError) {
        let copy = root.appendingPathComponent("cargo-\(UUID().uuidString)")
        do { try FileManager.default.copyItem(at: file, to: copy) } catch { throw .fileNotFound(url: file.path) }
        state.withLock {
            $0.cargo.append(Cargo(id: id, path: copy.path, header: header))
            $0.takenCount += 1
        }
    }

    func cancel(_ id: UUID) { state.withLock { $0.cargo.removeAll { $0.id == id } } }

    /// Hands over the next file, then deletes it.
    @discardableResult
    func deliver(to receiver: any FileCarrierObserver) -> UUID? {
        let cargo = state.withLock { state -> Cargo? in
            guard !state.cargo.isEmpty else { return nil }
            state.deliveredCount += 1
            return state.cargo.removeFirst()
        }
        guard let cargo else { return nil }
        receiver.received(URL(fileURLWithPath: cargo.path), header: cargo.header)
        try? FileManager.default.removeItem(atPath: cargo.path)
        return cargo.id
    }
}

/// One side's access to the platform.
final class TestCarrier: FileCarrier {
    private let platform: TestPlatform
    private let observer = Locked<WeakObserver?>(nil)
    private let refusal = Locked<ConnectionError?>(nil)

    private struct WeakObserver: Sendable {
        weak var observer: (any FileCarrierObserver)?
    }

    init(_ platform: TestPlatform) { self.platform = platform }

    var current: (any FileCarrierObserver)? { observer.withLock { $0?.observer } }
    var outstandingIDs: Set<UUID> { error == nil ? platform.outstandingIDs : [] }
    /// The error for every new file. While it is set, the carrier lists none of its files.
    var error: ConnectionError? {
        get { refusal.withLock { $0 } }
        set { refusal.withLock { $0 = newValue } }
    }

    func begin(_ observer: any FileCarrierObserver) { self.observer.withLock { $0 = WeakObserver(observer: observer) } }

    func carry(_ file: URL, id: UUID, header: Data) throws(ConnectionError) {
        if let error { throw error }
        try platform.take(file, id, header)
    }

    func cancel(_ id: UUID) { platform.cancel(id) }
}
