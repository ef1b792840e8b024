import MeshBase

/// Limits the rate of handshakes. The gateway asks each client beyond the limit to return, each at a different time.
///
/// An eighth of the burst is reserved for clients whose token was accepted before. A second eighth is for them and for
/// other clients at their addresses. All other clients share the rest, and each address has a limit. A refused token
/// counts against the limit of its address; an accepted one doesn't.
struct AdmissionLimit: Sendable {
    /// The longest time that a client is asked to wait.
    private static let waitMax = Duration.seconds(60)

    private var bucket: TokenBucket
    private let interval: Duration
    private let reserve: Int
    private var promised = Duration.zero
    private var addresses: KeyedBuckets
    private var promisedToAddresses = Duration.zero
    private var known = KnownClients()

    init(_ admission: GatewayAdmission) {
        let perSecond = max(admission.perSecond, 0.001)
        bucket = TokenBucket(perSecond: perSecond, atOnce: max(1, admission.atOnce))
        interval = .seconds(1 / perSecond)
        reserve = admission.atOnce / 4
        addresses = KeyedBuckets(perSecond: perSecond / 10, atOnce: admission.atOnce / 2)
    }

    /// - Parameter address: the client's address from `ClientAddress.share`; nil if unknown, which isn't limited by address.
    /// - Returns: nil if the handshake is admitted, otherwise the time to wait.
    mutating func take(token: String, from address: String?, _ now: Duration) -> Duration? {
        let isKnown = known.contains(token: token)
        if !isKnown, let address, !addresses.take(address, now) {
            return promise(\.promisedToAddresses, interval * 10, now)
        }
        let hasKnownAddress = address.map { known.contains(address: $0) } == true
        let kept = isKnown ? 0 : hasKnownAddress ? reserve / 2 : reserve
        if bucket.available(now) > kept, bucket.take(now) { return nil }
        if !isKnown, let address { addresses.giveBack(address) }
        return promise(\.promised, interval, now)
    }

    /// Reports the app's answer to an admitted handshake; nil if the app couldn't answer.
    mutating func resolve(_ isAccepted: Bool?, token: String, from address: String?, _ now: Duration) {
        if isAccepted != false, let address, !known.contains(token: token) { addresses.giveBack(address) }
        if isAccepted == true { known.insert(token: token, address: address, now) }
    }

    private mutating func promise(
        _ time: WritableKeyPath<Self, Duration>, _ interval: Duration, _ now: Duration
    ) -> Duration {
        self[keyPath: time] = max(self[keyPath: time], now) + interval
        let wait = self[keyPath: time] - now
        guard wait > Self.waitMax else { return wait }
        self[keyPath: time] = now
        return Self.waitMax
    }
}

/// Accepted tokens and their clients' addresses, as hashes with a seed that only this process has.
///
/// Beyond `clientsMax` the older half is forgotten.
struct KnownClients: Sendable {
    static let clientsMax = 65_536

    private var seenAt: [Int: Duration] = [:]

    func contains(token: String) -> Bool { seenAt[Self.hash("token", token)] != nil }
    func contains(address: String) -> Bool { seenAt[Self.hash("address", address)] != nil }

    mutating func insert(token: String, address: String?, _ now: Duration) {
        if seenAt.count >= Self.clientsMax {
            let middle = seenAt.values.sorted()[seenAt.count / 2]
            seenAt = seenAt.filter { $0.value > middle }
        }
        seenAt[Self.hash("token", token)] = now
        if let address { seenAt[Self.hash("address", address)] = now }
    }

    private static func hash(_ kind: String, _ text: String) -> Int {
        var hasher = Hasher()
        hasher.combine(kind)
        hasher.combine(text)
        return hasher.finalize()
    }
}
