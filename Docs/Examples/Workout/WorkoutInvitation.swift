public import Foundation
public import MeshEngine

/// Which workout is under way, and whose devices take part in it.
///
/// Invitations have one order, and every device goes with the greatest that it has heard of. So devices that each began a
/// workout, at the same moment or out of each other's reach, end in one, whatever arrives first.
public struct WorkoutInvitation: Codable, Hashable, Sendable {
    /// Devices of one workout, at most.
    public static let membersMax = 16

    public let sessionID: UUID
    /// One more than that of the workout before, as far as its opener knew.
    public let number: UInt32
    /// By the opener's clock.
    public let openedAt: Date
    /// In ascending order. One alone is the opener, which takes in the first that comes; several are a group for good.
    public let members: [SessionSource]

    public init(sessionID: UUID, number: UInt32, openedAt: Date, members: [SessionSource]) {
        self.sessionID = sessionID
        self.number = number
        self.openedAt = openedAt
        self.members = members.sorted()
    }

    /// The same workout with one more device.
    func adding(_ member: SessionSource) -> WorkoutInvitation {
        WorkoutInvitation(sessionID: sessionID, number: number, openedAt: openedAt, members: members + [member])
    }

    func includes(_ peerID: String) -> Bool { members.contains { $0.peerID == peerID } }

    /// Whether it may be followed: it came from outside.
    var isUsable: Bool {
        let peerIDs = Set(members.map(\.peerID))
        return (1...Self.membersMax).contains(members.count) && peerIDs.count == members.count
            && members == members.sorted() && openedAt.timeIntervalSince1970.isFinite
    }
}

extension WorkoutInvitation: Comparable {
    /// The higher number is the greater: its opener had seen the one before finish. Of equal numbers it is the one that was
    /// opened earlier, since more has happened in it; then the lower id. Of one workout it is the larger group.
    public static func < (left: Self, right: Self) -> Bool {
        if left.number != right.number { return left.number < right.number }
        if left.openedAt != right.openedAt { return left.openedAt > right.openedAt }
        if left.sessionID != right.sessionID { return left.sessionID.uuidString > right.sessionID.uuidString }
        if left.members.count != right.members.count { return left.members.count < right.members.count }
        return left.members.lexicographicallyPrecedes(right.members)
    }
}

/// What every device tells the others as long as it runs, workout or not.
struct WorkoutNotice: Codable, Hashable, Sendable {
    static let featureID = "workout.lobby"
    static let payloadType = "workout.notice"

    let name: String
    /// Under which the device writes events of workouts that begin now.
    let incarnation: UInt32
    /// The greatest that it has heard of.
    let invitation: WorkoutInvitation?
}

extension WorkoutNotice {
    /// A name from outside, fit for a screen: one line, at most 32 characters.
    static func shown(_ name: String) -> String {
        let isPrintable: (Unicode.Scalar) -> Bool = { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .unassigned, .privateUse: false
            default: true
            }
        }
        let line = String(String.UnicodeScalarView(name.unicodeScalars.prefix(128).filter(isPrintable)))
        return line.isEmpty ? "unnamed" : String(line.prefix(32))
    }
}
