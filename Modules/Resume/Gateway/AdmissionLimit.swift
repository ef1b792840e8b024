import MeshBase

/// The rate of handshakes. Each client beyond it gets a time of its own at which to come again.
struct AdmissionLimit: Sendable {
    /// The longest wait that a client is asked for.
    private static let waitMax = Duration.seconds(60)

    private var bucket: TokenBucket
    private let interval: Duration
    private var promised = Duration.zero

    init(_ admission: GatewayAdmission) {
        let perSecond = max(admission.perSecond, 0.001)
        bucket = TokenBucket(perSecond: perSecond, atOnce: max(1, admission.atOnce))
        interval = .seconds(1 / perSecond)
    }

    /// - Returns: nil where there is room, else how long to wait.
    mutating func take(_ now: Duration) -> Duration? {
        if bucket.take(now) { return nil }
        promised = max(promised, now) + interval
        return min(promised - now, Self.waitMax)
    }
}
