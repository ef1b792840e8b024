import Foundation
import MeshBase

/// A user info or a file that the system moves from one device to the other.
struct Transfer {
    enum Lane: Int {
        case userInfo, file

        var traced: SimulatedWatchTraceEntry.Lane { self == .file ? .file : .userInfo }
    }

    let id: UInt64
    let lane: Lane
    /// The user info, or the file's metadata.
    let content: PropertyList?
    let file: URL?
    let byteCount: Int64
    var isComplication = false
    var isCurrentComplication = false
    /// Received files keep their original name.
    var fileName: String { file?.lastPathComponent ?? "" }
}

/// Transfers of one kind on one route. One moves at a time, in order.
struct TransferLane {
    var queue = Queue<Transfer>()
    /// The ID of the first transfer in the queue, while it is moving.
    var inFlight: UInt64?
    var random = SplitMix64(seed: 0)
}

struct TransferLanes {
    private var userInfos = TransferLane()
    private var files = TransferLane()

    init() {}

    init(keepingRandomOf other: TransferLanes) {
        userInfos.random = other.userInfos.random
        files.random = other.files.random
    }

    subscript(lane: Transfer.Lane) -> TransferLane {
        get { lane == .file ? files : userInfos }
        set { if lane == .file { files = newValue } else { userInfos = newValue } }
        _modify { if lane == .file { yield &files } else { yield &userInfos } }
    }
}

// MARK: - Sending

extension PairCore {
    /// - Parameter content: nil if the app's dictionary isn't a property list.
    mutating func transfer(
        _ content: PropertyList?, isComplication: Bool, by process: AppProcess
    ) -> WCSessionUserInfoTransfer? {
        let route = outgoing(process)
        var code = refusal(process)
        if code == nil { code = content == nil ? .payloadUnsupportedTypes : nil }
        if code == nil, content?.fits(payloadBytesMax) == false { code = .payloadTooLarge }
        // Apple's documentation says that the call fails, and names no error.
        if code == nil, isComplication, process.device == 0, !isComplicationEnabled(process) { code = .genericError }
        var transfer = Transfer(
            id: nextID(), lane: .userInfo, content: content, file: nil,
            byteCount: Int64(content?.byteCount ?? 0))
        if isComplication, process.device == 0, code == nil {
            transfer.isComplication = useComplicationBudget(route)
            transfer.isCurrentComplication = true
            routes[route].lanes[.userInfo].queue.update { $0.isCurrentComplication = false }
        }
        let object = WCSessionUserInfoTransfer(
            id: transfer.id, process: process, content: content ?? PropertyList(),
            isCurrentComplicationInfo: transfer.isCurrentComplication)
        process.userInfoTransfers[transfer.id] = object
        take(transfer, refused: code, by: process)
        return object
    }

    /// - Parameter isValid: False if the metadata isn't a property list.
    mutating func transfer(_ offer: FileOffer, isValid: Bool, by process: AppProcess) -> WCSessionFileTransfer? {
        var code = refusal(process)
        if code == nil, !isValid { code = .payloadUnsupportedTypes }
        if code == nil, offer.metadata?.fits(payloadBytesMax) == false { code = .payloadTooLarge }
        if code == nil { code = FileCopy.refusal(of: offer.url) }
        let transfer = Transfer(
            id: nextID(), lane: .file, content: offer.metadata, file: offer.url, byteCount: offer.byteCount)
        let object = WCSessionFileTransfer(
            id: transfer.id, process: process, file: WCSessionFile(fileURL: offer.url, metadata: offer.metadata),
            byteCount: offer.byteCount)
        process.fileTransfers[transfer.id] = object
        take(transfer, refused: code, by: process)
        return object
    }

    private mutating func take(_ transfer: Transfer, refused code: WCError.Code?, by process: AppProcess) {
        let route = outgoing(process)
        let queue = routes[route].lanes[transfer.lane].queue
        if let code = code ?? (queue.count < Self.transfersMax ? nil : .insufficientSpace) {
            record(.refused(transfer.lane.traced, code), on: process.device)
            routes[route].finished.append((transfer, code))
            return
        }
        record(
            .sent(transfer.lane.traced, id: transfer.id, byteCount: Int(clamping: transfer.byteCount)),
            on: process.device)
        if transfer.isComplication {
            // A complication transfer goes ahead of ordinary ones, but not ahead of earlier ones or the one that is
            // moving.
            let isMoving = routes[route].lanes[.userInfo].inFlight != nil
            let ahead = queue.prefix { $0.isComplication }.count
            routes[route].lanes[.userInfo].queue.insert(transfer, at: max(ahead, isMoving ? 1 : 0))
        } else {
            routes[route].lanes[transfer.lane].queue.append(transfer)
        }
        startTransfers(route)
    }

    /// Starts the first transfer of each idle lane, if the devices can talk.
    mutating func startTransfers(_ route: Int) {
        for lane in [Transfer.Lane.userInfo, .file] {
            guard routes[route].lanes[lane].inFlight == nil, isOpen(route), devices[routes[route].receiver].isInstalled,
                let first = routes[route].lanes[lane].queue.first
            else { continue }
            routes[route].lanes[lane].inFlight = first.id
            let latency = conditions.transferLatency.draw(&routes[route].lanes[lane].random)
            let copying = lane == .file ? copyingTime(first.byteCount) : 0
            if copying > 0 {
                for quarters in 1...3 as ClosedRange<Int64> {
                    let time = latency + copying / 4 * UInt64(quarters)
                    enter(.fileProgresses(route: route, first.id, quarters: quarters), after: time)
                }
            }
            enter(.transferArrives(route: route, lane, first.id), after: latency + copying)
        }
    }

    private func copyingTime(_ byteCount: Int64) -> UInt64 {
        guard byteCount > 0, conditions.fileBytesPerSecond < .max else { return 0 }
        return UInt64(min(Double(byteCount) / Double(max(conditions.fileBytesPerSecond, 1)), 1e8) * 1e9)
    }

    mutating func fileProgresses(_ route: Int, _ id: UInt64, _ quarters: Int64) {
        guard isOpen(route), let transfer = routes[route].lanes[.file].queue.first else { return }
        let object = devices[routes[route].sender].process?.fileTransfers[id]
        object?.progress.completedUnitCount = transfer.byteCount / 4 * quarters
    }

    mutating func cancel(_ id: UInt64, on lane: Transfer.Lane, of process: AppProcess) {
        let route = outgoing(process)
        guard routes[route].lanes[lane].queue.remove(where: { $0.id == id }) != nil else { return }
        if routes[route].lanes[lane].inFlight == id { routes[route].lanes[lane].inFlight = nil }
        process.userInfoTransfers[id] = nil
        process.fileTransfers[id] = nil
        record(.cancelled(lane.traced, id: id), on: process.device)
        startTransfers(route)
    }
}
