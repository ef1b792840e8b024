/// How far a connection has read its stream: what is live comes by notice when it is the next one, and from the buffer else.
/// So nothing is skipped, and nothing comes twice.
struct StreamPlace: Hashable, Sendable {
    /// Why it does not go on.
    enum Loss: Error, Hashable { case began, trimmed }

    let stream: String
    /// The last that was sent.
    var sent: ReplayPosition
    /// That is known of.
    private(set) var newest: UInt64
    private(set) var isReading = false
    /// A notice was of another epoch, or none came for long: the buffer is to be asked.
    private var isDoubted = false
    /// When the buffer, or a notice in its place, last said what is newest.
    private(set) var toldAt: Duration

    init(stream: String, sent: ReplayPosition, newest: UInt64, toldAt: Duration) {
        (self.stream, self.sent, self.newest, self.toldAt) = (stream, sent, newest, toldAt)
    }

    mutating func doubt(_ now: Duration) { (toldAt, isDoubted) = (now, true) }

    /// The buffer had no answer, and is to be asked again.
    mutating func failed() { (isReading, isDoubted) = (false, true) }

    /// - Returns: whether it is the next and is to be sent now.
    mutating func take(_ notice: ReplayNotice, hasRoom: Bool, _ now: Duration) -> Bool {
        guard notice.epoch == sent.epoch else {
            // It may be late, of what was before: the buffer knows.
            isDoubted = true
            return false
        }
        newest = max(newest, notice.entry.sequence)
        let isNext = notice.entry.sequence > sent.sequence && notice.entry.sequence - sent.sequence == 1
        guard isNext, !isReading, hasRoom else { return false }
        (sent.sequence, toldAt) = (notice.entry.sequence, now)
        return true
    }

    /// - Returns: what is to be sent.
    mutating func take(_ page: ReplayPage, _ now: Duration) throws(Loss) -> [ReplayEntry] {
        (isReading, toldAt) = (false, now)
        if case .foreign = page { throw .began }
        guard case .entries(let entries, let standing) = page else { throw .trimmed }
        guard standing.epoch == sent.epoch else { throw .began }
        newest = max(newest, standing.newest)
        var next: [ReplayEntry] = []
        // A page that a session before this one has asked for may begin elsewhere.
        for entry in entries where entry.sequence > sent.sequence {
            guard entry.sequence - sent.sequence == 1 else { break }
            sent.sequence = entry.sequence
            next.append(entry)
        }
        return next
    }

    /// - Returns: after what to read, where there is something and nothing is being read.
    mutating func nextPage(hasRoom: Bool) -> ReplayPosition? {
        guard !isReading, hasRoom, sent.sequence < newest || isDoubted else { return nil }
        (isReading, isDoubted) = (true, false)
        return sent
    }
}
