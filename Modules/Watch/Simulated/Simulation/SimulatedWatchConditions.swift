/// The speed and the faults of the simulated system.
///
/// Rates are shares, 0...1, drawn from the pair's seed. Times are drawn evenly from their range.
public struct SimulatedWatchConditions: Hashable, Sendable {
    // MARK: Times

    /// One way, for messages and replies, which keep their order.
    public var messageLatency: ClosedRange<Duration> = .milliseconds(20) ... .milliseconds(80)
    /// The time that a user info takes, and a file beyond that of its bytes. Transfers go one at a time.
    public var transferLatency: ClosedRange<Duration> = .milliseconds(100) ... .seconds(2)
    /// The speed of file transfers, in bytes per second.
    public var fileBytesPerSecond = 1_000_000
    /// Until a context is at the other device.
    public var contextLatency: ClosedRange<Duration> = .milliseconds(50) ... .seconds(1)
    /// Until a session that was asked to activate is active.
    public var activationDelay: ClosedRange<Duration> = .milliseconds(5) ... .milliseconds(100)
    /// Until an app that the system launches is running.
    public var launchDelay: ClosedRange<Duration> = .milliseconds(200) ... .milliseconds(800)
    /// The time by which `isReachable` lags behind the truth.
    public var reachabilityDelay: ClosedRange<Duration> = .milliseconds(10) ... .milliseconds(500)
    /// The time from becoming inactive to being deactivated, when the user switches watches.
    public var switchingDelay: ClosedRange<Duration> = .milliseconds(200) ... .seconds(2)
    /// After which a sender gets `messageReplyTimedOut`.
    public var replyTimeout: Duration = .seconds(10)
    /// The time that a message waits for the phone's app to launch and activate its session, before `deliveryFailed`.
    public var deliveryTimeout: Duration = .seconds(5)
    /// The time that an app runs in the background after the system has woken it; nil is unlimited.
    public var backgroundTime: Duration?
    /// The time for which `updateApplicationContext` blocks its caller. Counted in the statistics, where time is
    /// virtual.
    public var contextBlocking: ClosedRange<Duration> = .zero ... .zero

    // MARK: Faults

    /// The share of messages that never arrive.
    public var messageLossRate = 0.0
    /// The share of replies that never arrive. The sender gets `messageReplyTimedOut` although the message was handled.
    public var replyLossRate = 0.0
    /// The share of lost messages that are lost without `deliveryFailed`. A sender that wants a reply gets
    /// `messageReplyTimedOut`.
    public var silentLossRate = 0.5
    /// The share of user infos that end in an error, one of 7014, 7015 and 7017, and aren't delivered.
    public var userInfoFailureRate = 0.0
    /// The share of files that end in an error, one of 7013, 7014, 7015 and 7017, and aren't delivered.
    public var fileFailureRate = 0.0
    /// The share of activations that end in an error and change nothing.
    public var activationFailureRate = 0.0
    /// The share of user infos and files during whose delivery the app dies. They are delivered again after the next
    /// launch; a file only if it is still in the inbox. Also the share of finished transfers that are reported to a
    /// dying app: those aren't reported again.
    public var crashRate = 0.0
    /// The share of arriving user infos, files and contexts that launch or resume an app in the background.
    public var backgroundWakeRate = 0.0
    /// About how often one of the devices is wrong about the reachability of the other; nil never.
    public var flapInterval: Duration?
    /// The time for which reachability is interrupted.
    public var flapTime: ClosedRange<Duration> = .milliseconds(100) ... .seconds(5)

    /// Creates conditions under which nothing goes wrong.
    public init() {}

    /// The conditions of a good day: nothing goes wrong.
    public static let calm = SimulatedWatchConditions()

    /// Everything takes one millisecond and nothing goes wrong.
    public static let ideal: SimulatedWatchConditions = {
        var conditions = SimulatedWatchConditions()
        let millisecond = Duration.milliseconds(1) ... .milliseconds(1)
        conditions.messageLatency = millisecond
        conditions.transferLatency = millisecond
        conditions.fileBytesPerSecond = .max
        conditions.contextLatency = millisecond
        conditions.activationDelay = millisecond
        conditions.launchDelay = millisecond
        conditions.reachabilityDelay = millisecond
        conditions.switchingDelay = millisecond
        return conditions
    }()

    /// Everything that may go wrong sometimes does.
    public static let rough: SimulatedWatchConditions = {
        var conditions = SimulatedWatchConditions()
        conditions.messageLatency = .milliseconds(20) ... .seconds(3)
        conditions.transferLatency = .milliseconds(100) ... .seconds(30)
        conditions.contextLatency = .milliseconds(50) ... .seconds(20)
        conditions.activationDelay = .milliseconds(5) ... .seconds(2)
        conditions.reachabilityDelay = .milliseconds(10) ... .seconds(5)
        conditions.contextBlocking = .zero ... .milliseconds(500)
        conditions.backgroundTime = .seconds(10)
        conditions.messageLossRate = 0.1
        conditions.replyLossRate = 0.1
        conditions.userInfoFailureRate = 0.05
        conditions.fileFailureRate = 0.1
        conditions.activationFailureRate = 0.1
        conditions.crashRate = 0.05
        conditions.backgroundWakeRate = 0.2
        conditions.flapInterval = .seconds(30)
        return conditions
    }()
}
