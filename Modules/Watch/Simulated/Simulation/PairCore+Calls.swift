import Foundation
import MeshBase

// Calls into apps: one at a time, in an order that depends only on the state.

extension PairCore {
    /// Returns the next call that an app can take.
    mutating func nextCall() -> AppCall? {
        for device in devices.indices {
            guard let process = devices[device].process, !devices[device].isSuspended,
                let content = nextContent(for: process)
            else { continue }
            var call = AppCall(
                process: process, session: process.lockedSession, delegate: process.delegate, content: content)
            note(&call)
            return call
        }
        return nil
    }

    private mutating func nextContent(for process: AppProcess) -> AppCall.Content? {
        if let content = process.calls.popFirst() { return content }
        let outgoing = outgoing(process)
        let incoming = routes[outgoing].back
        let isWaiting =
            !devices[process.device].waiting.isEmpty || !routes[outgoing].finished.isEmpty
            || routes[incoming].context.isNew || !routes[incoming].inbox.isEmpty || process.isDeactivating
        guard process.isActive, isWaiting, hasDelegate(process) else { return nil }
        if let content = nextMessage(for: process) { return content }
        if let (transfer, error) = routes[outgoing].finished.popFirst() { return finished(transfer, error, process) }
        if routes[incoming].context.isNew, let content = routes[incoming].context.received {
            routes[incoming].context.isNew = false
            return .context(content)
        }
        if let content = nextArrival(incoming) { return content }
        guard process.isDeactivating, process.activation == .inactive else { return nil }
        process.activation = .notActivated
        process.isDeactivating = false
        process.isReachable = false
        record(.activation(.notActivated, error: nil), on: process.device)
        return .deactivated
    }

    /// Returns the oldest arrival. It stays in the inbox until the delegate's method has returned.
    private mutating func nextArrival(_ route: Int) -> AppCall.Content? {
        while let transfer = routes[route].inbox.first {
            delivering = (route, transfer.id)
            guard transfer.lane == .file else { return .userInfo(transfer.id, transfer.content ?? PropertyList()) }
            let url = inboxFile(of: transfer, route)
            // The app moved the file, then died before the inbox was updated.
            guard FileManager.default.fileExists(atPath: url.path) else {
                _ = routes[route].inbox.popFirst()
                continue
            }
            return .file(transfer.id, WCSessionFile(fileURL: url, metadata: transfer.content))
        }
        delivering = nil
        return nil
    }

    private mutating func note(_ call: inout AppCall) {
        let device = call.process.device
        call.process.lacksHandler = false
        switch call.content {
        case .message(let id, _, _):
            statistics.messagesDelivered += 1
            record(.delivered(.message, id: id), on: device)
        case .replied:
            statistics.repliesDelivered += 1
        case .context:
            statistics.contextsDelivered += 1
            record(.delivered(.context, id: 0), on: device)
        case .userInfo(let id, _):
            statistics.userInfosDelivered += 1
            record(.delivered(.userInfo, id: id), on: device)
            call.crashes = drawCrash()
        case .file(let id, _):
            statistics.filesDelivered += 1
            record(.delivered(.file, id: id), on: device)
            call.crashes = drawCrash()
        case .finishedUserInfo, .finishedFile:
            call.crashes = routes[outgoing(call.process)].crashRandom.happens(rate: conditions.crashRate)
        default:
            break
        }
    }

    private mutating func drawCrash() -> Bool {
        guard let route = delivering?.route else { return false }
        return routes[route].crashRandom.happens(rate: conditions.crashRate)
    }

    /// Completes a call after it has returned.
    /// - Returns: A received file to delete, and the function to call if the app has ended.
    mutating func finish(_ call: AppCall) -> (leftover: URL?, onTerminate: (@Sendable () -> Void)?) {
        var onTerminate: (@Sendable () -> Void)?
        if call.crashes, call.process.isAlive { onTerminate = kill(call.process.device) }
        switch call.content {
        case .message(let id, _, let wantsReply):
            if call.process.lacksHandler { failOnReturn(id, .deliveryFailed) } else if !wantsReply { forget(id) }
        case .userInfo(let id, _), .file(let id, _):
            guard let route = delivering?.route else { break }
            delivering = nil
            guard call.process.isAlive else {
                statistics.crashesWhileDelivering += 1
                record(.crashed, on: call.process.device)
                break
            }
            let transfer = routes[route].inbox.remove { $0.id == id }
            if let transfer, transfer.lane == .file {
                return (inboxFile(of: transfer, route).deletingLastPathComponent(), onTerminate)
            }
        default:
            break
        }
        return (nil, onTerminate)
    }
}
