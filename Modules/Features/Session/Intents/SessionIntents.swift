public import Foundation
public import MeshEngine
import MeshIdentity

// Requests between devices, run at most once. Decisions are events in the session's order (Convergence.md, rule 1).
//
// - owner: the device that new intents are asked of. A claim names the next term, and the first claim of a term in the
//   order wins, so a term has one owner.
// - designated: the one device that may carry out an intent.
// - settled: ended for good, with an outcome. The designated device's own outcome overrides a withdrawal.

/// The owner of a feature and the devices' requests to each other, as a part of the feature's state.
///
/// ```swift
/// struct Groceries: SessionIntentState { var intents = SessionIntents<Checkout, Receipt>(); … }
/// enum GroceryEvent: SessionIntentEvent { case intents(SessionIntentStep<Checkout, Receipt>); … }
///
/// case .intents(let step): state.intents.apply(step, context: context)        // in the reducer
/// ```
///
/// An intent names the one device that may do the work, so two devices never do it, even while partitioned. That device
/// is the owner at the moment of asking. It records the beginning before it starts the work, so it doesn't start again
/// after a crash. Owner and intents change by events in the session's order, so all devices end with the same ones.
///
/// Each peer has at most 16 open intents, and 256 are kept in all. The oldest settled one makes room for a new intent.
/// If all are open, the new one isn't accepted.
public struct SessionIntents<Intent: Codable & Sendable, Answer: Codable & Sendable>: Codable, Sendable {
    /// An intent with its progress.
    public typealias Entry = SessionIntent<Intent, Answer>

    /// The device that `ask` asks; nil until a serving device has taken over.
    public private(set) var owner: SessionSource?
    /// Number of changes of the owner.
    public private(set) var term: UInt64 = 0
    /// The kept intents, in the order in which they were asked.
    public private(set) var entries: [Entry] = []

    /// Maximum number of open intents of one peer. A further one isn't accepted.
    public static var openOfPeerMax: Int { 16 }
    /// Maximum number of kept intents, open and settled.
    public static var countMax: Int { 256 }
    /// Maximum number of characters in the text of a handler's error.
    public static var errorTextMax: Int { 1024 }

    /// Creates a state without an owner or intents.
    public init() {}

    /// Returns the intent with that ID, or nil if it isn't kept.
    ///
    /// Complexity: O(entries).
    public subscript(id: UUID) -> Entry? { entries.first { $0.id == id } }

    /// Returns the number of open intents that this peer has asked.
    public func openCount(of peerID: String) -> Int { entries.count { $0.isOpen && $0.asker == peerID } }

    /// Applies a step at its place in the order. For use in a reducer: it is pure, gives the same result on every
    /// replica, and never throws. A step that isn't valid at its place changes nothing, for example a second claim of
    /// a term, or a step by a peer that isn't involved.
    ///
    /// - Returns: the intent that this step has answered. Apply the answer's effect on the rest of the state in the
    ///   same reducer call, so that it happens once.
    @discardableResult
    public mutating func apply(_ step: SessionIntentStep<Intent, Answer>, context: SessionEventContext) -> Entry? {
        let metadata = context.metadata
        switch step {
        case .takeOver(let next):
            guard next > term, next - term == 1 else { return nil }
            owner = SessionSource(peerID: metadata.sourcePeerID, incarnation: metadata.incarnation)
            term = next
        case .ask(let intent, let designated, let lapsesAt):
            // An ID names one intent, also if a member that lies borrows it.
            guard lapsesAt.timeIntervalSince1970.isFinite, self[metadata.eventID] == nil,
                makeRoom(for: metadata.sourcePeerID)
            else { return nil }
            entries.append(
                Entry(
                    id: metadata.eventID, intent: intent, asker: metadata.sourcePeerID, designated: designated,
                    askedAt: metadata.causalTimestamp, lapsesAt: lapsesAt))
        case .begin(let id):
            guard let index = entries.firstIndex(where: { $0.id == id }), case .asked = entries[index].progress,
                entries[index].designated.peerID == metadata.sourcePeerID
            else { return nil }
            entries[index].progress = .begun
        case .settle(let id, let outcome):
            return settle(id, outcome, by: metadata.sourcePeerID)
        }
        return nil
    }

    private mutating func makeRoom(for asker: String) -> Bool {
        guard openCount(of: asker) < Self.openOfPeerMax else { return false }
        guard entries.count >= Self.countMax else { return true }
        guard let oldest = entries.firstIndex(where: { !$0.isOpen }) else { return false }
        entries.remove(at: oldest)
        return true
    }

    /// Settles an intent. The outcome of the device that did the work overrides an earlier withdrawal by the asker.
    private mutating func settle(_ id: UUID, _ outcome: SessionIntentOutcome<Answer>, by peerID: String) -> Entry? {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
        let entry = entries[index]
        let isDesignated = entry.designated.peerID == peerID
        switch (entry.progress, outcome.isHandlerResult) {
        case (.settled(let earlier), true): guard isDesignated, !earlier.isHandlerResult else { return nil }
        case (.settled, false): return nil
        case (_, true): guard isDesignated else { return nil }
        case (.begun, false):
            // A begun intent can't lapse.
            guard isDesignated || entry.asker == peerID, case .interrupted = outcome else { return nil }
        case (.asked, false): guard isDesignated || entry.asker == peerID else { return nil }
        }
        entries[index].progress = .settled(outcome)
        guard case .answered = outcome else { return nil }
        return entries[index]
    }
}

extension SessionIntents: Equatable where Intent: Equatable, Answer: Equatable {}
extension SessionIntents: Hashable where Intent: Hashable, Answer: Hashable {}

/// A feature's state that contains an owner and intents.
public protocol SessionIntentState {
    /// The type of the requests that devices send to each other.
    associatedtype Intent: Codable & Sendable
    /// The type of the answers to the requests.
    associatedtype Answer: Codable & Sendable

    /// The owner and the intents. The reducer changes them with `apply`.
    var intents: SessionIntents<Intent, Answer> { get }
}

/// A feature's event with one case for intents: `case intents(SessionIntentStep<Intent, Answer>)`.
public protocol SessionIntentEvent {
    /// The type of the requests that devices send to each other.
    associatedtype Intent: Codable & Sendable
    /// The type of the answers to the requests.
    associatedtype Answer: Codable & Sendable

    /// Returns the event that carries a step; usually a case of that name.
    static func intents(_ step: SessionIntentStep<Intent, Answer>) -> Self
}
