import Foundation
import MeshBase

/// A phone or a watch.
struct SimulatedDeviceState {
    let index: Int
    let name: String
    var isInstalled = true
    var process: AppProcess?
    var isForeground = false
    var isSuspended = false
    var isLaunching = false
    var onLaunch: (@Sendable (WCSession) -> Void)?
    var onTerminate: (@Sendable () -> Void)?

    /// For watches: the state that the phone sees.
    var isPaired = true
    var isInRange = true
    var isComplicationEnabled = false
    /// For watches: the app has no companion.
    var isWatchOnly = false
    /// For phones: not unlocked since the restart.
    var needsUnlock = false
    var isDiskFull = false
    /// The reachability of the other device that a test has set; nil reports the actual one.
    var reportedReachability: Bool?
    /// A temporarily wrong reachability of the other device (`flap`). It takes precedence.
    var temporaryReachability: Bool?

    /// IDs of messages that wait for the app.
    var waiting = Queue<UInt64>()
    /// For phones: the day of the complication budget.
    var complicationDay: UInt64 = 0
    var complicationsUsed = 0
    var random: SplitMix64

    init(index: Int, random: SplitMix64) {
        self.index = index
        name = index == 0 ? "phone" : index == 1 ? "watch" : "watch \(index)"
        self.random = random
    }

    var state: SimulatedAppState {
        if !isInstalled { return .notInstalled }
        if process == nil { return .notRunning }
        return isSuspended ? .suspended : isForeground ? .foreground : .background
    }
}

// MARK: - Launching and ending

extension PairCore {
    /// Starts a process. Returns nil if the app is running already, or isn't installed.
    mutating func launch(_ device: Int, inForeground: Bool, core: Locked<PairCore>) -> AppProcess? {
        guard devices[device].isInstalled, devices[device].process == nil else { return nil }
        let process = AppProcess(device: device, watch: device == 0 ? activeWatch : device, core: core)
        devices[device].process = process
        devices[device].isForeground = inForeground
        devices[device].isSuspended = false
        devices[device].isLaunching = false
        stateChanged(device)
        return process
    }

    mutating func setState(_ device: Int, isForeground: Bool, isSuspended: Bool) {
        guard devices[device].process != nil else { return }
        devices[device].process?.wakeCount += 1
        guard devices[device].isForeground != isForeground || devices[device].isSuspended != isSuspended else { return }
        devices[device].isForeground = isForeground
        devices[device].isSuspended = isSuspended
        stateChanged(device)
    }

    /// Ends the app. Returns the function to call afterwards.
    mutating func kill(_ device: Int) -> (@Sendable () -> Void)? {
        guard let process = devices[device].process else { return nil }
        deferredReleases.append((process.calls, process.lockedSession))
        process.end()
        devices[device].process = nil
        devices[device].isForeground = false
        devices[device].isSuspended = false
        forgetHandlers(of: process)
        while let id = devices[device].waiting.popFirst() { failOnReturn(id, .deliveryFailed) }
        stateChanged(device)
        return devices[device].onTerminate
    }

    private mutating func stateChanged(_ device: Int) {
        record(.state(devices[device].state), on: device)
        watchReachability()
    }

    /// Runs the app in the background, unless it is running.
    /// - Returns: True if the app runs or will run.
    @discardableResult
    mutating func wake(_ device: Int) -> Bool {
        guard devices[device].isInstalled, !devices[device].needsUnlock else { return false }
        if let process = devices[device].process {
            guard devices[device].isSuspended || !devices[device].isForeground else { return true }
            if devices[device].isSuspended {
                statistics.wakes += 1
                setState(device, isForeground: false, isSuspended: false)
            }
            planSuspension(process)
        } else if !devices[device].isLaunching {
            devices[device].isLaunching = true
            enter(.launches(device), after: conditions.launchDelay.draw(&devices[device].random))
        }
        return true
    }

    mutating func launchBySystem(_ device: Int) -> Step? {
        guard devices[device].isLaunching, let core = core else { return nil }
        devices[device].isLaunching = false
        guard let process = launch(device, inForeground: false, core: core) else { return nil }
        statistics.wakes += 1
        planSuspension(process)
        return .launch(process, devices[device].onLaunch ?? { _ in })
    }

    private mutating func planSuspension(_ process: AppProcess) {
        guard let time = conditions.backgroundTime else { return }
        process.wakeCount += 1
        enter(.suspends(process, wakeCount: process.wakeCount), after: time.nanoseconds)
    }

    mutating func suspendWoken(_ process: AppProcess) {
        guard !devices[process.device].isForeground else { return }
        setState(process.device, isForeground: false, isSuspended: true)
    }

    /// Notifies the counterparts about a change of the device's installation.
    mutating func notifyInstallation(_ device: Int) {
        if device == 0 {
            for watch in 1..<devices.count {
                guard let process = devices[watch].process, process.isActive else { continue }
                process.calls.append(.companionStateChanged)
            }
        } else if device == activeWatch, let process = devices[0].process, process.isActive {
            process.calls.append(.watchStateChanged)
        }
    }

    /// Removes the app with its data: content waiting for it, received contexts, and transfers that haven't arrived.
    /// Transfers that have arrived at the other device stay there.
    mutating func uninstall(_ device: Int) -> (@Sendable () -> Void)? {
        let onTerminate = kill(device)
        devices[device].isInstalled = false
        for route in routes.indices {
            if routes[route].receiver == device {
                routes[route].inbox.removeAll()
                routes[route].context.received = nil
                routes[route].context.isNew = false
            }
            if routes[route].sender == device {
                routes[route].lanes = TransferLanes(keepingRandomOf: routes[route].lanes)
                routes[route].context.sent = nil
                routes[route].context.due = nil
                routes[route].finished.removeAll()
            }
        }
        try? FileManager.default.removeItem(at: inbox(of: device))
        if device > 0 { try? FileManager.default.removeItem(at: watchDirectory(of: device)) }
        record(.state(.notInstalled), on: device)
        return onTerminate
    }
}

// MARK: - Activation

extension PairCore {
    mutating func activate(_ process: AppProcess) {
        enter(.activates(process), after: conditions.activationDelay.draw(&devices[process.device].random))
    }

    mutating func hasDelegate(_ process: AppProcess) -> Bool {
        guard let delegate = process.delegate else { return false }
        deferredReleases.append(delegate)
        return true
    }

    mutating func completeActivation(of process: AppProcess) {
        let device = process.device
        let fails = devices[device].random.happens(rate: conditions.activationFailureRate)
        guard hasDelegate(process) else {
            return record(.activation(.notActivated, error: .sessionMissingDelegate), on: device)
        }
        if process.activation == .notActivated, !fails {
            process.activation = .activated
            process.isDeactivating = false
            if device == 0 { process.watch = activeWatch }
            process.isReachable = reachability(seenBy: process)
        }
        let error = process.isActive ? nil : WCError.Code.genericError
        record(.activation(process.activation, error: error), on: device)
        process.calls.append(.activated(process.activation, error))
        watchReachability()
    }

    /// Makes the phone talk to another watch, as when the user puts it on.
    mutating func switchTo(_ watch: Int) {
        guard watch != activeWatch else { return }
        activeWatch = watch
        if let process = devices[0].process, process.activation == .activated {
            process.activation = .inactive
            process.calls.append(.becameInactive)
            enter(.deactivates(process), after: conditions.switchingDelay.draw(&devices[0].random))
        }
        resume()
    }
}
