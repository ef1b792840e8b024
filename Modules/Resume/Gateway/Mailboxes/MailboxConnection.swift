import MeshBase
import MeshMailbox
import MeshResume

/// One device's connection as a value.
struct MailboxConnection: Sendable {
    enum Phase: Sendable {
        case greeted
        case authenticating(MailboxOpening)
        case enrolling(MailboxOpening)
        /// Its values and its standing are being asked for.
        case opening(MailboxOpening, latest: [String: [UInt8]]?)
        case open(StreamPlace)
        case closed
    }

    let challenge: [UInt8]
    var phase = Phase.greeted
    /// The user that the app has named.
    var user: String?
    /// Proven; its name is the stream of its queue.
    var id: MailboxID?
    var name = ""
    /// When the app was asked about the token.
    var askedAt = Duration.zero
    /// nil if the token doesn't expire.
    var token: TokenLife?
    var will: [UInt8] = []
    /// What it has said of itself, and whom it lets in: written again where the store has lost them.
    var presence: [UInt8]?
    /// Whether the store has heard that this connection holds the mailbox.
    var isClaimed = false
    /// Then its will is not said.
    private(set) var isReplaced = false
    /// Whether the store's answer to a question for values is awaited: one at a time.
    private var isFinding = false
    private var wantsAll = false
    private var wantsCheck = false
    var admitted: [UInt8]?
    var following: Set<String> = []
    /// Of these nobody knows yet whether they let this device in.
    var unknown: Set<String> = []
    var unansweredFollows = 0
    /// What was said of those that are followed.
    var told: [String: [UInt8]] = [:]
    /// Values of the lane `latest` that have changed and could not be sent yet.
    var wanted: Set<String> = []
    /// Hashes of those that were sent.
    private var sentLatest: [String: Int] = [:]
    /// Posts that wait for another look at who lets this device in.
    private(set) var doubted: [MailboxPost] = []
    var taken: MailboxPosition?
    var takenIsWritten = true
    var writeCount = 0
    /// Whether the gateway was told to serve this mailbox' stream.
    var isServed = false
    /// Nothing is read from the device: the store has much to write for it or for its user, or the device or its user has said
    /// much in a short time.
    private var isPaused = false
    private var isBehind = false
    private var isHasty = false
    private var isStrained = false
    /// Frames beyond what the device is granted, since it was.
    private var hastyCount = 0
    private(set) var directives: [MailboxDirective] = []
    private let settings: MailboxSettings
    private var openDue: Duration
    private var heardAt: Duration
    private var frames: TokenBucket
    private var follows: TokenBucket
    private(set) var unsentBytes = 0
    private var stalledSince: Duration?

    init(_ settings: MailboxSettings, challenge: [UInt8], _ now: Duration) {
        self.settings = settings
        self.challenge = challenge
        openDue = now + settings.openTimeout
        heardAt = now
        frames = TokenBucket(perSecond: Double(settings.framesPerSecond), atOnce: max(1, settings.framesAtOnce))
        follows = TokenBucket(perSecond: 1, atOnce: max(1, settings.followsAtOnce))
        send(.challenge(challenge, heartbeat: settings.heartbeatInterval.milliseconds))
    }

    var isClosed: Bool { if case .closed = phase { true } else { false } }
    var isOpen: Bool { if case .open = phase { true } else { false } }
    var hasRoom: Bool { unsentBytes < settings.unsentBytesMax }

    mutating func takeDirectives() -> [MailboxDirective] {
        defer { directives = [] }
        return directives
    }

    mutating func direct(_ directive: MailboxDirective) { directives.append(directive) }

    mutating func send(_ news: MailboxNews) { send(news.bytes) }

    mutating func send(_ bytes: [UInt8]) {
        unsentBytes += bytes.count
        direct(.send(bytes))
    }

    mutating func close(_ code: CloseCode, _ reason: String) {
        guard !isClosed else { return }
        phase = .closed
        direct(.close(code, reason: reason))
    }

    /// The app has disconnected its user.
    mutating func disconnected() { close(.disconnected, "the app has disconnected this user") }

    mutating func write(_ write: MailboxWrite) {
        writeCount += 1
        direct(.write(write))
        guard writeCount >= settings.writesMax else { return }
        isBehind = true
        pauseOrResume()
    }

    private mutating func pauseOrResume() {
        guard isPaused != (isBehind || isHasty || isStrained) else { return }
        isPaused.toggle()
        direct(isPaused ? .pause : .resume)
    }

    /// The user's devices have said much in a short time.
    mutating func hasten() {
        isHasty = true
        pauseOrResume()
    }

    /// Much of the user's work waits for the store.
    mutating func strain(_ isStrained: Bool) {
        self.isStrained = isStrained
        pauseOrResume()
    }

    mutating func holdBack(_ post: MailboxPost, max: Int) -> Bool {
        guard doubted.count < max else { return false }
        doubted.append(post)
        return true
    }

    mutating func takeHeldBack(to stream: String) -> [MailboxPost] {
        let posts = doubted.filter { $0.to.description == stream }
        if !posts.isEmpty { doubted.removeAll { $0.to.description == stream } }
        return posts
    }

    /// Says to all gateways whose this mailbox is now.
    mutating func claim() {
        isClaimed = false
        write(.set(challenge, name: MailboxValue.holder, stream: name, number: 0))
    }

    /// The app has removed this mailbox: nothing more is written to it.
    mutating func removed() {
        isReplaced = true
        takenIsWritten = true
        close(.authenticationFailed, "this device was removed")
    }

    /// Another connection may hold this mailbox, at another gateway; or its will may have come after this one's word.
    mutating func check(_ values: [String: [UInt8]]) {
        if isClaimed, let holder = values[MailboxValue.holder], holder != challenge {
            isReplaced = true
            return close(.sessionTimedOut, "another connection holds this mailbox")
        }
        if let presence, let said = values[MailboxValue.presence], said != presence {
            write(.set(presence, name: MailboxValue.presence, stream: name, number: 0))
        }
    }

    /// Of a store that began anew.
    mutating func writeAgain() {
        claim()
        if let admitted {
            unansweredFollows += 1
            write(.admit(admitted, stream: name))
        }
        if let presence { write(.set(presence, name: MailboxValue.presence, stream: name, number: 0)) }
    }

    /// Once every gateway knows whom this device lets in, and this one who lets it in.
    mutating func sayFollowing() {
        if unansweredFollows == 0, unknown.isEmpty { send(.following) }
    }

    /// One of them has been answered.
    mutating func hasWritten() {
        writeCount -= 1
        guard writeCount <= settings.writesMax / 2 else { return }
        isBehind = false
        pauseOrResume()
    }

    /// - Returns: nil where the device is closed for what it says.
    mutating func request(_ bytes: [UInt8], _ now: Duration) -> MailboxRequest? {
        guard !isClosed else { return nil }
        if !frames.take(now) {
            isHasty = true
            hastyCount += 1
            pauseOrResume()
            // What was read before the pause still comes; more than that is no device of ours.
            guard hastyCount <= settings.framesAtOnce else {
                close(.rateLimited, "at most \(settings.framesPerSecond) frames a second")
                return nil
            }
        }
        do throws(MailboxError) {
            heardAt = now
            let request = try MailboxRequest(bytes)
            if case .follow = request, !follows.take(now) {
                close(.rateLimited, "whom a device follows changes once a second at most")
                return nil
            }
            return request
        } catch {
            close(.decodeError, error.message)
            return nil
        }
    }
}

// MARK: - The queue and time

extension MailboxConnection {
    mutating func noticed(_ notice: ReplayNotice, _ now: Duration) {
        guard case .open(var place) = phase else { return }
        if place.take(notice, hasRoom: hasRoom, now) { sendEntry(notice.entry, notice.epoch) }
        phase = .open(place)
        readOn(now)
    }

    /// - Returns: false where the place is no more: the queue is to be read from its oldest.
    mutating func read(_ page: ReplayPage, _ now: Duration) -> Bool {
        guard case .open(var place) = phase, place.isReading else { return true }
        let epoch = place.sent.epoch
        guard let entries = try? place.take(page, now) else { return false }
        for entry in entries { sendEntry(entry, epoch) }
        phase = .open(place)
        readOn(now)
        return true
    }

    private mutating func sendEntry(_ entry: ReplayEntry, _ epoch: UInt64) {
        guard let (from, bytes) = QueuedPacket.read(entry.event) else { return }
        send(
            .packet(
                MailboxPacket(
                    from: from, lane: .queue, position: MailboxPosition(epoch: epoch, sequence: entry.sequence),
                    bytes: bytes)))
    }

    /// Those of the lane `latest` that this connection does not have yet.
    mutating func sendLatest(_ values: [String: [UInt8]]) {
        for (name, bytes) in values.sorted(by: { $0.key < $1.key }) {
            let hash = bytes.hashValue
            guard let packet = MailboxValue.packet(name, bytes), sentLatest[name] != hash else { continue }
            guard hasRoom else {
                wanted.insert(name)
                continue
            }
            sentLatest[name] = hash
            send(.packet(packet))
        }
    }

    mutating func readOn(_ now: Duration) {
        stalledSince = hasRoom ? nil : stalledSince ?? now
        guard case .open(var place) = phase else { return }
        if let position = place.nextPage(hasRoom: hasRoom) {
            direct(.read(stream: place.stream, after: position, limit: max(1, settings.pageEntries)))
        }
        phase = .open(place)
        find()
    }

    /// Values that have changed, as they come; `check` also whose the mailbox is.
    mutating func find(all: Bool = false, check: Bool = false) {
        wantsAll = wantsAll || all
        wantsCheck = wantsCheck || check
        guard isOpen, !isFinding else { return }
        var names = wantsCheck ? [MailboxValue.holder, MailboxValue.presence] : []
        if hasRoom {
            names += wanted.sorted()
            wanted = []
        }
        guard wantsAll || !names.isEmpty else { return }
        direct(.find(names: wantsAll ? nil : names, stream: name))
        (isFinding, wantsAll, wantsCheck) = (true, false, false)
    }

    mutating func found(_ values: [String: [UInt8]]) {
        isFinding = false
        check(values)
        guard isOpen else { return }
        sendLatest(values)
        find()
    }

    mutating func flushed(_ count: Int, _ now: Duration) {
        unsentBytes = max(0, unsentBytes - count)
        readOn(now)
    }

    mutating func tick(_ now: Duration) {
        guard !isClosed else { return }
        if !isOpen, openDue <= now { return close(.notAuthenticated, "open your mailbox in time") }
        if let token, token.due <= now {
            let isExpired = now >= token.expiresAt
            return close(
                .tokenExpired,
                isExpired ? "the token has expired" : "the token expires soon: come again with a new one")
        }
        if isHasty {
            (isHasty, hastyCount) = (false, 0)
            pauseOrResume()
        }
        if now - heardAt >= settings.heartbeatInterval * 2 { return close(.unknownError, "no heartbeat") }
        if let since = stalledSince, now - since >= settings.stallTimeout {
            return close(.unknownError, "this device reads too slowly")
        }
        if let taken, !takenIsWritten {
            takenIsWritten = true
            write(.set(StoredPosition.bytes(taken), name: MailboxValue.taken, stream: name, number: 0))
        }
        guard case .open(var place) = phase, now - place.toldAt >= settings.catchUpInterval else { return }
        place.doubt(now)
        phase = .open(place)
        find(all: true)
        readOn(now)
    }
}

/// What the values of a mailbox are called.
package enum MailboxValue {
    static let presence = "presence"
    /// The ids of those that it lets in, 32 bytes each.
    package static let admitted = "admitted"
    static let taken = "taken"
    /// The challenge of the connection that has opened it last.
    static let holder = "holder"
    /// Never set: a word of it says that the app has removed the mailbox.
    static let removed = "removed"
    private static let latestRoot = "latest/"

    static func latest(from sender: String, key: String) -> String { "\(latestRoot)\(sender)/\(key)" }

    static func isLatest(_ name: String) -> Bool { name.hasPrefix(latestRoot) }

    /// - Returns: nil for a value of the owner's.
    static func sender(of name: String) -> String? {
        guard isLatest(name) else { return nil }
        return String(name.dropFirst(latestRoot.count).prefix { $0 != "/" })
    }

    /// The names of the mailboxes in a value of the name `admitted`.
    package static func ids(_ admitted: [UInt8]) -> Set<String> {
        Set(
            stride(from: 0, to: admitted.count, by: MailboxID.byteCount).compactMap {
                MailboxID(bytes: admitted[$0..<min($0 + MailboxID.byteCount, admitted.count)])?.description
            })
    }

    static func packet(_ name: String, _ bytes: [UInt8]) -> MailboxPacket? {
        guard isLatest(name) else { return nil }
        let parts = name.dropFirst(latestRoot.count).split(
            separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let from = MailboxID(parts[0]) else { return nil }
        return MailboxPacket(from: from, lane: .latest, key: String(parts[1]), bytes: bytes)
    }
}

extension Duration {
    var milliseconds: UInt64 { UInt64(clamping: components.seconds) &* 1000 }
}
