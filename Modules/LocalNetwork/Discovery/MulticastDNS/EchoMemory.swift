/// The packets sent recently, so that copies that come back are recognized.
///
/// Multicast is looped back to other processes on this machine, and two interfaces may be on one network. A response or
/// probe that equals one of ours contains nothing new, so every copy is an echo. Questions differ: another process on
/// this machine may ask the same one in the same bytes. So for each question that we sent, only one copy per receiving
/// interface is an echo.
struct EchoMemory: Sendable {
    private struct Entry {
        let digest: UInt64
        let sender: UInt32
        let family: IPAddress.Family
        let sentAt: Duration
        var receivedOn: [UInt32] = []
    }

    /// Oldest first. When full, the oldest is dropped.
    private var entries: [Entry] = []
    private static let limit = 64
    private static let travelTimeMax = Duration.seconds(2)

    mutating func note(_ bytes: [UInt8], from sender: UInt32, family: IPAddress.Family, _ now: Duration) {
        if entries.count == Self.limit { entries.removeFirst() }
        let digest = bytes.withUnsafeBytes(Self.digest)
        entries.append(Entry(digest: digest, sender: sender, family: family, sentAt: now))
    }

    /// - Parameters:
    ///   - senders: The interfaces that have the packet's source address.
    ///   - isQuestion: True to accept only one copy per packet sent and interface, within two seconds.
    mutating func isEcho(
        _ bytes: UnsafeRawBufferPointer, from senders: [UInt32], on interface: UInt32, family: IPAddress.Family,
        isQuestion: Bool, _ now: Duration
    ) -> Bool {
        let digest = Self.digest(bytes)
        guard isQuestion else { return entries.contains { $0.digest == digest } }
        let place = entries.firstIndex {
            $0.digest == digest && $0.family == family && senders.contains($0.sender)
                && !$0.receivedOn.contains(interface) && now - $0.sentAt < Self.travelTimeMax
        }
        guard let place else { return false }
        entries[place].receivedOn.append(interface)
        return true
    }

    /// Returns the 64-bit FNV-1a hash. A collision only hides the received packet, as if it hadn't been sent.
    private static func digest(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
        bytes.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
    }
}
