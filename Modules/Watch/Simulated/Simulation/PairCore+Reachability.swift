import Foundation
import MeshBase

// MARK: - Reachability

extension PairCore {
    /// Returns the reachability that the system reports to an app: an override if set, otherwise the actual one.
    func reachability(seenBy process: AppProcess) -> Bool {
        let device = devices[process.device]
        return device.temporaryReachability ?? device.reportedReachability ?? isTrulyReachable(from: process)
    }

    private func isTrulyReachable(from process: AppProcess) -> Bool {
        guard process.activation == .activated else { return false }
        let route = outgoing(process)
        let watch = routes[route].watch
        guard isOpen(route), devices[watch].isInstalled, devices[0].isInstalled, !devices[0].needsUnlock else {
            return false
        }
        guard process.device == 0 else { return devices[watch].state == .foreground }
        return devices[watch].state == .foreground && devices[watch].process?.activation == .activated
    }

    /// Schedules a notification for each app whose counterpart's reachability has changed.
    mutating func watchReachability() {
        for device in devices.indices {
            guard let process = devices[device].process, process.isActive, !process.isAwaitingReachability,
                process.isReachable != reachability(seenBy: process)
            else { continue }
            process.isAwaitingReachability = true
            enter(.reachability(process), after: conditions.reachabilityDelay.draw(&devices[device].random))
        }
    }

    mutating func noticeReachability(_ process: AppProcess) {
        process.isAwaitingReachability = false
        let isReachable = reachability(seenBy: process)
        guard process.isActive, process.isReachable != isReachable else { return }
        process.isReachable = isReachable
        record(.reachability(isReachable), on: process.device)
        let isKnown = process.calls.contains { if case .reachabilityChanged = $0 { true } else { false } }
        if !isKnown { process.calls.append(.reachabilityChanged) }
    }

    /// Schedules the next wrong report.
    mutating func enterNextFlap() {
        guard let interval = conditions.flapInterval?.nanoseconds, interval > 0, !isFlapPlanned else { return }
        isFlapPlanned = true
        enter(.flaps, after: interval / 2 + flapRandom.upTo(interval))
    }

    mutating func flap() {
        isFlapPlanned = false
        let device = Int(flapRandom.upTo(UInt64(devices.count - 1)))
        let time = conditions.flapTime.draw(&flapRandom)
        enterNextFlap()
        guard let process = devices[device].process, process.isActive, devices[device].temporaryReachability == nil
        else { return }
        devices[device].temporaryReachability = !isTrulyReachable(from: process)
        enter(.flapEnds(device), after: time)
        watchReachability()
    }

    mutating func endFlap(_ device: Int) {
        devices[device].temporaryReachability = nil
        watchReachability()
    }
}

// MARK: - Device properties that a session reports

extension PairCore {
    func isPaired(_ process: AppProcess) -> Bool {
        process.isActive && process.device == 0 && devices[process.watch].isPaired
    }

    func isWatchAppInstalled(_ process: AppProcess) -> Bool {
        isPaired(process) && devices[process.watch].isInstalled
    }

    func isComplicationEnabled(_ process: AppProcess) -> Bool {
        isWatchAppInstalled(process) && devices[process.watch].isComplicationEnabled
    }

    func isCompanionAppInstalled(_ process: AppProcess) -> Bool {
        process.isActive && process.device > 0 && devices[0].isInstalled
    }

    func phoneNeedsUnlock(_ process: AppProcess) -> Bool {
        process.isActive && process.device > 0 && devices[0].needsUnlock
    }

    func hasContentPending(_ process: AppProcess) -> Bool {
        guard process.isActive else { return false }
        let incoming = routes[routes[outgoing(process)].back]
        return !incoming.inbox.isEmpty || incoming.context.isNew
    }

    func watchDirectory(_ process: AppProcess) -> URL? {
        guard isWatchAppInstalled(process) else { return nil }
        let url = watchDirectory(of: process.watch)
        try? FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return url
    }

    func watchDirectory(of watch: Int) -> URL {
        directory.appendingPathComponent("phone/\(devices[watch].name)", isDirectory: true)
    }
}

// MARK: - Complications

extension PairCore {
    private static let complicationsPerDay = 50
    private var day: UInt64 { now / 86_400_000_000_000 }

    func complicationBudget(_ process: AppProcess) -> Int {
        guard isComplicationEnabled(process) else { return 0 }
        return Self.complicationsPerDay - (devices[0].complicationDay == day ? devices[0].complicationsUsed : 0)
    }

    /// Spends one complication transfer. Returns false if today's budget is used up, or the complication isn't enabled.
    mutating func useComplicationBudget(_ route: Int) -> Bool {
        guard devices[routes[route].watch].isComplicationEnabled else { return false }
        if devices[0].complicationDay != day {
            devices[0].complicationDay = day
            devices[0].complicationsUsed = 0
        }
        guard devices[0].complicationsUsed < Self.complicationsPerDay else { return false }
        devices[0].complicationsUsed += 1
        statistics.complicationTransfers += 1
        return true
    }
}
