/// The packets sent lately, so that those that come back are known for own ones.
///
/// Multicast is looped back for others on this machine, and two interfaces may be on one network. An answer or a probe
/// that is equal to an own one says nothing new, however often it comes. A question may be asked by another process on
/// this machine in the same bytes: of those only one copy for each one sent and interface is an echo.
struct EchoMemory: Sendable {
    private struct Entry {
        let digest: UInt64
        let sender: UInt32
        let family: IPAddress.Family
        let sentAt: Duration
        var heardOn: [UInt32] = []
    }

    /// The newest last; the oldest is forgotten first.
    private var entries: [Entry] = []
    private static let limit = 64
    private static let travelTimeMax = Duration.seconds(2)

    mutating func note(_ bytes: [UInt8], from sender: UInt32, family: IPAddress.Family, _ now: Duration) {
        if entries.count == Self.limit { entries.removeFirst() }
        let digest = bytes.withUnsafeBytes(Self.digest)
        entries.append(Entry(digest: digest, sender: sender, family: family, sentAt: now))
    }

    /// - Parameters:
    ///   - senders: the interfaces that have the address from which it came.
    ///   - isQuestion: only one copy for each that was sent counts, and only for two seconds.
    mutating func isEcho(
        _ bytes: UnsafeRawBufferPointer, from senders: [UInt32], on interface: UInt32, family: IPAddress.Family,
        isQuestion: Bool, _ now: Duration
    ) -> Bool {
        let digest = Self.digest(bytes)
        guard isQuestion else { return entries.contains { $0.digest == digest } }
        let place = entries.firstIndex {
            $0.digest == digest && $0.family == family && senders.contains($0.sender)
                && !$0.heardOn.contains(interface) && now - $0.sentAt < Self.travelTimeMax
        }
        guard let place else { return false }
        entries[place].heardOn.append(interface)
        return true
    }

    /// FNV-1a, 64 bits: nobody gains by a collision, which hides a packet that its sender could have left unsent.
    private static func digest(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}
