public import Foundation

/// The name of a value of which only the newest counts: a heart rate, a viewer, a cursor position.
///
/// ```swift
/// extension EphemeralKey<Int> { static let heartRate = EphemeralKey("heartRate") }
///
/// try session.show(142, as: .heartRate)                // on the watch, as often as it is measured
/// session.latestValue(of: .heartRate)?.value           // on the phone
/// session.values(of: .cursor)                          // every peer's cursor, by peer ID
/// session.hide(.cursor)                                // removes this device's cursor
/// ```
///
/// Such a value isn't logged or stored, and has no place in the order of events. If a message is lost, the next one
/// replaces it. The value disappears with its peer. Use an event for anything that must be kept.
public struct EphemeralKey<Value: Codable & Sendable>: Hashable, Sendable {
    /// The name, 1 to 128 bytes of UTF-8. A value that another type wrote under this name isn't shown.
    public let name: String

    /// Creates a key with that name, which must be the same on every device. A key with this name and another type
    /// can't read its values.
    public init(_ name: String) { self.name = name }
}

/// The newest value that a peer shows under a key.
public struct EphemeralValue<Value: Sendable>: Sendable {
    /// The value that the peer shows.
    public let value: Value
    /// The peer that shows the value, which may be this device.
    public let peerID: String
    /// The moment of the value, as passed to `show`; by default the session's time on that peer. In whole milliseconds.
    public let moment: Date

    /// Creates a value for previews and tests. In an app, the session creates them.
    public init(value: Value, peerID: String, moment: Date) {
        self.value = value
        self.peerID = peerID
        self.moment = moment
    }
}

extension EphemeralValue: Equatable where Value: Equatable {}
