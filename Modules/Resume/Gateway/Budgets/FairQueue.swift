import MeshBase

/// Shares a store between users: deficit round robin (Shreedhar and Varghese, "Efficient Fair Queuing using Deficit Round
/// Robin", 1996).
///
/// Deviations from the paper: the work in progress is bounded, in total and per user, and each user has a rate. A user at a bound
/// is skipped until the next turn and keeps the deficit. One user's work starts in the order in which it was entered.
///
/// The queue itself has no bound, because a refusal would close a connection. It reports users with much waiting work
/// (`takeStrained`), and the gateway stops reading from their devices. `take` is O(users that wait). Everything else is O(1),
/// amortized.
package struct FairQueue<Work: Sendable>: Sendable {
    private struct User {
        var waiting: [(work: Work, cost: Int)] = []
        /// Work before this index has started.
        var first = 0
        var outstanding = 0
        var deficit = 0
        var isStrained = false

        var waitingCount: Int { waiting.count - first }

        mutating func removeFirst() -> Work {
            defer {
                first += 1
                if first * 2 >= waiting.count {
                    waiting.removeFirst(first)
                    first = 0
                }
            }
            return waiting[first].work
        }
    }

    /// The number of bytes that one turn adds to a user's deficit.
    private static var quantum: Int { 16 << 10 }
    /// The cost in bytes of work without a payload.
    private static var workCost: Int { 1 << 10 }

    private let budget: UserBudget
    private var buckets: KeyedBuckets
    private var users: [String: User] = [:]
    /// Users with waiting work, by turn. Entries before `head` had their turn.
    private var turns: [String] = []
    private var head = 0
    private var strained: [(user: String, isStrained: Bool)] = []
    package private(set) var outstanding = 0

    package init(_ budget: UserBudget) {
        self.budget = budget
        buckets = KeyedBuckets(perSecond: budget.perSecond, atOnce: budget.atOnce)
    }

    package var isEmpty: Bool { head == turns.count }

    /// The number of one user's waiting operations.
    package func waitingCount(of user: String) -> Int { users[user]?.waitingCount ?? 0 }

    /// Returns true if the gateway must drop this user's live packets. It read them before it stopped reading from the
    /// user's devices.
    package func dropsLivePackets(of user: String) -> Bool { waitingCount(of: user) >= budget.waitingMax }

    package mutating func enter(_ work: Work, of name: String, byteCount: Int = 0) {
        var user = users.removeValue(forKey: name) ?? User()
        user.waiting.append((work, Self.workCost + byteCount))
        if user.waitingCount == 1 { turns.append(name) }
        noteStrain(&user, name)
        users[name] = user
    }

    /// Starts the next work. Call `finish` for its user when it is done.
    ///
    /// - Returns: the user and the work; nil if nothing may start now.
    package mutating func take(_ now: Duration) -> (user: String, work: Work)? {
        guard outstanding < budget.outstanding else { return nil }
        var passedCount = 0
        while passedCount < turns.count - head {
            let name = turns[head]
            guard var user = users.removeValue(forKey: name) else { return nil }
            let cost = user.waiting[user.first].cost
            if user.outstanding >= budget.outstandingPerUser {
                passedCount += 1
            } else if user.deficit < cost {
                user.deficit += Self.quantum
                passedCount = 0
            } else if !buckets.take(name, now) {
                passedCount += 1
            } else {
                user.deficit -= cost
                user.outstanding += 1
                outstanding += 1
                let work = user.removeFirst()
                if user.waitingCount == 0 {
                    user.deficit = 0
                    endTurn()
                }
                noteStrain(&user, name)
                users[name] = user
                return (name, work)
            }
            users[name] = user
            endTurn()
            turns.append(name)
        }
        return nil
    }

    /// Reports that one of this user's started operations is done.
    package mutating func finish(_ name: String) {
        guard var user = users.removeValue(forKey: name), user.outstanding > 0 else { return }
        user.outstanding -= 1
        outstanding -= 1
        if user.outstanding > 0 || user.waitingCount > 0 { users[name] = user }
    }

    /// Returns the users whose devices must be paused (true) or resumed (false) since the last call.
    package mutating func takeStrained() -> [(user: String, isStrained: Bool)] {
        defer { strained = [] }
        return strained
    }

    private mutating func noteStrain(_ user: inout User, _ name: String) {
        let isStrained = user.waitingCount >= (user.isStrained ? budget.waitingMax / 2 + 1 : budget.waitingMax)
        guard isStrained != user.isStrained else { return }
        user.isStrained = isStrained
        strained.append((name, isStrained))
    }

    private mutating func endTurn() {
        head += 1
        guard head * 2 >= turns.count else { return }
        turns.removeFirst(head)
        head = 0
    }
}
