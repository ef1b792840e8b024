/// What a sender that waits for acknowledgement writes in front of an envelope or a snapshot.
///
/// Numbers count for each sender, its outbox, the receiver and the feature; those of latest snapshots count apart.
public struct WireMark: Hashable, Sendable {
    /// Which outbox of the sender numbered it: 32 random bits drawn when the outbox was made.
    public var outbox: UInt32
    /// From 1, without a gap. Of a latest snapshot: larger is newer, and gaps mean nothing.
    public var sequence: UInt64
    /// The lowest number that the sender still offers; what is below it and has not arrived never will. At most
    /// `sequence`. Without meaning for a latest snapshot: it is not written, and read as `sequence`.
    public var first: UInt64
    /// Only the newest of its feature counts.
    public var isLatest: Bool
    /// Milliseconds since 1970 by the sender's clock, after which nobody wants it any more; nil for never.
    public var expiresAt: UInt64?

    public init(outbox: UInt32, sequence: UInt64, first: UInt64, isLatest: Bool = false, expiresAt: UInt64? = nil) {
        self.outbox = outbox
        self.sequence = sequence
        self.first = first
        self.isLatest = isLatest
        self.expiresAt = expiresAt
    }
}

/// A message and its mark, if it has one.
public struct WireFrame: Sendable {
    public var message: WireMessage
    public var mark: WireMark?

    public init(_ message: WireMessage, mark: WireMark? = nil) {
        self.message = message
        self.mark = mark
    }
}

/// What one side of a connection tells the other about what has arrived, and how it is.
public struct WireReport: Hashable, Sendable {
    /// What the receiver of marked frames has, for one feature and outbox of the other side.
    public struct Receipt: Hashable, Sendable {
        public var featureID: String
        public var outbox: UInt32
        /// Everything up to it has arrived, or never will; of latest snapshots, the newest that has arrived.
        public var upTo: UInt64
        /// What has arrived beyond it, ascending and apart; at most `rangesMax`. Empty for latest snapshots.
        public var beyond: [ClosedRange<UInt64>]
        public var isLatest: Bool

        public static let rangesMax = 64

        public init(
            featureID: String, outbox: UInt32, upTo: UInt64, beyond: [ClosedRange<UInt64>] = [],
            isLatest: Bool = false
        ) {
            self.featureID = featureID
            self.outbox = outbox
            self.upTo = upTo
            self.beyond = beyond
            self.isLatest = isLatest
        }
    }

    /// Where a sender goes on after numbers that it no longer offers, when no frame with a mark says so.
    public struct Floor: Hashable, Sendable {
        public var featureID: String
        public var outbox: UInt32
        /// The lowest number that is still offered or the next to be given.
        public var first: UInt64

        public init(featureID: String, outbox: UInt32, first: UInt64) {
            self.featureID = featureID
            self.outbox = outbox
            self.first = first
        }
    }

    /// A number and a time that the other side is to send back at once.
    public struct Probe: Hashable, Sendable {
        public var number: UInt32
        /// Milliseconds since 1970 by the prober's clock.
        public var sentAt: UInt64

        public init(number: UInt32, sentAt: UInt64) {
            self.number = number
            self.sentAt = sentAt
        }
    }

    /// The answer to a probe.
    public struct Echo: Hashable, Sendable {
        public var probe: Probe
        /// Milliseconds since 1970 by the answering side's clock.
        public var answeredAt: UInt64

        public init(probe: Probe, answeredAt: UInt64) {
            self.probe = probe
            self.answeredAt = answeredAt
        }
    }

    public var probe: Probe?
    public var echo: Echo?
    public var receipts: [Receipt]
    public var floors: [Floor]

    /// Receipts, and floors, of one report.
    public static let entriesMax = 256

    public init(probe: Probe? = nil, echo: Echo? = nil, receipts: [Receipt] = [], floors: [Floor] = []) {
        self.probe = probe
        self.echo = echo
        self.receipts = receipts
        self.floors = floors
    }
}
