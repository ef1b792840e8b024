/// Each user's share of a gateway's store.
public struct UserBudget: Hashable, Sendable {
    /// Maximum number of store operations of one user per second. Further ones wait.
    public var perSecond: Double
    /// Maximum number of store operations of one user in a burst, after a pause.
    public var atOnce: Int
    /// Maximum number of operations that the store executes at a time.
    package var outstanding = 256
    /// Maximum number of one user's operations that the store executes at a time.
    package var outstandingPerUser = 32
    /// Maximum number of waiting operations of one user. At this number the gateway stops reading from the user's devices, and
    /// drops live packets that it has already read.
    package var waitingMax = 256

    /// Creates the share of each user: 1,000 per second and 2,000 at once by default.
    public init(perSecond: Double = 1000, atOnce: Int = 2000) {
        (self.perSecond, self.atOnce) = (perSecond, atOnce)
    }
}
