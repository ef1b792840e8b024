public import Foundation
public import MeshEngine

/// A request of one device to another, as every device sees it.
public struct SessionIntent<Intent: Codable & Sendable, Answer: Codable & Sendable>: Codable, Sendable, Identifiable {
    /// The ID of the event that made the request.
    public let id: UUID
    /// The work that was requested.
    public let intent: Intent
    /// The peer that made the request.
    public let asker: String
    /// The only device that may do the work, with its incarnation at that time.
    public let designated: SessionSource
    /// The moment of the request, by the session's clock.
    public let askedAt: Date
    /// The moment after which the work may no longer begin, by the session's clock.
    public let lapsesAt: Date
    /// The progress of the intent.
    public internal(set) var progress = SessionIntentProgress<Answer>.asked

    /// True until the intent is settled.
    public var isOpen: Bool {
        switch progress {
        case .asked, .begun: true
        case .settled: false
        }
    }
}

extension SessionIntent: Equatable where Intent: Equatable, Answer: Equatable {}
extension SessionIntent: Hashable where Intent: Hashable, Answer: Hashable {}

/// The progress of an intent. It only moves forward.
public enum SessionIntentProgress<Answer: Codable & Sendable>: Codable, Sendable {
    /// The intent was asked and hasn't begun.
    case asked
    /// The designated device has begun. It doesn't begin a second time.
    case begun
    /// The intent has ended for good, with this outcome.
    case settled(SessionIntentOutcome<Answer>)
}

extension SessionIntentProgress: Equatable where Answer: Equatable {}
extension SessionIntentProgress: Hashable where Answer: Hashable {}

/// The outcome of a settled intent.
public enum SessionIntentOutcome<Answer: Codable & Sendable>: Codable, Sendable {
    /// The handler returned this answer.
    case answered(Answer)
    /// The handler threw an error with this text.
    case failed(String)
    /// The handler may have started, but its process or device is gone, so its outcome is unknown.
    case interrupted
    /// The intent expired before the work began, as far as the device that settled it knew.
    case lapsed

    /// True if the outcome is the handler's result.
    var isHandlerResult: Bool {
        switch self {
        case .answered, .failed: true
        case .interrupted, .lapsed: false
        }
    }
}

extension SessionIntentOutcome: Equatable where Answer: Equatable {}
extension SessionIntentOutcome: Hashable where Answer: Hashable {}

/// A change of the owner or of an intent, carried by an event of the feature. `SessionIntentService` and
/// `SyncedSession.ask` submit these.
public enum SessionIntentStep<Intent: Codable & Sendable, Answer: Codable & Sendable>: Codable, Sendable {
    /// Makes the event's source the owner, if `term` follows the current one at the event's place in the order.
    case takeOver(term: UInt64)
    /// Asks that device to do the work. The event's ID becomes the intent's.
    case ask(Intent, of: SessionSource, lapsesAt: Date)
    /// The designated device begins the work.
    case begin(id: UUID)
    /// The intent has ended with this outcome.
    case settle(id: UUID, SessionIntentOutcome<Answer>)
}

extension SessionIntentStep: Equatable where Intent: Equatable, Answer: Equatable {}
extension SessionIntentStep: Hashable where Intent: Hashable, Answer: Hashable {}
