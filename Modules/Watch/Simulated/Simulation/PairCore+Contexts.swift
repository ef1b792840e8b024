import Foundation
import MeshBase

/// The application context of one route. A newer one replaces one that hasn't been sent.
struct ContextLane {
    var sent: PropertyList?
    /// Waits to be sent.
    var due: PropertyList?
    var inFlight: PropertyList?
    /// The context that the receiver has.
    var received: PropertyList?
    /// True if `received` hasn't been delivered to the receiver's delegate.
    var isNew = false
}

extension PairCore {
    /// - Parameter content: nil if the app's dictionary isn't a property list.
    /// - Returns: The error code if the context was refused.
    mutating func updateContext(
        _ content: PropertyList?, by process: AppProcess, isMainThread: Bool
    ) -> WCError.Code? {
        var code = refusal(process)
        if code == nil, content == nil { code = .payloadUnsupportedTypes }
        if code == nil, content?.fits(contextBytesMax) == false { code = .payloadTooLarge }
        guard code == nil, let content else {
            if let code { record(.refused(.context, code), on: process.device) }
            return code
        }
        let route = outgoing(process)
        let blocking = conditions.contextBlocking.draw(&routes[route].contextRandom)
        statistics.contextBlocking += Duration(nanoseconds: blocking)
        if blocking > 0, isMainThread { statistics.mainThreadBlocks += 1 }
        guard routes[route].context.sent != content else {
            record(.identicalContext, on: process.device)
            return nil
        }
        record(.sent(.context, id: nextID(), byteCount: content.byteCount), on: process.device)
        routes[route].context.sent = content
        routes[route].context.due = content
        startContext(route)
        return nil
    }

    mutating func startContext(_ route: Int) {
        guard routes[route].context.inFlight == nil, let due = routes[route].context.due, isOpen(route),
            devices[routes[route].receiver].isInstalled
        else { return }
        routes[route].context.due = nil
        routes[route].context.inFlight = due
        enter(.contextArrives(route: route), after: conditions.contextLatency.draw(&routes[route].contextRandom))
    }

    mutating func contextArrives(_ route: Int) {
        guard let content = routes[route].context.inFlight else { return }
        routes[route].context.inFlight = nil
        guard isOpen(route), devices[routes[route].receiver].isInstalled else {
            // The context is sent again, unless a newer one waits.
            routes[route].context.due = routes[route].context.due ?? content
            return
        }
        if routes[route].context.received != content {
            record(.arrived(.context, id: 0), on: routes[route].receiver)
            routes[route].context.received = content
            routes[route].context.isNew = true
            wakeByChance(route)
        } else {
            record(.identicalContext, on: routes[route].receiver)
        }
        startContext(route)
    }

    func sentContext(_ process: AppProcess) -> [String: Any] {
        guard process.isActive else { return [:] }
        return routes[outgoing(process)].context.sent?.dictionary ?? [:]
    }

    func receivedContext(_ process: AppProcess) -> [String: Any] {
        guard process.isActive else { return [:] }
        return routes[routes[outgoing(process)].back].context.received?.dictionary ?? [:]
    }
}
