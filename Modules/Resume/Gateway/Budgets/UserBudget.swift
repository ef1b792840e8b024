/// Each user's share of a gateway's store.
public struct UserBudget: Hashable, Sendable {
    /// Maximum number of questions and writes of one user per second. Further ones wait.
    public var perSecond: Double
    /// Maximum number of questions and writes of one user at once, after a pause.
    public var atOnce: Int
    /// Questions and writes that the store has at a time.
    package var outstanding = 256
    /// The same, of one user.
    package var outstandingPerUser = 32
    /// Questions and writes of one user that wait. While there are as many, nothing is read from the user's devices, and live
    /// packets that were read already are dropped.
    package var waitingMax = 256

    /// Creates the share of each user: 1,000 per second and 2,000 at once by default.
    public init(perSecond: Double = 1000, atOnce: Int = 2000) {
        (self.perSecond, self.atOnce) = (perSecond, atOnce)
    }
}
