import MeshBase
import MeshMailbox
import MeshResume

/// One device's connection to its mailbox, as a value.
struct MailboxConnection: Sendable {
    enum Phase: Sendable {
        case challenged
        case authenticating(MailboxOpening)
        case enrolling(MailboxOpening)
        /// Waiting for the mailbox's values, then for its queue's range.
        case opening(MailboxOpening, latest: [String: [UInt8]]?)
        case open(StreamPlace)
        case closed
    }

    let challenge: [UInt8]
    var phase = Phase.challenged
    /// The user that the app returned for the token.
    var user: String?
    /// The ID of the proven key. `name` is its text, and the stream of its queue.
    var id: MailboxID?
    var name = ""
    /// The time at which the app was asked about the token.
    var askedAt = Duration.zero
    /// The lifetime of the token; nil if it doesn't expire.
    var token: TokenLifetime?
    var will: [UInt8] = []
    /// The device's presence. The connection writes it and `admitted` again if the store has lost them.
    var presence: [UInt8]?
    /// True once the store knows that this connection holds the mailbox.
    var isClaimed = false
    /// True if another connection holds the mailbox or the app has removed it. The will isn't published then.
    private(set) var isReplaced = false
    /// True while the store's answer to `find` is awaited. Only one `find` is in progress at a time.
    private var isFinding = false
    private var wantsAll = false
    private var wantsCheck = false
    var admitted: [UInt8]?
    var following: Set<String> = []
    /// Followed mailboxes for which the store hasn't answered yet whether they admit this device.
    var unknown: Set<String> = []
    var unansweredFollows = 0
    /// The last presence that was sent for each followed mailbox.
    var sentPresences: [String: [UInt8]] = [:]
    /// Names of `latest` values that have changed and couldn't be sent yet.
    var wanted: Set<String> = []
    /// Hashes of the `latest` values that were sent.
    private var sentLatest: [String: Int] = [:]
    /// Posts that wait for the store's next answer about whether their receiver admits this device.
    private(set) var heldBackPosts: [MailboxPost] = []
    var taken: MailboxPosition?
    var takenIsWritten = true
    var writeCount = 0
    /// True if the gateway serves this mailbox's stream for this connection.
    var isServed = false
    /// True while the gateway reads nothing from the device, because any of the next three properties is true.
    private var isPaused = false
    /// True if many of the device's writes wait for the store.
    private var isBehind = false
    /// True if the device or its user has sent frames too fast.
    private var isThrottled = false
    /// True if many operations of the user wait for the store.
    private var isStrained = false
    /// The number of frames above the device's rate since the last `tick`.
    private var excessFrameCount = 0
    private(set) var directives: [MailboxDirective] = []
    private let settings: MailboxSettings
    private var openDue: Duration
    private var lastReceivedAt: Duration
    private var frames: TokenBucket
    private var follows: TokenBucket
    private(set) var unsentBytes = 0
    private var stalledSince: Duration?

    init(_ settings: MailboxSettings, challenge: [UInt8], _ now: Duration) {
        self.settings = settings
        self.challenge = challenge
        openDue = now + settings.openTimeout
        lastReceivedAt = now
        frames = TokenBucket(perSecond: Double(settings.framesPerSecond), atOnce: max(1, settings.framesAtOnce))
        follows = TokenBucket(perSecond: 1, atOnce: max(1, settings.followsAtOnce))
        send(.challenge(challenge, heartbeat: settings.heartbeatMilliseconds))
    }

    var isClosed: Bool { if case .closed = phase { true } else { false } }
    var isOpen: Bool { if case .open = phase { true } else { false } }
    var hasRoom: Bool { unsentBytes < settings.unsentBytesMax }

    mutating func takeDirectives() -> [MailboxDirective] {
        defer { directives = [] }
        return directives
    }

    mutating func direct(_ directive: MailboxDirective) { directives.append(directive) }

    mutating func send(_ frame: MailboxServerFrame) { send(frame.bytes) }

    mutating func send(_ bytes: [UInt8]) {
        unsentBytes += bytes.count
        direct(.send(bytes))
    }

    mutating func close(_ code: CloseCode, _ reason: String) {
        guard !isClosed else { return }
        phase = .closed
        direct(.close(code, reason: reason))
    }

    /// Closes the connection because the app has disconnected the user.
    mutating func disconnected() { close(.disconnected, "the app has disconnected this user") }

    mutating func write(_ write: MailboxWrite) {
        writeCount += 1
        direct(.write(write))
        guard writeCount >= settings.writesMax else { return }
        isBehind = true
        pauseOrResume()
    }

    private mutating func pauseOrResume() {
        guard isPaused != (isBehind || isThrottled || isStrained) else { return }
        isPaused.toggle()
        direct(isPaused ? .pause : .resume)
    }

    /// Pauses reading because the user's devices send frames too fast.
    mutating func throttle() {
        isThrottled = true
        pauseOrResume()
    }

    /// Pauses or resumes reading, depending on how much of the user's work waits for the store.
    mutating func strain(_ isStrained: Bool) {
        self.isStrained = isStrained
        pauseOrResume()
    }

    mutating func holdBack(_ post: MailboxPost, max: Int) -> Bool {
        guard heldBackPosts.count < max else { return false }
        heldBackPosts.append(post)
        return true
    }

    mutating func takeHeldBack(to stream: String) -> [MailboxPost] {
        let posts = heldBackPosts.filter { $0.to.description == stream }
        if !posts.isEmpty { heldBackPosts.removeAll { $0.to.description == stream } }
        return posts
    }

    /// Records in the store that this connection holds the mailbox, so that all gateways know.
    mutating func claim() {
        isClaimed = false
        write(.set(challenge, name: MailboxValue.holder, stream: name, number: 0))
    }

    /// Closes the connection because the app has removed this mailbox. Nothing more is written to the mailbox.
    mutating func removed() {
        isReplaced = true
        takenIsWritten = true
        close(.authenticationFailed, "this device was removed")
    }

    /// Closes the connection if another one holds this mailbox. Otherwise writes the presence again if an earlier
    /// connection's will has overwritten it.
    mutating func check(_ values: [String: [UInt8]]) {
        if isClaimed, let holder = values[MailboxValue.holder], holder != challenge {
            isReplaced = true
            return close(.sessionTimedOut, "another connection holds this mailbox")
        }
        if let presence, let stored = values[MailboxValue.presence], stored != presence {
            write(.set(presence, name: MailboxValue.presence, stream: name, number: 0))
        }
    }

    /// Writes the mailbox's values again, after the store has lost them.
    mutating func writeAgain() {
        claim()
        if let admitted {
            unansweredFollows += 1
            write(.admit(admitted, stream: name))
        }
        if let presence { write(.set(presence, name: MailboxValue.presence, stream: name, number: 0)) }
    }

    /// Sends `following` once every gateway knows the devices that this one admits, and this gateway knows which devices admit
    /// it.
    mutating func sendFollowingIfReady() {
        if unansweredFollows == 0, unknown.isEmpty { send(.following) }
    }

    /// Handles the answer to one write.
    mutating func writeAnswered() {
        writeCount -= 1
        guard writeCount <= settings.writesMax / 2 else { return }
        isBehind = false
        pauseOrResume()
    }

    /// Decodes a frame. Returns nil if the connection is closed, or the frame makes the gateway close it.
    mutating func request(_ bytes: [UInt8], _ now: Duration) -> MailboxRequest? {
        guard !isClosed else { return nil }
        if !frames.take(now) {
            isThrottled = true
            excessFrameCount += 1
            pauseOrResume()
            // Frames that were read before the pause still arrive. More than that means the device ignores the pause.
            guard excessFrameCount <= settings.framesAtOnce else {
                close(.rateLimited, "at most \(settings.framesPerSecond) frames a second")
                return nil
            }
        }
        do throws(MailboxError) {
            lastReceivedAt = now
            let request = try MailboxRequest(bytes)
            if case .follow = request, !follows.take(now) {
                close(.rateLimited, "at most one follow frame per second")
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

    /// Handles a page. Returns false if the position is no longer held, so the queue must be read from its oldest message.
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

    /// Sends the `latest` values that this connection doesn't have yet.
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

    /// Asks the store for changed values, with one request at a time.
    ///
    /// - Parameters:
    ///   - all: asks for all values.
    ///   - check: also asks which connection holds the mailbox.
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
        if !isOpen, openDue <= now { return close(.notAuthenticated, "the device didn't open its mailbox in time") }
        if let token, token.due <= now {
            let isExpired = now >= token.expiresAt
            return close(
                .tokenExpired,
                isExpired ? "the token has expired" : "the token expires soon: reconnect with a new one")
        }
        if isThrottled {
            (isThrottled, excessFrameCount) = (false, 0)
            pauseOrResume()
        }
        if now - lastReceivedAt >= .milliseconds(settings.heartbeatMilliseconds * 2) {
            return close(.unknownError, "no heartbeat")
        }
        if let since = stalledSince, now - since >= settings.stallTimeout {
            return close(.unknownError, "this device reads too slowly")
        }
        if let taken, !takenIsWritten {
            takenIsWritten = true
            write(.set(StoredPosition.bytes(taken), name: MailboxValue.taken, stream: name, number: 0))
        }
        guard case .open(var place) = phase, now - place.reportedAt >= settings.catchUpInterval else { return }
        place.requireCheck(now)
        phase = .open(place)
        find(all: true)
        readOn(now)
    }
}

/// The names of a mailbox's values.
package enum MailboxValue {
    static let presence = "presence"
    /// The IDs of the senders that the mailbox admits, 32 bytes each.
    package static let admitted = "admitted"
    static let taken = "taken"
    /// The challenge of the connection that opened the mailbox last.
    static let holder = "holder"
    /// Never set. A change of this name reports that the app has removed the mailbox.
    static let removed = "removed"
    private static let latestRoot = "latest/"

    static func latest(from sender: String, key: String) -> String { "\(latestRoot)\(sender)/\(key)" }

    static func isLatest(_ name: String) -> Bool { name.hasPrefix(latestRoot) }

    /// Returns the sender of a value by its name; nil for the owner's values.
    static func sender(of name: String) -> String? {
        guard isLatest(name) else { return nil }
        return String(name.dropFirst(latestRoot.count).prefix { $0 != "/" })
    }

    /// Returns the names of the mailboxes in a value named `admitted`.
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
