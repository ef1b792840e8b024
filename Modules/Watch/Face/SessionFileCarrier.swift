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

/// Has the session move files whole. To a counterpart that has WatchConnectivitySwift 5 a file looks as one of that
/// library's, and so do its files here.
final class SessionFileCarrier: FileCarrier, WatchSessionListener {
    private static let headerKey = WatchSessionMultiplexer.prefix + "file"
    private static let idKey = WatchSessionMultiplexer.prefix + "file.id"
    /// How often progress is looked at while files are under way.
    private static let progressGap = Duration.seconds(1)

    private struct State {
        weak var observer: (any FileCarrierObserver)?
        var isLooking = false
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
        look()
    }

    func carry(_ file: URL, id: UUID, header: Data) throws(ConnectionError) {
        guard multiplexer.session.activationState == .activated else { throw .notActivated }
        // Beside the header the app's own metadata, for those who do not read headers.
        var metadata = counterpart.dialect == .mesh ? [:] : CarriedHeader.metadata(in: header) ?? [:]
        metadata[Self.headerKey] = header
        metadata[Self.idKey] = id.uuidString
        multiplexer.session.transferFile(file, metadata: metadata)
        look()
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

    // MARK: What the session tells

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
        // Without a header it is one of WatchConnectivitySwift 5, unless it is the app's own.
        guard counterpart.dialect != .mesh, counterpart.dialect == .reference || multiplexer.appDelegate == nil,
            let header = CarriedHeader.make(
                for: file.fileURL, metadata: file.metadata, from: CounterpartTransport.counterpart.id)
        else { return false }
        return observer.received(file.fileURL, header: header)
    }

    private var observer: (any FileCarrierObserver)? { state.withLock { $0.observer } }

    /// The session tells nobody how far a file has come.
    private func look() {
        let isMine = state.withLock { state in
            defer { state.isLooking = true }
            return !state.isLooking
        }
        if isMine { lookLater() }
    }

    private func lookLater() {
        let transfers = multiplexer.session.outstandingFileTransfers
        guard !transfers.isEmpty, let observer else { return state.withLock { $0.isLooking = false } }
        for transfer in transfers {
            if let id = Self.id(of: transfer) {
                observer.carried(id, fractionCompleted: transfer.progress.fractionCompleted)
            }
        }
        clock.wake(at: clock.elapsed + Self.progressGap) { [weak self] in self?.lookLater() }
    }
}
