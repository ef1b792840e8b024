import MeshBase

/// What is under way on one interface.
struct InterfaceState: Sendable {
    /// How far the names of this machine are on this interface.
    enum Claim: Hashable, Sendable {
        /// Nothing is announced.
        case none
        /// So many probes have been sent (RFC 6762 section 8.1).
        case probing(sent: Int)
        /// So many announcements have been sent (section 8.3).
        case announcing(sent: Int)
        case established

        /// The names are ours: they are answered for.
        var isHeld: Bool {
            switch self {
            case .announcing, .established: true
            case .none, .probing: false
            }
        }
    }

    /// The question for services, asked for ever less often (section 5.2).
    struct Browsing: Sendable {
        var at: Duration
        /// From the next question to the one after.
        var interval = Duration.seconds(1)
        var isFirst = true

        static let intervalMax = Duration.seconds(3600)

        mutating func noteAsked(_ now: Duration) {
            at = now + interval
            interval = min(interval * 2, Self.intervalMax)
            isFirst = false
        }
    }

    /// Looks for what lacks of a service.
    struct Resolution: Sendable {
        let instance: DNSName
        var at: Duration
        var attempts = 0

        static let attemptsMax = 3
    }

    var interface: NetworkInterface
    var claim = Claim.none
    /// When the claim goes on; nothing while it is none or established.
    var claimAt = Duration.zero
    /// By family.
    var answers = [AnswerQueue(), AnswerQueue()]
    var cache: RecordCache
    var browsing: Browsing?
    /// At most one for each instance of which a pointer is known.
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

    /// In all the packets of a second, of what is asked again or is missing.
    private static let questionsPerSecond = 256

    private static func bucket(_ perSecond: Int) -> TokenBucket {
        TokenBucket(perSecond: Double(perSecond), atOnce: perSecond)
    }

    /// The families in which packets can be sent here.
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
