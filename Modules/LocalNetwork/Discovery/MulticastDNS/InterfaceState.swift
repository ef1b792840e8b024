import MeshBase

/// The state of one interface.
struct InterfaceState: Sendable {
    /// The progress of our names on this interface.
    enum Claim: Hashable, Sendable {
        case none
        /// The number of probes sent so far (RFC 6762 section 8.1).
        case probing(sent: Int)
        /// The number of announcements sent so far (section 8.3).
        case announcing(sent: Int)
        case established

        /// True if the names are ours, so that we answer for them.
        var isHeld: Bool {
            switch self {
            case .announcing, .established: true
            case .none, .probing: false
            }
        }
    }

    /// The recurring question for services, whose interval doubles (section 5.2).
    struct Browsing: Sendable {
        var at: Duration
        /// The interval after the next question.
        var interval = Duration.seconds(1)
        var isFirst = true

        static let intervalMax = Duration.seconds(3600)

        mutating func noteAsked(_ now: Duration) {
            at = now + interval
            interval = min(interval * 2, Self.intervalMax)
            isFirst = false
        }
    }

    /// The search for a service's missing records.
    struct Resolution: Sendable {
        let instance: DNSName
        var at: Duration
        var attempts = 0

        static let attemptsMax = 3
    }

    var interface: NetworkInterface
    var claim = Claim.none
    /// The time of the next probe or announcement; unused while the claim is none or established.
    var claimAt = Duration.zero
    /// The queues of answers, one per family.
    var answers = [AnswerQueue(), AnswerQueue()]
    var cache: RecordCache
    var browsing: Browsing?
    /// The searches for missing records, at most one per instance with a cached pointer.
    var resolutions: [Resolution] = []
    var newRecords: TokenBucket
    var unicastReplies: TokenBucket
    var questions: TokenBucket

    init(_ interface: NetworkInterface, _ configuration: MulticastDNSConfiguration) {
        self.interface = interface
        cache = RecordCache(serviceLimit: configuration.serviceLimit, recordLimit: configuration.recordLimit)
        newRecords = Self.bucket(configuration.newRecordsPerSecond)
        unicastReplies = Self.bucket(configuration.unicastRepliesPerSecond)
        questions = Self.bucket(Self.questionsPerSecond)
    }

    /// Maximum number of refresh and resolution questions per second, over all packets.
    private static let questionsPerSecond = 256

    private static func bucket(_ perSecond: Int) -> TokenBucket {
        TokenBucket(perSecond: Double(perSecond), atOnce: perSecond)
    }

    /// The families in which this interface can send.
    var families: [IPAddress.Family] {
        IPAddress.Family.allCases.filter { family in interface.addresses.contains { $0.ip.family == family } }
    }

    var nextDue: Duration? {
        var dues = families.compactMap { answers[Int($0.rawValue)].nextDue } + resolutions.map(\.at)
        if let due = cache.nextDue { dues.append(due) }
        if let browsing { dues.append(browsing.at) }
        switch claim {
        case .probing, .announcing: dues.append(claimAt)
        case .none, .established: break
        }
        return dues.min()
    }
}
