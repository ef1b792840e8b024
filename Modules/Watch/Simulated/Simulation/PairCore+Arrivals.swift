import Foundation
import MeshBase

// MARK: - Arriving

extension PairCore {
    mutating func transferArrives(_ route: Int, _ lane: Transfer.Lane, _ id: UInt64) -> Step? {
        let receiver = routes[route].receiver
        let fails = routes[route].lanes[lane].random.happens(
            rate: lane == .file ? conditions.fileFailureRate : conditions.userInfoFailureRate)
        let whichOne = Int(routes[route].lanes[lane].random.upTo(3))
        guard isOpen(route), devices[receiver].isInstalled else {
            // The transfer starts over when the devices can talk again.
            routes[route].lanes[lane].inFlight = nil
            return nil
        }
        if devices[receiver].isDiskFull {
            finish(route, lane, .insufficientSpace)
        } else if fails {
            let own: WCError.Code = lane == .file ? .fileAccessDenied : .transferTimedOut
            finish(route, lane, [own, .deliveryFailed, .insufficientSpace, .transferTimedOut][whichOne])
        } else if lane == .file, let transfer = routes[route].lanes[.file].queue.first, let source = transfer.file {
            return .copy(FileCopy(route: route, id: id, source: source, destination: inboxFile(of: transfer, route)))
        } else {
            finish(route, lane, nil)
        }
        return nil
    }

    /// - Returns: False if the copied file can be deleted, because of an error or a cancellation.
    mutating func copied(_ copy: FileCopy, _ error: WCError.Code?) -> Bool {
        guard routes[copy.route].lanes[.file].inFlight == copy.id else { return false }
        finish(copy.route, .file, error)
        return error == nil
    }

    /// Finishes the first transfer of a lane, successfully or with an error.
    private mutating func finish(_ route: Int, _ lane: Transfer.Lane, _ error: WCError.Code?) {
        guard let transfer = routes[route].lanes[lane].queue.popFirst() else { return }
        routes[route].lanes[lane].inFlight = nil
        let receiver = routes[route].receiver
        if error == nil {
            record(.arrived(lane.traced, id: transfer.id), on: receiver)
            routes[route].inbox.append(transfer)
            if transfer.isComplication { wake(receiver) } else { wakeByChance(route) }
        } else {
            record(.lost(lane.traced, id: transfer.id), on: receiver)
        }
        routes[route].finished.append((transfer, error))
        startTransfers(route)
    }

    mutating func wakeByChance(_ route: Int) {
        if routes[route].crashRandom.happens(rate: conditions.backgroundWakeRate) { wake(routes[route].receiver) }
    }

    /// Reports a finished transfer with the object that the app knows, or with a new object after a relaunch.
    mutating func finished(
        _ transfer: Transfer, _ error: WCError.Code?, _ process: AppProcess
    ) -> AppCall.Content {
        record(.finished(transfer.lane.traced, id: transfer.id, error: error), on: process.device)
        if transfer.lane == .file {
            let object = process.fileTransfers.removeValue(forKey: transfer.id) ?? fileObject(transfer, process)
            if error == nil { object.progress.completedUnitCount = transfer.byteCount }
            return .finishedFile(object, error)
        }
        let object = process.userInfoTransfers.removeValue(forKey: transfer.id) ?? userInfoObject(transfer, process)
        return .finishedUserInfo(object, error)
    }
}

// MARK: - Queries

extension PairCore {
    func isTransferring(_ id: UInt64, on lane: Transfer.Lane, of process: AppProcess) -> Bool {
        routes[outgoing(process)].lanes[lane].queue.contains { $0.id == id }
    }

    func isCurrentComplicationInfo(_ id: UInt64, of process: AppProcess) -> Bool {
        routes[outgoing(process)].lanes[.userInfo].queue.contains { $0.id == id && $0.isCurrentComplication }
    }

    func outstandingUserInfos(of process: AppProcess) -> [WCSessionUserInfoTransfer] {
        guard process.isActive else { return [] }
        return routes[outgoing(process)].lanes[.userInfo].queue.map { transfer in
            let object = process.userInfoTransfers[transfer.id] ?? userInfoObject(transfer, process)
            process.userInfoTransfers[transfer.id] = object
            return object
        }
    }

    func outstandingFiles(of process: AppProcess) -> [WCSessionFileTransfer] {
        guard process.isActive else { return [] }
        return routes[outgoing(process)].lanes[.file].queue.map { transfer in
            let object = process.fileTransfers[transfer.id] ?? fileObject(transfer, process)
            process.fileTransfers[transfer.id] = object
            return object
        }
    }

    private func userInfoObject(_ transfer: Transfer, _ process: AppProcess) -> WCSessionUserInfoTransfer {
        WCSessionUserInfoTransfer(
            id: transfer.id, process: process, content: transfer.content ?? PropertyList(),
            isCurrentComplicationInfo: transfer.isCurrentComplication)
    }

    private func fileObject(_ transfer: Transfer, _ process: AppProcess) -> WCSessionFileTransfer {
        let url = transfer.file ?? URL(fileURLWithPath: "/")
        return WCSessionFileTransfer(
            id: transfer.id, process: process, file: WCSessionFile(fileURL: url, metadata: transfer.content),
            byteCount: transfer.byteCount)
    }

    /// Returns the folder for received files of a device's app.
    func inbox(of device: Int) -> URL {
        directory.appendingPathComponent("\(devices[device].name)/Inbox", isDirectory: true)
    }

    func inboxFile(of transfer: Transfer, _ route: Int) -> URL {
        inbox(of: routes[route].receiver).appendingPathComponent("\(transfer.id)", isDirectory: true)
            .appendingPathComponent(transfer.fileName)
    }
}
