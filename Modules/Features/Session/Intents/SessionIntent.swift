public import Foundation
public import MeshEngine

/// Something that one device asks another to do, as every device sees it.
public struct SessionIntent<Intent: Codable & Sendable, Answer: Codable & Sendable>: Codable, Sendable, Identifiable {
    /// The id of the event that asked.
    public let id: UUID
    /// The work that the asker wants done.
    public let intent: Intent
    /// The peer that asked.
    public let asker: String
    /// The only device that may do it, in the life that it had then.
    public let designated: SessionSource
    /// The moment of the request by the session's clock.
    public let askedAt: Date
    /// The moment of the session's clock after which the intent isn't begun.
    public let lapsesAt: Date
    /// The intent's progress: asked, begun or settled.
    public internal(set) var progress = SessionIntentProgress<Answer>.asked

    /// Neither done nor given up.
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
    /// Asked, and not begun.
    case asked
    /// The designated device has begun: it does not do so a second time.
    case begun
    /// The intent has ended for good, with this outcome.
    case settled(SessionIntentOutcome<Answer>)
}

extension SessionIntentProgress: Equatable where Answer: Equatable {}
extension SessionIntentProgress: Hashable where Answer: Hashable {}

/// The outcome of an intent that is settled.
public enum SessionIntentOutcome<Answer: Codable & Sendable>: Codable, Sendable {
    /// The handler returned this.
    case answered(Answer)
    /// The handler threw; the text is that of its error.
    case failed(String)
    /// The intent was begun, or may have been, and its outcome will stay unknown: the process or the device that did it
    /// has gone.
    case interrupted
    /// Its age was over before it was begun, as far as the device knew that says so.
    case lapsed

    /// Whether the designated device has done what was asked.
    var isWordOfDoer: Bool {
        switch self {
        case .answered, .failed: true
        case .interrupted, .lapsed: false
        }
    }
}

extension SessionIntentOutcome: Equatable where Answer: Equatable {}
extension SessionIntentOutcome: Hashable where Answer: Hashable {}

/// A change of the owner or of an intent: the payload of a feature's one event for them. `SessionIntentService` and
/// `SyncedSession.ask` submit these.
public enum SessionIntentStep<Intent: Codable & Sendable, Answer: Codable & Sendable>: Codable, Sendable {
    /// The source of the event becomes the owner, if `term` follows the current one at the event's place in the order.
    case takeOver(term: UInt64)
    /// Asks that device; the event's id becomes the intent's.
    case ask(Intent, of: SessionSource, lapsesAt: Date)
    /// The designated device begins with it.
    case begin(id: UUID)
    /// The intent has ended with this outcome.
    case settle(id: UUID, SessionIntentOutcome<Answer>)
}

extension SessionIntentStep: Equatable where Intent: Equatable, Answer: Equatable {}
extension SessionIntentStep: Hashable where Intent: Hashable, Answer: Hashable {}
