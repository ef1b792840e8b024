public import Foundation

/// Names a value of which only the newest counts: a heart rate, who looks, where a cursor is.
///
/// ```swift
/// extension EphemeralKey<Int> { static let heartRate = EphemeralKey("heartRate") }
///
/// try session.show(142, as: .heartRate)                // on the watch, as often as it is measured
/// session.latestValue(of: .heartRate)?.value                     // on the phone
/// session.values(of: .cursor)                        // where everybody's is, by peer id
/// session.hide(.cursor)                                // and mine is nowhere
/// ```
///
/// Such a value is in no log and no store, and has no place in the order of events: what is lost on the way is replaced by
/// the next. It goes when its peer goes. What must be kept is an event.
public struct EphemeralKey<Value: Codable & Sendable>: Hashable, Sendable {
    /// 1 to 128 bytes of UTF-8. A value under this name that another type has written is not shown.
    public let name: String

    /// Creates a key with a name, which must be the same on every device. Keys of one name and different types do not
    /// read each other's values.
    public init(_ name: String) { self.name = name }
}

/// The newest value that a peer shows under a key.
public struct EphemeralValue<Value: Sendable>: Sendable {
    /// The value that the peer shows.
    public let value: Value
    /// The peer that shows the value, which may be this device.
    public let peerID: String
    /// The moment at which the value was shown, by the clock of its peer, to the millisecond.
    public let moment: Date

    /// Creates a value for previews and tests. In an app, the session creates them.
    public init(value: Value, peerID: String, moment: Date) {
        self.value = value
        self.peerID = peerID
        self.moment = moment
    }
}

extension EphemeralValue: Equatable where Value: Equatable {}
