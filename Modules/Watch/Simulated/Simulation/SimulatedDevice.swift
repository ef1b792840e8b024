import MeshBase

/// The state of an app on a simulated device.
public enum SimulatedAppState: String, Hashable, Sendable {
    /// `notInstalled`: the app isn't on the device. `notRunning`: it is installed, but not running.
    case notInstalled, notRunning
    /// The app is on screen. Messages from the phone reach a watch app only in this state.
    case foreground
    /// The app runs, but isn't on screen.
    case background
    /// The app is in memory and doesn't run. Its events wait until it runs again.
    case suspended
}

/// A phone or a watch of a `SimulatedWatchPair`, and the app on it. At first it is paired, in range and unlocked, with
/// the app installed but not running. Safe to use from any thread; usable while its pair exists.
public struct SimulatedDevice: Sendable, Hashable, CustomStringConvertible {
    let index: Int
    let core: Locked<PairCore>

    /// The device's name in traces, such as `phone` or `watch`.
    public var name: String { core.withCore { $0.devices[index].name } }
    /// True if this is the pair's phone.
    public var isPhone: Bool { index == 0 }
    public var description: String { name }

    public static func == (one: SimulatedDevice, other: SimulatedDevice) -> Bool {
        one.index == other.index && one.core === other.core
    }
    public func hash(into hasher: inout Hasher) { hasher.combine(index) }
}

// MARK: - App lifecycle

extension SimulatedDevice {
    /// The state of the app on the device.
    public var state: SimulatedAppState { core.withCore { $0.devices[index].state } }

    /// The session of the running app; nil if none runs.
    public var session: WCSession? { core.withCore { $0.devices[index].process?.lockedSession } }

    /// Sets the code that runs when the user or the system launches the app. It should create the app's objects, set
    /// the session's delegate and activate the session. Called on the launching thread, with `WCSession.default` set.
    public func onLaunch(_ body: (@Sendable (WCSession) -> Void)?) {
        core.withCore { core in
            core.deferredReleases.append(core.devices[index].onLaunch as Any)
            core.devices[index].onLaunch = body
        }
    }

    /// Sets a function that releases the app's objects after the app was killed or has crashed.
    public func onTerminate(_ body: (@Sendable () -> Void)?) {
        core.withCore { core in
            core.deferredReleases.append(core.devices[index].onTerminate as Any)
            core.devices[index].onTerminate = body
        }
    }

    /// Launches the app as the user does, and runs `onLaunch`. An app that is already running is brought to the
    /// foreground.
    /// - Returns: The app's session, a new one for each launch; nil if the app isn't installed.
    @discardableResult
    public func launch(inForeground: Bool = true) -> WCSession? {
        let launched = core.withCore { state in
            state.launch(index, inForeground: inForeground, core: core).map { ($0, state.devices[index].onLaunch) }
        }
        guard let (process, body) = launched else {
            if inForeground { enterForeground() }
            return session
        }
        AppProcess.$current.withValue(process) { body?(process.session) }
        return process.session
    }

    /// Brings a running app to the foreground, as the user does. Use `launch` if it isn't running.
    public func enterForeground() { core.withCore { $0.setState(index, isForeground: true, isSuspended: false) } }
    /// Sends the app to the background, as the user does. It keeps running.
    public func enterBackground() { core.withCore { $0.setState(index, isForeground: false, isSuspended: false) } }
    /// Suspends the app in the background, as the system does.
    public func suspend() { core.withCore { $0.setState(index, isForeground: false, isSuspended: true) } }
    /// Resumes a suspended app in the background.
    public func resume() {
        guard state == .suspended else { return }
        enterBackground()
    }

    /// Ends the app at once. Its session stops working; queued transfers stay queued.
    public func kill() { core.withCore { $0.kill(index) }?() }

    /// Kills the app and launches it again: a new process with a new session.
    ///
    /// - Returns: The new session; nil if the app isn't installed.
    @discardableResult
    public func relaunch(inForeground: Bool = true) -> WCSession? {
        kill()
        return launch(inForeground: inForeground)
    }

    /// Runs code as the app: in it, and in tasks that it starts, `WCSession.default` is the app's session.
    public func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        try AppProcess.$current.withValue(core.withCore { $0.devices[index].process }, operation: body)
    }

    /// Installs the app without launching it.
    public func install() {
        core.withCore { core in
            guard !core.devices[index].isInstalled else { return }
            core.devices[index].isInstalled = true
            core.record(.state(.notRunning), on: index)
            core.notifyInstallation(index)
            core.resume()
        }
    }

    /// Removes the app, its data, and content waiting for it.
    public func uninstall() {
        let onTerminate = core.withCore { core -> (@Sendable () -> Void)? in
            guard core.devices[index].isInstalled else { return nil }
            let onTerminate = core.uninstall(index)
            core.notifyInstallation(index)
            core.resume()
            return onTerminate
        }
        onTerminate?()
    }
}

// MARK: - The device

extension SimulatedDevice {
    /// True if the watch is near enough to talk to the phone. For watches.
    public var isInRange: Bool {
        get { core.withCore { $0.devices[index].isInRange } }
        nonmutating set { change { $0.isInRange = newValue } }
    }

    /// True if the watch is paired with the phone. For watches.
    public var isPaired: Bool {
        get { core.withCore { $0.devices[index].isPaired } }
        nonmutating set { change(tells: true) { $0.isPaired = newValue } }
    }

    /// True if the watch face shows the app's complication. For watches.
    public var isComplicationEnabled: Bool {
        get { core.withCore { $0.devices[index].isComplicationEnabled } }
        nonmutating set { change(tells: true) { $0.isComplicationEnabled = newValue } }
    }

    /// True if the watch app has no companion on the phone. For watches.
    public var isWatchOnly: Bool {
        get { core.withCore { $0.devices[index].isWatchOnly } }
        nonmutating set { change { $0.isWatchOnly = newValue } }
    }

    /// True if the disk is full: transfers to the device fail with `insufficientSpace`.
    public var isDiskFull: Bool {
        get { core.withCore { $0.devices[index].isDiskFull } }
        nonmutating set { change { $0.isDiskFull = newValue } }
    }

    /// True if the phone hasn't been unlocked since its restart. Until then it can't be reached, and the system doesn't
    /// launch its app. For phones.
    public var needsUnlock: Bool {
        get { core.withCore { $0.devices[index].needsUnlock } }
        nonmutating set { change { $0.needsUnlock = newValue } }
    }

    /// Overrides the reachability reported to this device's app; nil reports the actual one. With false the app can't
    /// send messages. With true it may send messages that fail.
    public var claimedReachability: Bool? {
        get { core.withCore { $0.devices[index].reportedReachability } }
        nonmutating set { change { $0.reportedReachability = newValue } }
    }

    /// Restarts the device, which kills its app. A phone must be unlocked afterwards.
    public func restart() {
        kill()
        if isPhone { needsUnlock = true }
    }

    private func change(tells: Bool = false, _ body: (inout SimulatedDeviceState) -> Void) {
        core.withCore { core in
            body(&core.devices[index])
            if tells { core.notifyInstallation(index) }
            core.resume()
        }
    }
}
