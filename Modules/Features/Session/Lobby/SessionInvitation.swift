public import Foundation
public import MeshEngine

/// An invitation to a feature's session: its ID, its opener and its members.
///
/// Invitations have one order, and every device goes with the greatest that it has heard of. So devices that each began a
/// session, at the same moment or out of each other's reach, end in one, whatever arrives first.
public struct SessionInvitation: Codable, Hashable, Sendable {
    /// Devices of one session, at most.
    public static let membersMax = 16
    /// Where numbers end. Two sessions of this number differ by their dates: the later one is the greater.
    static let numberMax: UInt32 = 1 << 31
    /// How far one notice moves the number that a device knows. Otherwise one lie would use up all numbers.
    static let stepMax: UInt32 = 1 << 16
    /// How far ahead of this device's clock a session of the highest number may have been opened.
    private static let secondsAheadMax: TimeInterval = 86_400

    /// The session that is under way.
    public let sessionID: UUID
    /// One more than that of the session before, as far as its opener knew.
    public let number: UInt32
    /// The moment at which the session was opened, by the opener's clock.
    public let openedAt: Date
    /// The devices that the session began with, in ascending order. A single one is the opener, and the first device to
    /// appear joins it. Several are a group from the start.
    public let members: [SessionSource]
    /// The devices that were invited after the group had formed, in ascending order. nil if there are none.
    public let latecomers: [SessionSource]?

    /// An invitation as its opener makes it: the lobby's own work.
    public init(
        sessionID: UUID, number: UInt32, openedAt: Date, members: [SessionSource], latecomers: [SessionSource] = []
    ) {
        self.sessionID = sessionID
        self.number = number
        self.openedAt = openedAt
        self.members = members.sorted()
        self.latecomers = latecomers.isEmpty ? nil : latecomers.sorted()
    }

    /// Whether a device takes part, in whichever of its lives. O(members).
    public func includes(_ peerID: String) -> Bool { everybody.contains { $0.peerID == peerID } }

    var everybody: [SessionSource] { members + (latecomers ?? []) }

    /// The same session with one more device.
    func adding(_ device: SessionSource) -> SessionInvitation {
        let isGroup = members.count > 1
        return SessionInvitation(
            sessionID: sessionID, number: number, openedAt: openedAt, members: isGroup ? members : members + [device],
            latecomers: (latecomers ?? []) + (isGroup ? [device] : []))
    }

    /// Of one opener: another that says the same id and something else is greater or smaller.
    func isOfOneSession(as other: SessionInvitation) -> Bool {
        sessionID == other.sessionID && number == other.number && openedAt == other.openedAt
    }

    /// The same session with all devices that either of the two has: members may invite several at the same moment.
    ///
    /// In whatever order invitations come together, the same one comes out of them. Of more latecomers than there is room
    /// for, those of the lowest ids stay; of two lives of one device that of the greater number.
    func merged(with other: SessionInvitation) -> SessionInvitation {
        let isSmaller =
            members.count != other.members.count
            ? members.count < other.members.count : members.lexicographicallyPrecedes(other.members)
        let (first, second) = isSmaller ? (other, self) : (self, other)
        var late: [String: SessionSource] = [:]
        for source in first.everybody + second.everybody {
            late[source.peerID] = late[source.peerID].map { max($0, source) } ?? source
        }
        for member in first.members { late[member.peerID] = nil }
        let room = max(0, Self.membersMax - first.members.count)
        return SessionInvitation(
            sessionID: sessionID, number: first.number, openedAt: first.openedAt, members: first.members,
            latecomers: Array(late.values.sorted().prefix(room)))
    }

    /// Whether it may be followed: it came from outside, or from the store.
    func isUsable(at now: Date) -> Bool {
        let peerIDs = Set(everybody.map(\.peerID))
        return !members.isEmpty && peerIDs.count == everybody.count && peerIDs.count <= Self.membersMax
            && members == members.sorted() && latecomers != [] && (latecomers ?? []) == (latecomers ?? []).sorted()
            && openedAt.timeIntervalSince1970.isFinite && number <= Self.numberMax
            && (number < Self.numberMax || openedAt.timeIntervalSince(now) <= Self.secondsAheadMax)
    }

    /// Whether it is near enough to the present one to be believed.
    func isWithinStep(of present: SessionInvitation) -> Bool {
        number <= present.number || number - present.number <= Self.stepMax
    }

    /// The number and date of the session that is to supersede this one.
    func next(at now: Date) -> (number: UInt32, openedAt: Date) {
        number < Self.numberMax ? (number + 1, now) : (number, max(now, openedAt.addingTimeInterval(1)))
    }
}

extension SessionInvitation: Comparable {
    /// The higher number is the greater: its opener had seen the one before. Of equal numbers it is the one that was opened
    /// earlier, since more has happened in it; then the lower id. Of one session it is the larger group. Where numbers end (2^31),
    /// the later one is the greater, so that a user can always open another session.
    public static func < (left: Self, right: Self) -> Bool {
        if left.number != right.number { return left.number < right.number }
        if left.openedAt != right.openedAt {
            return (left.openedAt > right.openedAt) == (left.number < numberMax)
        }
        if left.sessionID != right.sessionID { return left.sessionID.uuidString > right.sessionID.uuidString }
        if left.everybody.count != right.everybody.count { return left.everybody.count < right.everybody.count }
        if left.members != right.members { return left.members.lexicographicallyPrecedes(right.members) }
        return (left.latecomers ?? []).lexicographicallyPrecedes(right.latecomers ?? [])
    }
}
