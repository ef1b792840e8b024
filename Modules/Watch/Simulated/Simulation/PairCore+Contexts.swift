import Foundation
import MeshBase

/// The application context of one way. A newer one replaces one that hasn't been sent.
struct ContextLane {
    var sent: PropertyList?
    /// Waits to be sent.
    var due: PropertyList?
    var inFlight: PropertyList?
    /// At the receiver.
    var received: PropertyList?
    /// True if the receiver's delegate hasn't got it yet.
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
        let way = outgoing(process)
        let blocking = conditions.contextBlocking.draw(&ways[way].contextRandom)
        statistics.contextBlocking += Duration(nanoseconds: blocking)
        if blocking > 0, isMainThread { statistics.mainThreadBlocks += 1 }
        guard ways[way].context.sent != content else {
            record(.identicalContext, on: process.device)
            return nil
        }
        record(.sent(.context, id: nextID(), byteCount: content.byteCount), on: process.device)
        ways[way].context.sent = content
        ways[way].context.due = content
        startContext(way)
        return nil
    }

    mutating func startContext(_ way: Int) {
        guard ways[way].context.inFlight == nil, let due = ways[way].context.due, isOpen(way),
            devices[ways[way].receiver].isInstalled
        else { return }
        ways[way].context.due = nil
        ways[way].context.inFlight = due
        enter(.contextArrives(way: way), after: conditions.contextLatency.draw(&ways[way].contextRandom))
    }

    mutating func contextArrives(_ way: Int) {
        guard let content = ways[way].context.inFlight else { return }
        ways[way].context.inFlight = nil
        guard isOpen(way), devices[ways[way].receiver].isInstalled else {
            // The context is sent again, unless a newer one waits.
            ways[way].context.due = ways[way].context.due ?? content
            return
        }
        if ways[way].context.received != content {
            record(.arrived(.context, id: 0), on: ways[way].receiver)
            ways[way].context.received = content
            ways[way].context.isNew = true
            wakeByChance(way)
        } else {
            record(.identicalContext, on: ways[way].receiver)
        }
        startContext(way)
    }

    func sentContext(_ process: AppProcess) -> [String: Any] {
        guard process.isActive else { return [:] }
        return ways[outgoing(process)].context.sent?.dictionary ?? [:]
    }

    func receivedContext(_ process: AppProcess) -> [String: Any] {
        guard process.isActive else { return [:] }
        return ways[ways[outgoing(process)].back].context.received?.dictionary ?? [:]
    }
}
