public import Foundation
public import MeshEngine

// Agreement on one session, without a leader: invitations are totally ordered, and every device keeps the greatest
// that it has heard of. Two invitations to one session merge into one with the devices of both, with the same result in
// any order. So devices agree no matter how notices are ordered, repeated or lost on the way.
//
// - number: a counter that each opener raises by one, as in a Lamport clock. `<` breaks ties.
// - members: the group from the start. Latecomers are added to it.
// Docs/Internals/Glossary.md defines the terms.

/// An invitation to a feature's session: its ID, its opener and its members.
///
/// Invitations are totally ordered, and every device follows the greatest that it has heard of. So devices that began
/// several sessions, at the same moment or while partitioned, end in one, in whatever order notices arrive.
public struct SessionInvitation: Codable, Hashable, Sendable {
    /// Maximum number of devices in a session.
    public static let membersMax = 16
    /// The highest number. Two sessions with this number are ordered by their dates: the later one is greater.
    static let numberMax: UInt32 = 1 << 31
    /// Maximum step from a device's number to one in a notice. Without it, one lie could use up all numbers.
    static let stepMax: UInt32 = 1 << 16
    /// Maximum number of seconds that `openedAt` may be ahead of this device's clock at the highest number.
    private static let secondsAheadMax: TimeInterval = 86_400

    /// The ID of the session.
    public let sessionID: UUID
    /// The number of the session: one more than its predecessor's, as far as the opener knew.
    public let number: UInt32
    /// The moment at which the session was opened, by the opener's clock.
    public let openedAt: Date
    /// The devices that the session began with, in ascending order. If there is one, it is the opener, and the first
    /// device to appear joins it. Several are a group from the start.
    public let members: [SessionSource]
    /// The devices that were invited after the group had formed, in ascending order. nil if there are none.
    public let latecomers: [SessionSource]?

    /// Creates the invitation to a new session. A lobby does this for its app.
    public init(
        sessionID: UUID, number: UInt32, openedAt: Date, members: [SessionSource], latecomers: [SessionSource] = []
    ) {
        self.sessionID = sessionID
        self.number = number
        self.openedAt = openedAt
        self.members = members.sorted()
        self.latecomers = latecomers.isEmpty ? nil : latecomers.sorted()
    }

    /// Returns true if a device takes part, under any of its incarnations. Complexity: O(members).
    public func includes(_ peerID: String) -> Bool { allDevices.contains { $0.peerID == peerID } }

    var allDevices: [SessionSource] { members + (latecomers ?? []) }

    /// Returns the same session with one more device.
    func adding(_ device: SessionSource) -> SessionInvitation {
        let isGroup = members.count > 1
        return SessionInvitation(
            sessionID: sessionID, number: number, openedAt: openedAt, members: isGroup ? members : members + [device],
            latecomers: (latecomers ?? []) + (isGroup ? [device] : []))
    }

    /// Returns true if both invite to one session of one opener. If only their IDs are equal, `<` decides.
    func isOfOneSession(as other: SessionInvitation) -> Bool {
        sessionID == other.sessionID && number == other.number && openedAt == other.openedAt
    }

    /// Returns the same session with the devices of both invitations: members may invite devices at the same moment.
    ///
    /// The result doesn't depend on the order of merging. If there are too many latecomers, the lowest peer IDs stay.
    /// Of two incarnations of one latecomer, the higher number stays.
    func merged(with other: SessionInvitation) -> SessionInvitation {
        let isSmaller =
            members.count != other.members.count
            ? members.count < other.members.count : members.lexicographicallyPrecedes(other.members)
        let (first, second) = isSmaller ? (other, self) : (self, other)
        var late: [String: SessionSource] = [:]
        for source in first.allDevices + second.allDevices {
            late[source.peerID] = late[source.peerID].map { max($0, source) } ?? source
        }
        for member in first.members { late[member.peerID] = nil }
        let capacity = max(0, Self.membersMax - first.members.count)
        return SessionInvitation(
            sessionID: sessionID, number: first.number, openedAt: first.openedAt, members: first.members,
            latecomers: Array(late.values.sorted().prefix(capacity)))
    }

    /// Returns true if an invitation from a peer or the store is valid.
    func isUsable(at now: Date) -> Bool {
        let peerIDs = Set(allDevices.map(\.peerID))
        return !members.isEmpty && peerIDs.count == allDevices.count && peerIDs.count <= Self.membersMax
            && members == members.sorted() && latecomers != [] && (latecomers ?? []) == (latecomers ?? []).sorted()
            && openedAt.timeIntervalSince1970.isFinite && number <= Self.numberMax
            && (number < Self.numberMax || openedAt.timeIntervalSince(now) <= Self.secondsAheadMax)
    }

    /// Returns the highest number that an invitation may have on a device that knows this number.
    static func limit(above number: UInt32) -> UInt32 { min(number, numberMax) + stepMax }

    /// Returns the number and date of the session that supersedes this one.
    func next(at now: Date) -> (number: UInt32, openedAt: Date) {
        number < Self.numberMax ? (number + 1, now) : (number, max(now, openedAt.addingTimeInterval(1)))
    }
}

extension SessionInvitation: Comparable {
    /// The invitation with the higher number is greater, because its opener had seen the lower one. Of equal numbers,
    /// the session opened earlier is greater, because more has happened in it; then the lower session ID. Of one
    /// session, the larger group is greater. At the highest number (2^31) the session opened later is greater, so a
    /// user can always open another.
    public static func < (left: Self, right: Self) -> Bool {
        if left.number != right.number { return left.number < right.number }
        if left.openedAt != right.openedAt {
            return (left.openedAt > right.openedAt) == (left.number < numberMax)
        }
        if left.sessionID != right.sessionID { return left.sessionID.uuidString > right.sessionID.uuidString }
        if left.allDevices.count != right.allDevices.count { return left.allDevices.count < right.allDevices.count }
        if left.members != right.members { return left.members.lexicographicallyPrecedes(right.members) }
        return (left.latecomers ?? []).lexicographicallyPrecedes(right.latecomers ?? [])
    }
}
