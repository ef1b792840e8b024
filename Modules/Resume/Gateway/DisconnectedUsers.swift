package import Foundation
import MeshResume

/// The users that the app has disconnected, each remembered for as long as an earlier token may be valid.
struct DisconnectedUsers: Sendable {
    private struct Moment {
        /// The time of the app's call.
        var madeAt: Duration
        /// The time at which this process learned of the call. Kept separately, because the clocks of two gateways
        /// differ.
        var learnedAt: Duration
    }

    /// Maximum number of users. Beyond it the user that was disconnected first is forgotten.
    static let usersMax = 10_000

    private let lifetime: Duration
    private var moments: [String: Moment] = [:]

    init(lifetime: Duration) { self.lifetime = lifetime }

    mutating func add(_ user: String, madeAt: Duration, _ now: Duration) {
        if moments.count >= Self.usersMax, moments[user] == nil {
            moments = moments.filter { now - $0.value.learnedAt < lifetime }
        }
        if moments.count >= Self.usersMax, moments[user] == nil,
            let oldest = moments.min(by: { $0.value.learnedAt < $1.value.learnedAt })
        {
            moments[oldest.key] = nil
        }
        moments[user] = Moment(madeAt: max(madeAt, moments[user]?.madeAt ?? madeAt), learnedAt: now)
    }

    /// Returns true if a token of this user is still accepted.
    ///
    /// - Parameters:
    ///   - issued: when the token was issued; nil if the app doesn't know.
    ///   - askedAt: when the app was asked about the token. Its answer may be from before the user was disconnected.
    func accepts(_ user: String, issued: Duration?, askedAt: Duration, _ now: Duration) -> Bool {
        guard let moment = moments[user], now - moment.learnedAt < lifetime else { return true }
        return askedAt > moment.learnedAt && issued.map { $0 > moment.madeAt } ?? true
    }
}

/// The stream through which all gateways of a buffer learn of disconnected users, and this process's position in it.
///
/// A value without I/O. `page` returns the position from which to read the buffer; the page that was read and each
/// notice go in.
package struct DisconnectionLog: Sendable {
    /// The outcome of a page or a notice.
    package enum News: Hashable, Sendable {
        /// Users were disconnected, in this order.
        case users([Disconnection])
        /// Events were trimmed before this process read them, so any user may have been disconnected.
        case missed
    }

    /// The stream's name, which no user may have.
    package static let stream = "sessionmesh/disconnected"

    private var place: StreamPlace?
    /// True once the stream was located. When it is located again, earlier entries don't matter: all connections were closed.
    private var hasBegun = false

    package init() {}

    /// Handles the buffer's answer about the stream's range.
    package mutating func located(_ standing: ReplayStanding, _ now: Duration) {
        let sequence = hasBegun ? standing.newest : standing.oldest - 1
        hasBegun = true
        place = StreamPlace(
            stream: Self.stream, sent: ReplayPosition(epoch: standing.epoch, sequence: sequence),
            newest: standing.newest, reportedAt: now)
    }

    /// True if the buffer must be asked for the stream's range.
    package var isUnknown: Bool { place == nil }

    /// Returns the page to read next, if a notice announced one or none came for `silence`.
    package mutating func page(after silence: Duration, _ now: Duration) -> ReplayPosition? {
        guard var place = self.place else { return nil }
        if now - place.reportedAt >= silence { place.requireCheck(now) }
        let position = place.nextPage(hasRoom: true)
        self.place = place
        return position
    }

    package mutating func take(_ page: ReplayPage, _ now: Duration) -> News {
        guard var place = self.place, place.isReading else { return .users([]) }
        do {
            let entries = try place.take(page, now)
            self.place = place
            return .users(entries.compactMap { Disconnection($0.event) })
        } catch {
            // From here on at once: a user that returns after the loss may be disconnected before another answer comes.
            located(page.standing, now)
            return .missed
        }
    }

    /// Handles a notice of this stream.
    package mutating func noticed(_ notice: ReplayNotice, _ now: Duration) -> News {
        guard var place = self.place else { return .users([]) }
        let isNext = place.take(notice, hasRoom: true, now)
        self.place = place
        return .users(isNext ? [Disconnection(notice.entry.event)].compactMap { $0 } : [])
    }

    /// Reports that the buffer couldn't answer, so it is asked again.
    package mutating func failed() { place?.failed() }
}

extension ReplayPage {
    fileprivate var standing: ReplayStanding {
        switch self {
        case .entries(_, let standing), .gone(let standing), .foreign(let standing): standing
        }
    }
}

/// A user that the app has disconnected, as sent to all gateways of a buffer.
package struct Disconnection: Codable, Hashable, Sendable {
    package var user: String
    /// The time of the call, by the clock of the gateway that was called.
    package var madeAt: Date

    private static let type = "DISCONNECTED"

    package init(user: String, madeAt: Date) { (self.user, self.madeAt) = (user, madeAt) }

    init?(_ event: ReplayEvent) {
        guard event.type == Self.type, let read = try? JSONDecoder().decode(Self.self, from: Data(event.json)),
            read.madeAt.timeIntervalSinceReferenceDate.isFinite
        else { return nil }
        self = read
    }

    /// - Throws: `ReplayBufferError` if the name is too long for an event.
    package func event() throws -> ReplayEvent {
        try ReplayEvent(type: Self.type, json: Array(JSONEncoder().encode(self)))
    }
}
