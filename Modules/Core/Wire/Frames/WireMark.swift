/// The mark in front of an envelope or a snapshot whose sender waits for an acknowledgement.
///
/// Numbers count for each sender, its outbox, the receiver and the feature; those of latest snapshots count apart.
public struct WireMark: Hashable, Sendable {
    /// Which outbox of the sender numbered it: 32 random bits drawn when the outbox was made.
    package var outbox: UInt32
    /// From 1, without a gap. Of a latest snapshot: larger is newer, and gaps mean nothing.
    package var sequence: UInt64
    /// The lowest number that the sender still offers; what is below it and has not arrived never will. At most
    /// `sequence`. Without meaning for a latest snapshot: it is not written, and read as `sequence`.
    package var first: UInt64
    /// Only the newest of its feature counts.
    package var isLatest: Bool
    /// Milliseconds since 1970 by the sender's clock, after which nobody wants it any more; nil for never.
    package var expiresAt: UInt64?

    /// A mark of one message.
    package init(outbox: UInt32, sequence: UInt64, first: UInt64, isLatest: Bool = false, expiresAt: UInt64? = nil) {
        self.outbox = outbox
        self.sequence = sequence
        self.first = first
        self.isLatest = isLatest
        self.expiresAt = expiresAt
    }
}

/// A message and its mark, if it has one.
public struct WireFrame: Sendable {
    /// What the frame says.
    package var message: WireMessage
    /// nil where the sender waits for no acknowledgement.
    package var mark: WireMark?

    /// A message that waits for no acknowledgement, unless there is a mark.
    package init(_ message: WireMessage, mark: WireMark? = nil) {
        self.message = message
        self.mark = mark
    }
}

/// A report from one side of a connection to the other: the messages that have arrived, and the connection's state.
public struct WireReport: Hashable, Sendable {
    /// The marked frames that a receiver has, for one feature and outbox of the other side.
    public struct Receipt: Hashable, Sendable {
        /// The feature whose messages are acknowledged.
        package var featureID: String
        /// The other side's outbox, by its random number.
        package var outbox: UInt32
        /// Everything up to it has arrived, or never will; of latest snapshots, the newest that has arrived.
        package var upTo: UInt64
        /// What has arrived beyond it, ascending and apart; at most `rangesMax`. Empty for latest snapshots.
        package var beyond: [ClosedRange<UInt64>]
        /// Whether it is about latest snapshots, which count apart.
        package var isLatest: Bool

        /// Ranges in one receipt; what they leave out is acknowledged later.
        package static let rangesMax = 64

        /// An acknowledgement of everything up to `upTo`, and of what is beyond it.
        package init(
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

    /// The number at which a sender goes on after numbers that it no longer offers, if no marked frame says so.
    public struct Floor: Hashable, Sendable {
        /// The feature.
        package var featureID: String
        /// The sender's outbox, by its random number.
        package var outbox: UInt32
        /// The lowest number that is still offered or the next to be given.
        package var first: UInt64

        /// Nothing below `first` is offered any more.
        package init(featureID: String, outbox: UInt32, first: UInt64) {
            self.featureID = featureID
            self.outbox = outbox
            self.first = first
        }
    }

    /// A number and a time that the other side is to send back at once.
    public struct Probe: Hashable, Sendable {
        /// Chosen by the prober; the echo repeats it.
        package var number: UInt32
        /// Milliseconds since 1970 by the prober's clock.
        package var sentAt: UInt64

        /// A probe sent at that time.
        package init(number: UInt32, sentAt: UInt64) {
            self.number = number
            self.sentAt = sentAt
        }
    }

    /// The answer to a probe.
    public struct Echo: Hashable, Sendable {
        /// The probe as it came.
        package var probe: Probe
        /// Milliseconds since 1970 by the answering side's clock.
        package var answeredAt: UInt64

        /// An answer given at that time.
        package init(probe: Probe, answeredAt: UInt64) {
            self.probe = probe
            self.answeredAt = answeredAt
        }
    }

    /// A probe of the sender; nil for none.
    package var probe: Probe?
    /// The answer to the receiver's last probe; nil for none.
    package var echo: Echo?
    /// What has arrived.
    package var receipts: [Receipt]
    /// What the sender no longer offers.
    package var floors: [Floor]
    /// Milliseconds within which the sender will speak again; nil if it doesn't say.
    package var silence: UInt64?
    /// What the sender knows of the numbers in the receiver's datagrams; nil if it doesn't say.
    package var identities: KnownIdentities?

    /// Receipts, and floors, of one report.
    package static let entriesMax = 256

    /// A report that says nothing, unless told otherwise.
    package init(probe: Probe? = nil, echo: Echo? = nil, receipts: [Receipt] = [], floors: [Floor] = []) {
        self.probe = probe
        self.echo = echo
        self.receipts = receipts
        self.floors = floors
    }
}
