public import Foundation
public import MeshEngine
import MeshIdentity

/// The owner of a feature and the devices' requests to each other, as a part of the feature's state.
///
/// ```swift
/// struct Groceries: SessionIntentState { var intents = SessionIntents<Checkout, Receipt>(); … }
/// enum GroceryEvent: SessionIntentEvent { case intents(SessionIntentStep<Checkout, Receipt>); … }
///
/// case .intents(let step): state.intents.apply(step, context: context)        // in the reducer
/// ```
///
/// An intent names the one device that may do it, so that two never do, whatever is out of whose reach; which device that is
/// follows the owner at the moment of asking. That device writes down that it begins before it does, so that it does not begin
/// again after a crash. Owner and intents change by events at places in the order: every device ends with the same.
///
/// Of each peer 16 intents are open at most, and 256 in all are kept: of the settled ones the oldest make room, and an intent
/// for which there is none is not taken.
public struct SessionIntents<Intent: Codable & Sendable, Answer: Codable & Sendable>: Codable, Sendable {
    /// An intent and how far it has come.
    public typealias Entry = SessionIntent<Intent, Answer>

    /// nil until a device that serves has taken over.
    public private(set) var owner: SessionSource?
    /// The number of times that the ownership has changed.
    public private(set) var term: UInt64 = 0
    /// The intents that are kept, in the order in which they were asked.
    public private(set) var entries: [Entry] = []

    /// Open intents of one peer. Of a further one nothing is taken.
    public static var openOfPeerMax: Int { 16 }
    /// Intents that are kept, open and settled.
    public static var countMax: Int { 256 }
    /// Characters of the text of a handler's error.
    public static var errorTextMax: Int { 1024 }

    /// No owner, and nothing asked.
    public init() {}

    /// Returns the intent with that ID, or nil if it isn't kept.
    ///
    /// Complexity: O(entries).
    public subscript(id: UUID) -> Entry? { entries.first { $0.id == id } }

    /// Intents that this peer has asked and that are neither done nor given up.
    public func openCount(of peerID: String) -> Int { entries.count { $0.isOpen && $0.asker == peerID } }

    /// Takes the step at its place in the order. For a reducer: pure, the same on every replica, and it never throws. A
    /// step that isn't valid at its place changes nothing, such as a second owner of one term, or a step by a peer that
    /// isn't concerned.
    ///
    /// - Returns: an intent that this step has answered. What it does to the rest of the state belongs here, in the reducer:
    ///   then it happens once, with the answer.
    @discardableResult
    public mutating func apply(_ step: SessionIntentStep<Intent, Answer>, context: SessionEventContext) -> Entry? {
        let metadata = context.metadata
        switch step {
        case .takeOver(let next):
            guard next > term, next - term == 1 else { return nil }
            owner = SessionSource(peerID: metadata.sourcePeerID, incarnation: metadata.incarnation)
            term = next
        case .ask(let intent, let designated, let lapsesAt):
            guard lapsesAt.timeIntervalSince1970.isFinite, makeRoom(for: metadata.sourcePeerID) else { return nil }
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

    /// What the doer says of its doing is the truth, also where the asker had given up before.
    private mutating func settle(_ id: UUID, _ outcome: SessionIntentOutcome<Answer>, by peerID: String) -> Entry? {
        guard let index = entries.firstIndex(where: { $0.id == id }) else { return nil }
        let entry = entries[index]
        let isDoer = entry.designated.peerID == peerID
        switch (entry.progress, outcome.isWordOfDoer) {
        case (.settled(let earlier), true): guard isDoer, !earlier.isWordOfDoer else { return nil }
        case (.settled, false): return nil
        case (_, true): guard isDoer else { return nil }
        case (.begun, false):
            // Once it has begun it cannot lapse.
            guard isDoer || entry.asker == peerID, case .interrupted = outcome else { return nil }
        case (.asked, false): guard isDoer || entry.asker == peerID else { return nil }
        }
        entries[index].progress = .settled(outcome)
        guard case .answered = outcome else { return nil }
        return entries[index]
    }
}

extension SessionIntents: Equatable where Intent: Equatable, Answer: Equatable {}
extension SessionIntents: Hashable where Intent: Hashable, Answer: Hashable {}

/// A feature's state that has an owner and intents in it.
public protocol SessionIntentState {
    /// The type of the requests that devices send to each other.
    associatedtype Intent: Codable & Sendable
    /// The type of the answers to the requests.
    associatedtype Answer: Codable & Sendable

    /// The owner, and what has been asked. The reducer changes it with `apply`.
    var intents: SessionIntents<Intent, Answer> { get }
}

/// A feature's event of which one case carries what happens to them: `case intents(SessionIntentStep<Intent, Answer>)`.
public protocol SessionIntentEvent {
    /// The type of the requests that devices send to each other.
    associatedtype Intent: Codable & Sendable
    /// The type of the answers to the requests.
    associatedtype Answer: Codable & Sendable

    /// The event that carries a step; as a rule a case of that name.
    static func intents(_ step: SessionIntentStep<Intent, Answer>) -> Self
}
