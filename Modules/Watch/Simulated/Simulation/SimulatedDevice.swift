import MeshBase

/// The state of an app on a simulated device.
public enum SimulatedAppState: String, Hashable, Sendable {
    /// The device lacks the app; it has the app, which does not run.
    case notInstalled, notRunning
    /// The app is on screen. A phone's messages reach a watch app only here.
    case foreground
    /// Running, not on screen.
    case background
    /// The app is in memory and doesn't run. It gets no events until it runs again, and then everything that waited.
    case suspended
}

/// A phone or a watch of a `SimulatedWatchPair`, and the app on it. Installed, paired, in range and unlocked at first, with
/// the app not running. Safe to use from any thread; works as long as its pair.
public struct SimulatedDevice: Sendable, Hashable, CustomStringConvertible {
    let index: Int
    let core: Locked<PairCore>

    /// The device's name in traces, such as `phone` or `watch`.
    public var name: String { core.withCore { $0.devices[index].name } }
    /// Whether it is the pair's phone.
    public var isPhone: Bool { index == 0 }
    public var description: String { name }

    public static func == (one: SimulatedDevice, other: SimulatedDevice) -> Bool {
        one.index == other.index && one.core === other.core
    }
    public func hash(into hasher: inout Hasher) { hasher.combine(index) }
}

// MARK: - The app's life

extension SimulatedDevice {
    /// The state of the app on the device.
    public var state: SimulatedAppState { core.withCore { $0.devices[index].state } }

    /// The session of the running app; nil if none runs.
    public var session: WCSession? { core.withCore { $0.devices[index].process?.lockedSession } }

    /// Sets what the app does when the user or the system launches it: make its objects, set the session's delegate,
    /// activate it. Called on the thread that launches, with `WCSession.default` set.
    public func onLaunch(_ body: (@Sendable (WCSession) -> Void)?) {
        core.withCore { core in
            core.dropped.append(core.devices[index].onLaunch as Any)
            core.devices[index].onLaunch = body
        }
    }

    /// Sets a function that releases the app's objects when it was killed or has crashed.
    public func onTerminate(_ body: (@Sendable () -> Void)?) {
        core.withCore { core in
            core.dropped.append(core.devices[index].onTerminate as Any)
            core.devices[index].onTerminate = body
        }
    }

    /// Launches the app as the user does, and runs `onLaunch`. An app that runs already is brought to the foreground.
    /// - Returns: its session, which is a new one for each launch; nil if the app is not installed.
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

    /// The user opens the app. It must run already: see `launch`.
    public func enterForeground() { core.withCore { $0.setState(index, isForeground: true, isSuspended: false) } }
    /// The user leaves the app, which runs on.
    public func enterBackground() { core.withCore { $0.setState(index, isForeground: false, isSuspended: false) } }
    /// The system stops the app in the background.
    public func suspend() { core.withCore { $0.setState(index, isForeground: false, isSuspended: true) } }
    /// The system lets it go on there.
    public func resume() {
        guard state == .suspended else { return }
        enterBackground()
    }

    /// Ends the app at once. Its session does nothing any more; what it has queued stays queued.
    public func kill() { core.withCore { $0.kill(index) }?() }

    /// Kills the app and launches it again: a new process with a new session.
    ///
    /// - Returns: the new session; nil where no app is installed.
    @discardableResult
    public func relaunch(inForeground: Bool = true) -> WCSession? {
        kill()
        return launch(inForeground: inForeground)
    }

    /// Runs code of the app: in it, `WCSession.default` is the app's session, also in tasks that it starts.
    public func run<Result>(_ body: () throws -> Result) rethrows -> Result {
        try AppProcess.$current.withValue(core.withCore { $0.devices[index].process }, operation: body)
    }

    /// Puts the app on the device, not running.
    public func install() {
        core.withCore { core in
            guard !core.devices[index].isInstalled else { return }
            core.devices[index].isInstalled = true
            core.record(.state(.notRunning), on: index)
            core.tellOfInstallation(index)
            core.resume()
        }
    }

    /// Removes the app with everything that it has or waits for.
    public func uninstall() {
        let told = core.withCore { core -> (@Sendable () -> Void)? in
            guard core.devices[index].isInstalled else { return nil }
            let told = core.uninstall(index)
            core.tellOfInstallation(index)
            core.resume()
            return told
        }
        told?()
    }
}

// MARK: - The device

extension SimulatedDevice {
    /// Whether the watch is near enough to talk to the phone. For watches.
    public var isInRange: Bool {
        get { core.withCore { $0.devices[index].isInRange } }
        nonmutating set { change { $0.isInRange = newValue } }
    }

    /// Whether the watch is paired with the phone. For watches.
    public var isPaired: Bool {
        get { core.withCore { $0.devices[index].isPaired } }
        nonmutating set { change(tells: true) { $0.isPaired = newValue } }
    }

    /// Whether the watch's face shows the app's complication. For watches.
    public var isComplicationEnabled: Bool {
        get { core.withCore { $0.devices[index].isComplicationEnabled } }
        nonmutating set { change(tells: true) { $0.isComplicationEnabled = newValue } }
    }

    /// Whether the watch's app has no companion on the phone. For watches.
    public var isWatchOnly: Bool {
        get { core.withCore { $0.devices[index].isWatchOnly } }
        nonmutating set { change { $0.isWatchOnly = newValue } }
    }

    /// Whether nothing that comes fits on it: transfers end in `insufficientSpace`.
    public var isDiskFull: Bool {
        get { core.withCore { $0.devices[index].isDiskFull } }
        nonmutating set { change { $0.isDiskFull = newValue } }
    }

    /// Whether the phone has not been unlocked since its restart. For phones. It cannot be reached, and wakes no app.
    public var needsUnlock: Bool {
        get { core.withCore { $0.devices[index].needsUnlock } }
        nonmutating set { change { $0.needsUnlock = newValue } }
    }

    /// The counterpart's reachability that the system reports to the app here, whatever the truth; nil reports the
    /// truth. With false the app can't send messages; with true it sends messages that fail.
    public var claimedReachability: Bool? {
        get { core.withCore { $0.devices[index].claim } }
        nonmutating set { change { $0.claim = newValue } }
    }

    /// Kills the app; a phone needs to be unlocked afterwards.
    public func restart() {
        kill()
        if isPhone { needsUnlock = true }
    }

    private func change(tells: Bool = false, _ body: (inout SimulatedDeviceState) -> Void) {
        core.withCore { core in
            body(&core.devices[index])
            if tells { core.tellOfInstallation(index) }
            core.resume()
        }
    }
}
