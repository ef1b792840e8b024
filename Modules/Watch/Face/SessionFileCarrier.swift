import Foundation
import MeshBase
import MeshConnection
import MeshFileTransfer
import MeshIdentity
import MeshTransport
import MeshWatchConnectivityTransport

#if canImport(WatchConnectivity)
    import WatchConnectivity
#else
    import MeshSimulatedWatch
#endif

/// Sends and receives complete files through the session's `transferFile`. Files to and from a counterpart that runs
/// WatchConnectivitySwift 5 have that library's format.
final class SessionFileCarrier: FileCarrier, WatchSessionListener {
    private static let headerKey = WatchSessionMultiplexer.prefix + "file"
    private static let idKey = WatchSessionMultiplexer.prefix + "file.id"
    /// The interval at which progress is polled while files are being sent.
    private static let progressGap = Duration.seconds(1)

    private struct State {
        weak var observer: (any FileCarrierObserver)?
        var isPolling = false
    }

    private let counterpart: CounterpartTransport
    private let clock: any DeliveryClock
    private let state = Locked(State())

    init(counterpart: CounterpartTransport, clock: any DeliveryClock) {
        self.counterpart = counterpart
        self.clock = clock
    }

    private var multiplexer: WatchSessionMultiplexer { counterpart.port.multiplexer }

    func begin(_ observer: any FileCarrierObserver) {
        state.withLock { $0.observer = observer }
        multiplexer.attach(self)
        startPolling()
    }

    func carry(_ file: URL, id: UUID, header: Data) throws(ConnectionError) {
        guard multiplexer.session.activationState == .activated else { throw .notActivated }
        // A counterpart that doesn't read headers needs the app's own metadata as well.
        var metadata = counterpart.dialect == .mesh ? [:] : CarriedHeader.metadata(in: header) ?? [:]
        metadata[Self.headerKey] = header
        metadata[Self.idKey] = id.uuidString
        multiplexer.session.transferFile(file, metadata: metadata)
        startPolling()
    }

    func cancel(_ id: UUID) {
        for transfer in multiplexer.session.outstandingFileTransfers where Self.id(of: transfer) == id {
            transfer.cancel()
        }
    }

    var outstandingIDs: Set<UUID> { Set(multiplexer.session.outstandingFileTransfers.compactMap(Self.id(of:))) }

    private static func id(of transfer: WCSessionFileTransfer) -> UUID? {
        (transfer.file.metadata?[idKey] as? String).flatMap(UUID.init(uuidString:))
    }

    // MARK: Events of the session

    func session(_ event: WatchSessionEvent, _ state: WCSessionState) {}

    func take(_ content: WatchSessionContent) -> Bool {
        switch content {
        case .file(let file): return take(file)
        case .finishedFile(let transfer, let error):
            guard let id = Self.id(of: transfer) else { return false }
            observer?.finished(id, error: error.map { ConnectionError(error: $0) })
            if error == nil { counterpart.fileWasCarried(id) }
            return true
        case .message, .data, .userInfo, .finishedUserInfo: return false
        }
    }

    private func take(_ file: WCSessionFile) -> Bool {
        guard let observer else { return false }
        if let header = file.metadata?[Self.headerKey] as? Data {
            return observer.received(file.fileURL, header: header)
        }
        // A file without a header comes from WatchConnectivitySwift 5, or it belongs to the app's own delegate.
        guard counterpart.dialect != .mesh, counterpart.dialect == .reference || multiplexer.appDelegate == nil,
            let header = CarriedHeader.make(
                for: file.fileURL, metadata: file.metadata, from: CounterpartTransport.counterpart.id)
        else { return false }
        return observer.received(file.fileURL, header: header)
    }

    private var observer: (any FileCarrierObserver)? { state.withLock { $0.observer } }

    /// Polls progress: the session doesn't report it.
    private func startPolling() {
        let isFirst = state.withLock { state in
            defer { state.isPolling = true }
            return !state.isPolling
        }
        if isFirst { pollProgress() }
    }

    private func pollProgress() {
        let transfers = multiplexer.session.outstandingFileTransfers
        guard !transfers.isEmpty, let observer else { return state.withLock { $0.isPolling = false } }
        for transfer in transfers {
            if let id = Self.id(of: transfer) {
                observer.carried(id, fractionCompleted: transfer.progress.fractionCompleted)
            }
        }
        clock.wake(at: clock.elapsed + Self.progressGap) { [weak self] in self?.pollProgress() }
    }
}
