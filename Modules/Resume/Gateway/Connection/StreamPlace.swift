/// A connection's position in its stream. If a notice carries the next event, the connection sends that; otherwise it reads the
/// buffer. So no event is skipped or repeated.
struct StreamPlace: Hashable, Sendable {
    /// The reason why a position can't continue.
    enum Loss: Error, Hashable { case began, trimmed }

    let stream: String
    /// The position of the last event that was sent.
    var sent: ReplayPosition
    /// The newest sequence that this connection knows of.
    private(set) var newest: UInt64
    private(set) var isReading = false
    /// True if the buffer must be asked: a notice had another epoch, none came for a long time, or a read failed.
    private var needsCheck = false
    /// The time of the last report of the newest sequence, from the buffer or a notice.
    private(set) var reportedAt: Duration

    init(stream: String, sent: ReplayPosition, newest: UInt64, reportedAt: Duration) {
        (self.stream, self.sent, self.newest, self.reportedAt) = (stream, sent, newest, reportedAt)
    }

    mutating func requireCheck(_ now: Duration) { (reportedAt, needsCheck) = (now, true) }

    /// Reports that the buffer couldn't answer, so it is asked again.
    mutating func failed() { (isReading, needsCheck) = (false, true) }

    /// Handles a notice. Returns true if it carries the next event, which must be sent now.
    mutating func take(_ notice: ReplayNotice, hasRoom: Bool, _ now: Duration) -> Bool {
        guard notice.epoch == sent.epoch else {
            // The notice may be a late one of an earlier epoch, so ask the buffer.
            needsCheck = true
            return false
        }
        newest = max(newest, notice.entry.sequence)
        let isNext = notice.entry.sequence > sent.sequence && notice.entry.sequence - sent.sequence == 1
        guard isNext, !isReading, hasRoom else { return false }
        (sent.sequence, reportedAt) = (notice.entry.sequence, now)
        return true
    }

    /// Handles a notice that carries the next event, if nothing else is to be sent or asked. Otherwise returns false, and changes
    /// nothing.
    mutating func takeNext(_ notice: ReplayNotice, _ now: Duration) -> Bool {
        guard notice.epoch == sent.epoch, notice.entry.sequence == sent.sequence &+ 1, isUpToDate, !isReading,
            notice.stream == stream
        else { return false }
        (sent.sequence, newest, reportedAt) = (notice.entry.sequence, notice.entry.sequence, now)
        return true
    }

    /// True if there is nothing to read.
    var isUpToDate: Bool { sent.sequence == newest && !needsCheck }

    /// Handles a page. Returns the entries to send.
    mutating func take(_ page: ReplayPage, _ now: Duration) throws(Loss) -> [ReplayEntry] {
        (isReading, reportedAt) = (false, now)
        if case .foreign = page { throw .began }
        guard case .entries(let entries, let standing) = page else { throw .trimmed }
        guard standing.epoch == sent.epoch else { throw .began }
        newest = max(newest, standing.newest)
        var next: [ReplayEntry] = []
        // A page that an earlier session on this connection requested may begin elsewhere.
        for entry in entries where entry.sequence > sent.sequence {
            guard entry.sequence - sent.sequence == 1 else { break }
            sent.sequence = entry.sequence
            next.append(entry)
        }
        return next
    }

    /// Returns the position after which to read; nil if there is nothing to read or a page is already requested.
    mutating func nextPage(hasRoom: Bool) -> ReplayPosition? {
        guard !isReading, hasRoom, sent.sequence < newest || needsCheck else { return nil }
        (isReading, needsCheck) = (true, false)
        return sent
    }
}
