// Acknowledgements. An outbox is a sender's queue of messages that need one. The sender numbers them from 1 per outbox,
// receiver and feature, and writes the number into a mark in front of the message. The receiver answers with receipts:
// cumulative acknowledgements, plus up to 64 ranges of later numbers. A floor makes the receiver skip numbers that the
// sender has dropped. Latest snapshots have their own numbers: only the newest one counts.
// Docs/Internals/WireFormat.md, "Mark" and "Report"; Docs/Internals/Delivery.md.

/// The number of an envelope or snapshot whose sender waits for an acknowledgement.
public struct WireMark: Hashable, Sendable {
    /// ID of the sender's outbox: 32 random bits, generated with the outbox.
    package var outbox: UInt32
    /// Number of the message, from 1 without gaps. For latest snapshots a larger number is newer, and gaps have no meaning.
    package var sequence: UInt64
    /// The lowest number that the sender still offers. Lower ones that haven't arrived never will. At most `sequence`.
    /// Isn't written for a latest snapshot, and reads as `sequence`.
    package var first: UInt64
    /// True for a latest snapshot: only the newest one of its feature counts.
    package var isLatest: Bool
    /// Time after which the message is useless, in milliseconds since 1970 by the sender's clock; nil for never.
    package var expiresAt: UInt64?

    /// Creates a mark for one message.
    package init(outbox: UInt32, sequence: UInt64, first: UInt64, isLatest: Bool = false, expiresAt: UInt64? = nil) {
        self.outbox = outbox
        self.sequence = sequence
        self.first = first
        self.isLatest = isLatest
        self.expiresAt = expiresAt
    }
}

/// A message, with its mark if it has one.
public struct WireFrame: Sendable {
    /// The message of the frame.
    package var message: WireMessage
    /// The mark; nil if the sender doesn't wait for an acknowledgement.
    package var mark: WireMark?

    /// Creates a frame. Without a mark, the sender doesn't wait for an acknowledgement.
    package init(_ message: WireMessage, mark: WireMark? = nil) {
        self.message = message
        self.mark = mark
    }
}

/// A report from one side of a connection to the other: the messages that have arrived, and measurements.
public struct WireReport: Hashable, Sendable {
    /// An acknowledgement of marked messages of one feature, from one outbox of the other side.
    public struct Receipt: Hashable, Sendable {
        /// The feature whose messages are acknowledged.
        package var featureID: String
        /// ID of the other side's outbox.
        package var outbox: UInt32
        /// All messages up to this number have arrived or never will. For latest snapshots, the newest that has arrived.
        package var upTo: UInt64
        /// Later numbers that have arrived: ascending ranges with gaps between, at most `rangesMax`. Empty for latest snapshots.
        package var beyond: [ClosedRange<UInt64>]
        /// True if the receipt is about latest snapshots, which have separate numbers.
        package var isLatest: Bool

        /// Maximum number of ranges in a receipt. Later receipts acknowledge the rest.
        package static let rangesMax = 64

        /// Creates an acknowledgement of everything up to `upTo`, and of the ranges beyond it.
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

    /// The lowest number that a sender still offers, or its next one. A sender that has dropped messages reports it,
    /// unless a mark tells the receiver.
    public struct Floor: Hashable, Sendable {
        /// The feature of the dropped messages.
        package var featureID: String
        /// ID of the sender's outbox.
        package var outbox: UInt32
        /// The lowest number that the sender still offers, or its next number.
        package var first: UInt64

        /// Creates a floor: the sender offers nothing below `first`.
        package init(featureID: String, outbox: UInt32, first: UInt64) {
            self.featureID = featureID
            self.outbox = outbox
            self.first = first
        }
    }

    /// A measurement of the connection. The other side sends it back at once, as an echo.
    public struct Probe: Hashable, Sendable {
        /// Number that the sender of the probe chose.
        package var number: UInt32
        /// Time of the probe in milliseconds since 1970, by the clock of its sender.
        package var sentAt: UInt64

        /// Creates a probe.
        package init(number: UInt32, sentAt: UInt64) {
            self.number = number
            self.sentAt = sentAt
        }
    }

    /// The answer to a probe.
    public struct Echo: Hashable, Sendable {
        /// The unchanged probe.
        package var probe: Probe
        /// Time of the answer in milliseconds since 1970, by the clock of the answering side.
        package var answeredAt: UInt64

        /// Creates an answer.
        package init(probe: Probe, answeredAt: UInt64) {
            self.probe = probe
            self.answeredAt = answeredAt
        }
    }

    /// A probe of the sender; nil for none.
    package var probe: Probe?
    /// The answer to the receiver's last probe; nil for none.
    package var echo: Echo?
    /// Acknowledgements of messages that have arrived.
    package var receipts: [Receipt]
    /// Floors of the sender's outboxes.
    package var floors: [Floor]
    /// Maximum number of milliseconds until the sender's next message; nil if it doesn't announce one.
    package var silence: UInt64?
    /// The numbers in the receiver's datagrams that the sender knows; nil if it doesn't report them.
    package var identities: KnownIdentities?

    /// Maximum number of receipts in a report, and of floors.
    package static let entriesMax = 256

    /// Creates a report. By default it is empty.
    package init(probe: Probe? = nil, echo: Echo? = nil, receipts: [Receipt] = [], floors: [Floor] = []) {
        self.probe = probe
        self.echo = echo
        self.receipts = receipts
        self.floors = floors
    }
}
