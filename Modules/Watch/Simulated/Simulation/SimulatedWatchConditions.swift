/// The speed and the faults of the simulated system.
///
/// Rates are probabilities from 0 to 1. Times are drawn uniformly from their range, with the pair's seed.
public struct SimulatedWatchConditions: Hashable, Sendable {
    // MARK: Times

    /// The one-way time of messages and replies, which stay in order.
    public var messageLatency: ClosedRange<Duration> = .milliseconds(20) ... .milliseconds(80)
    /// The latency of a user info or a file, without the time to copy the file's bytes. One transfer moves at a time.
    public var transferLatency: ClosedRange<Duration> = .milliseconds(100) ... .seconds(2)
    /// The speed of file transfers, in bytes per second.
    public var fileBytesPerSecond = 1_000_000
    /// The time until a context reaches the other device.
    public var contextLatency: ClosedRange<Duration> = .milliseconds(50) ... .seconds(1)
    /// The time until a session is active after `activate`.
    public var activationDelay: ClosedRange<Duration> = .milliseconds(5) ... .milliseconds(100)
    /// The time until an app that the system launches is running.
    public var launchDelay: ClosedRange<Duration> = .milliseconds(200) ... .milliseconds(800)
    /// The delay with which `isReachable` follows the actual state.
    public var reachabilityDelay: ClosedRange<Duration> = .milliseconds(10) ... .milliseconds(500)
    /// The time from becoming inactive to being deactivated when the user switches watches.
    public var switchingDelay: ClosedRange<Duration> = .milliseconds(200) ... .seconds(2)
    /// The time after which a sender gets `messageReplyTimedOut`.
    public var replyTimeout: Duration = .seconds(10)
    /// The time that a message waits for the phone app to launch and activate its session. Then the sender gets
    /// `deliveryFailed`.
    public var deliveryTimeout: Duration = .seconds(5)
    /// The time that an app runs in the background after the system has woken it; nil is unlimited.
    public var backgroundTime: Duration?
    /// The time for which `updateApplicationContext` would block its caller. It is only counted in the statistics.
    public var contextBlocking: ClosedRange<Duration> = .zero ... .zero

    // MARK: Faults

    /// The probability that a message is lost.
    public var messageLossRate = 0.0
    /// The probability that a reply is lost. The sender gets `messageReplyTimedOut` although the message was handled.
    public var replyLossRate = 0.0
    /// The probability that a lost message causes no `deliveryFailed`. A sender that expects a reply gets
    /// `messageReplyTimedOut`.
    public var silentLossRate = 0.5
    /// The probability that a user info fails with one of the errors 7014, 7015 and 7017.
    public var userInfoFailureRate = 0.0
    /// The probability that a file fails with one of the errors 7013, 7014, 7015 and 7017.
    public var fileFailureRate = 0.0
    /// The probability that an activation fails and changes nothing.
    public var activationFailureRate = 0.0
    /// The probability that the app dies while it receives a user info or a file. The content is delivered again after
    /// the next launch; a file only if it is still in the inbox. Also applies to reports of finished transfers, which
    /// aren't repeated.
    public var crashRate = 0.0
    /// The probability that an arriving user info, file or context launches or resumes the app in the background.
    public var backgroundWakeRate = 0.0
    /// The average interval between wrong reports of reachability; nil means none.
    public var flapInterval: Duration?
    /// The time for which the wrong reachability is reported.
    public var flapTime: ClosedRange<Duration> = .milliseconds(100) ... .seconds(5)

    /// Creates conditions without faults.
    public init() {}

    /// Realistic delays and no faults.
    public static let calm = SimulatedWatchConditions()

    /// Delays of one millisecond and no faults.
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

    /// Long delays, and occasional faults of every kind.
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
