import MeshBase
package import MeshMailbox
import MeshResume

/// The mailboxes of one gateway process as a value without I/O or clock. Input from sockets, the app and the store goes
/// in, each with the time since a common start. Frames and directives for each connection come out.
///
/// A mailbox's ID is the hash of a public key. The device that proves that it has the private key holds the mailbox, on
/// its newest connection. A mailbox accepts messages only from devices that it follows. Each call names its connection
/// by a key that is never reused; a call with an unknown key does nothing. A call costs O(1). A change of a device's
/// presence costs O(its followers here).
package struct MailboxCore: Sendable {
    /// A function that checks a signature. Returns the ID of the public key; nil if the signature isn't valid for it.
    package typealias Proof = @Sendable (_ publicKey: [UInt8], _ signature: [UInt8], _ signed: [UInt8]) -> MailboxID?

    /// The state of a mailbox that a connection here follows.
    private struct View {
        var followers: Set<Int> = []
        /// True once the store has answered.
        var isKnown = false
        var presence: [UInt8]?
        var admitted: Set<String> = []
        var askedAt: Duration
        /// True while the store's answer is awaited.
        var isAsked = false
        /// True if the mailbox has changed since the last request to the store.
        var isStale = false
    }

    private let settings: MailboxSettings
    private let prove: Proof
    private var admission: AdmissionLimit
    private var disconnected: DisconnectedUsers
    private var connections: [Int: MailboxConnection] = [:]
    /// The connection that holds each mailbox here, by the mailbox's name.
    private var holders: [String: Int] = [:]
    private var views: [String: View] = [:]
    /// The connections of each user.
    private var users: [String: Set<Int>] = [:]
    /// Users with much work waiting for the store.
    private var strained: Set<String> = []
    /// The rate of frames from all devices of a user.
    private var frames: KeyedBuckets
    /// The addresses of connections whose token isn't accepted yet.
    private var addresses: [Int: String] = [:]
    private var directives: [(key: Int, directive: MailboxDirective)] = []

    /// Creates a gateway without mailboxes. `proof` checks a signature and returns the ID of its public key.
    package init(_ settings: MailboxSettings = .init(), admission: GatewayAdmission = .init(), proof: @escaping Proof) {
        self.settings = settings
        prove = proof
        self.admission = AdmissionLimit(admission)
        disconnected = DisconnectedUsers(lifetime: settings.tokenLifetimeMax)
        frames = KeyedBuckets(perSecond: 2 * Double(settings.framesPerSecond), atOnce: 2 * settings.framesAtOnce)
    }

    /// The number of open connections.
    package var connectionCount: Int { connections.count }
    /// The number of bytes that wait for sockets. O(connections).
    package var unsentBytes: Int { connections.values.reduce(0) { $0 + $1.unsentBytes } }

    /// Returns the instructions since the last call, in order.
    package mutating func takeDirectives() -> [(key: Int, directive: MailboxDirective)] {
        defer { directives = [] }
        return directives
    }

    // MARK: Sockets

    /// Adds a connection under a new key.
    /// - Parameters:
    ///   - challenge: `MailboxFrame.challengeByteCount` random bytes, which can't be predicted.
    ///   - address: the client's IP address, by which admission is shared.
    package mutating func open(_ key: Int, challenge: [UInt8], from address: String? = nil, _ now: Duration) {
        addresses[key] = address.map { ClientAddress.share(of: $0) }
        connections[key] = MailboxConnection(settings, challenge: challenge, now)
        with(key) { _ in }
    }

    /// Handles a frame from a device.
    package mutating func receive(_ bytes: [UInt8], on key: Int, _ now: Duration) {
        guard let request = with(key, { $0.request(bytes, now) }) ?? nil else { return }
        if let user = connections[key]?.user, !frames.take(user, now) {
            for key in users[user]?.sorted() ?? [] { with(key) { $0.throttle() } }
        }
        switch request {
        case .open(let opening): handleOpening(opening, key, now)
        case .follow(let ids): follow(ids, key, now)
        case .post(let post): self.post(post, key, now)
        case .taken(let position):
            with(key) { connection in
                guard connection.isOpen, position != connection.taken else { return }
                (connection.taken, connection.takenIsWritten) = (position, false)
            }
        case .heartbeat: with(key) { $0.send(.heartbeat) }
        }
    }

    /// Reports that the socket has taken that many bytes.
    package mutating func flushed(_ count: Int, on key: Int, _ now: Duration) { with(key) { $0.flushed(count, now) } }

    /// Removes a connection whose socket is closed, and issues its last writes.
    package mutating func remove(_ key: Int) {
        addresses[key] = nil
        guard let connection = connections.removeValue(forKey: key) else { return }
        if let user = connection.user {
            users[user]?.remove(key)
            if users[user]?.isEmpty == true { users[user] = nil }
        }
        for name in connection.following { unfollow(name, key) }
        if connection.isServed { directives.append((key, .serve(stream: connection.name, false))) }
        if connection.isOpen, let id = connection.id { report(.closed(id), key) }
        guard holders[connection.name] == key else { return }
        holders[connection.name] = nil
        if let taken = connection.taken, !connection.takenIsWritten {
            writeLast(
                .set(StoredPosition.bytes(taken), name: MailboxValue.taken, stream: connection.name, number: 0), key)
        }
        guard !connection.isReplaced else { return }
        writeLast(.set(connection.will, name: MailboxValue.presence, stream: connection.name, number: 0), key)
    }

    private mutating func report(_ activity: @autoclosure () -> MailboxActivity, _ key: Int) {
        if settings.tellsActivity { directives.append((key, .report(activity()))) }
    }

    private mutating func writeLast(_ write: MailboxWrite, _ key: Int) { directives.append((key, .write(write))) }

    /// Handles timeouts. Call it about once a second. O(connections).
    package mutating func tick(_ now: Duration) {
        for key in connections.keys.sorted() { with(key) { $0.tick(now) } }
        for (name, view) in views.sorted(by: { $0.key < $1.key })
        where !view.isKnown || now - view.askedAt >= settings.catchUpInterval { ask(name, now) }
    }

    /// Pauses or resumes reading from a user's devices, depending on how much of the user's work waits for the store.
    package mutating func strain(_ user: String, _ isStrained: Bool) {
        if isStrained { strained.insert(user) } else { strained.remove(user) }
        for key in users[user]?.sorted() ?? [] { with(key) { $0.strain(isStrained) } }
    }

    /// Closes every connection, so that its device reconnects elsewhere.
    package mutating func shutDown() {
        for key in connections.keys.sorted() { with(key) { $0.close(.unknownError, "this gateway is shutting down") } }
    }
}

// MARK: - Opening

extension MailboxCore {
    private mutating func handleOpening(_ opening: MailboxOpening, _ key: Int, _ now: Duration) {
        guard let connection = connections[key] else { return }
        guard case .challenged = connection.phase else {
            with(key) { $0.close(.alreadyAuthenticated, "this mailbox is already open") }
            return
        }
        let isAdmitted = admission.take(token: opening.token, from: addresses[key], now) == nil
        let isForHere = settings.accepts(server: opening.server)
        let signed = MailboxFrame.signed(connection.challenge, server: opening.server)
        let id = isAdmitted && isForHere ? prove(opening.publicKey, opening.signature, signed) : nil
        with(key) { connection in
            guard isAdmitted else {
                return connection.close(.rateLimited, "too many clients are connecting: try again later")
            }
            guard isForHere else {
                return connection.close(.authenticationFailed, "the signature is for another server")
            }
            guard let id else {
                return connection.close(.authenticationFailed, "the signature doesn't match the key")
            }
            (connection.id, connection.name, connection.askedAt) = (id, id.description, now)
            connection.phase = .authenticating(opening)
            connection.direct(.authenticate(token: opening.token))
        }
    }

    /// Reports the result of checking a device's token.
    /// - Parameters:
    ///   - user: the name of the token's user; nil if the token isn't accepted.
    ///   - issued: when the token was issued; nil if that isn't known.
    ///   - expires: when the token expires; nil if it doesn't.
    package mutating func authenticated(
        _ user: String?, issued: Duration? = nil, expires: Duration? = nil, on key: Int, _ now: Duration
    ) {
        resolveAdmission(user != nil, key, now)
        let placesMax = settings.mailboxesPerUser
        let (disconnected, lead) = (disconnected, settings.tokenRenewalLead)
        with(key) { connection in
            guard case .authenticating(let opening) = connection.phase else { return }
            guard let user else { return connection.close(.authenticationFailed, "the token isn't accepted") }
            guard disconnected.accepts(user, issued: issued, askedAt: connection.askedAt, now) else {
                return connection.disconnected()
            }
            connection.user = user
            connection.token = expires.map { TokenLifetime(expiresAt: $0, lead: lead, now) }
            connection.phase = .enrolling(opening)
            connection.write(.enrol(mailbox: connection.name, user: user, max: placesMax))
        }
        guard let user, connections[key]?.user == user else { return }
        users[user, default: []].insert(key)
        if strained.contains(user) { with(key) { $0.strain(true) } }
    }

    private mutating func resolveAdmission(_ isAccepted: Bool?, _ key: Int, _ now: Duration) {
        guard case .authenticating(let opening) = connections[key]?.phase else { return }
        admission.resolve(isAccepted, token: opening.token, from: addresses[key], now)
        addresses[key] = nil
    }

    /// Closes the connections of a user, as `GatewayCore.disconnect` does. O(connections).
    package mutating func disconnect(_ user: String, madeAt: Duration, _ now: Duration) {
        disconnected.add(user, madeAt: min(madeAt, now), now)
        for key in connections.keys.sorted() where connections[key]?.user == user { with(key) { $0.disconnected() } }
    }

    /// Closes all connections, so that the app is asked about each token again.
    package mutating func authenticateAgain() {
        for key in connections.keys.sorted() {
            with(key) { $0.close(.unknownError, "the gateway doesn't know which users were disconnected") }
        }
    }

    private mutating func enrolled(_ outcome: MailboxOutcome, _ key: Int, _ now: Duration) {
        guard let name = connections[key]?.name else { return }
        let isEnrolled = with(key) { connection in
            guard case .enrolling(let opening) = connection.phase else { return false }
            guard outcome == .done else {
                connection.close(.rateLimited, "this user has too many devices, or the store is full")
                return false
            }
            connection.will = opening.will
            connection.phase = .opening(opening, latest: nil)
            connection.isServed = true
            connection.direct(.serve(stream: name, true))
            connection.claim()
            connection.direct(.find(names: nil, stream: name))
            return true
        }
        guard isEnrolled == true else { return }
        // From here on this connection gets notices, so it misses no change between the store's answer and the open mailbox.
        if let older = holders.updateValue(key, forKey: name), older != key {
            with(older) { $0.close(.sessionTimedOut, "another connection holds this mailbox") }
        }
    }

    /// Handles the store's answer to `find`: values of this connection's mailbox.
    package mutating func found(_ values: [String: [UInt8]], on key: Int, _ now: Duration) {
        with(key) { connection in
            switch connection.phase {
            case .opening(let opening, nil):
                connection.phase = .opening(opening, latest: values)
                connection.direct(.locate(stream: connection.name))
            case .open: connection.found(values)
            default: break
            }
        }
    }

    /// Handles the store's answer to `locate`.
    package mutating func located(_ standing: ReplayStanding, on key: Int, _ now: Duration) {
        var hasOpened: MailboxID?
        with(key) { connection in
            if case .open = connection.phase {
                connection.writeAgain()
                return connection.begin(at: standing.first, standing, now)
            }
            guard case .opening(let opening, let values?) = connection.phase else { return }
            connection.send(.opened)
            let stored = values[MailboxValue.taken].flatMap { StoredPosition.read($0) }
            connection.begin(
                at: standing.place(opening.after) ?? standing.place(stored) ?? standing.first, standing, now)
            connection.sendLatest(values)
            hasOpened = connection.id
        }
        if let hasOpened { report(.opened(hasOpened), key) }
    }

    /// Handles the store's answer to `read`.
    package mutating func read(_ page: ReplayPage, on key: Int, _ now: Duration) {
        with(key) { connection in
            // The devices' delivery protocol detects the lost messages and sends them again.
            if !connection.read(page, now) { connection.direct(.locate(stream: connection.name)) }
        }
    }

    /// Closes the connection because the app or the store couldn't answer.
    package mutating func failed(on key: Int, _ now: Duration) {
        resolveAdmission(nil, key, now)
        with(key) { $0.close(.unknownError, "try again later") }
    }
}

extension MailboxConnection {
    fileprivate mutating func begin(at sequence: UInt64, _ standing: ReplayStanding, _ now: Duration) {
        var place = StreamPlace(
            stream: name, sent: ReplayPosition(epoch: standing.epoch, sequence: sequence), newest: standing.newest,
            reportedAt: now)
        place.requireCheck(now)
        phase = .open(place)
        readOn(now)
    }
}

extension ReplayStanding {
    /// The sequence before the oldest event.
    fileprivate var first: UInt64 { oldest - 1 }

    /// - Returns: the position's sequence; nil if it is of another epoch, beyond the newest, or the next event is no longer held.
    fileprivate func place(_ position: MailboxPosition?) -> UInt64? {
        guard let position, position.epoch == epoch, (first...newest).contains(position.sequence) else { return nil }
        return position.sequence
    }
}

// MARK: - Following

extension MailboxCore {
    private mutating func follow(_ ids: [MailboxID], _ key: Int, _ now: Duration) {
        guard let connection = connections[key], connection.isOpen else { return }
        let names = Set(ids.map(\.description)).subtracting([connection.name])
        let unfollowed = connection.following.subtracting(names).sorted()
        for name in unfollowed { unfollow(name, key) }
        let unknown = names.filter { views[$0]?.isKnown != true }
        with(key) { connection in
            connection.following = names
            connection.sentPresences = connection.sentPresences.filter { names.contains($0.key) }
            let admitted = ids.flatMap(\.bytes)
            connection.admitted = admitted
            connection.write(.admit(admitted, stream: connection.name))
            connection.unansweredFollows += 1
            connection.unknown = unknown
        }
        for name in names.sorted() {
            if views[name] == nil {
                views[name] = View(followers: [key], askedAt: now)
                directives.append((key, .serve(stream: name, true)))
                ask(name, now)
            } else {
                views[name]?.followers.insert(key)
                sendPresence(of: name, to: key)
            }
        }
        // Refuses these posts, for which no answer of the store comes any more.
        for name in unfollowed {
            for post in with(key, { $0.takeHeldBack(to: name) }) ?? [] { self.post(post, key, now) }
        }
    }

    private mutating func unfollow(_ name: String, _ key: Int) {
        views[name]?.followers.remove(key)
        guard views[name]?.followers.isEmpty == true else { return }
        views[name] = nil
        directives.append((key, .serve(stream: name, false)))
    }

    /// Asks the store about a mailbox, on the connection of any follower.
    private mutating func ask(_ name: String, _ now: Duration) {
        guard var view = views[name], let key = view.followers.min() else { return }
        defer { views[name] = view }
        // Asks again after a second, because an answer may be lost.
        guard !view.isAsked || now - view.askedAt >= .seconds(1) else {
            view.isStale = true
            return
        }
        (view.askedAt, view.isAsked, view.isStale) = (now, true, false)
        directives.append((key, .view(stream: name)))
    }

    /// Handles the store's answer to `view`.
    ///
    /// - Parameter values: `presence` and `admitted` of that mailbox.
    package mutating func viewed(_ values: [String: [UInt8]], of stream: String, _ now: Duration) {
        guard var view = views[stream] else { return }
        // A store that lost its data has no values. Keep the ones known here.
        if let presence = values[MailboxValue.presence] { view.presence = presence }
        if let admitted = values[MailboxValue.admitted] { view.admitted = MailboxValue.ids(admitted) }
        let isStale = view.isStale
        (view.isKnown, view.isAsked, view.isStale) = (true, false, false)
        views[stream] = view
        for key in view.followers.sorted() {
            with(key) { connection in
                if connection.unknown.remove(stream) != nil { connection.sendFollowingIfReady() }
            }
            sendPresence(of: stream, to: key)
        }
        retryHeldBack(stream, now)
        if isStale { ask(stream, now) }
    }

    /// The names of the values that `view` asks for.
    package static let viewedNames = [MailboxValue.presence, MailboxValue.admitted]

    private mutating func sendPresence(of name: String, to key: Int) {
        guard let view = views[name], let presence = view.presence, let id = MailboxID(name) else { return }
        with(key) { connection in
            guard view.admitted.contains(connection.name), connection.sentPresences[name] != presence else { return }
            connection.sentPresences[name] = presence
            connection.send(.presence(of: id, presence))
        }
    }

    /// Handles a change from the store, caused by any process.
    package mutating func changed(_ word: MailboxWord, _ now: Duration) {
        let stream = word.stream
        switch word {
        case .changed(let name, _) where MailboxValue.isLatest(name):
            guard let key = holders[stream] else { return }
            with(key) { connection in
                guard connection.wanted.count < MailboxBounds.valuesMax else { return }
                connection.wanted.insert(name)
                connection.readOn(now)
            }
        case .changed(MailboxValue.removed, _):
            views[stream]?.admitted = []
            views[stream]?.presence = nil
            if let key = holders[stream] { with(key) { $0.removed() } }
        case .changed(let name, _):
            if Self.viewedNames.contains(name), views[stream] != nil { ask(stream, now) }
            if name == MailboxValue.holder || name == MailboxValue.presence, let key = holders[stream] {
                with(key) { $0.find(check: true) }
            }
        case .passed(let bytes, _):
            guard let key = holders[stream] else { return }
            deliver(bytes, key)
        case .missed:
            if views[stream] != nil { ask(stream, now) }
            if let key = holders[stream] { with(key) { $0.find(all: true, check: true) } }
        }
    }

    /// Handles a notice from the store: a process has appended to a queue.
    package mutating func noticed(_ notice: ReplayNotice, _ now: Duration) {
        guard let key = holders[notice.stream] else { return }
        with(key) { $0.noticed(notice, now) }
    }

    private mutating func deliver(_ packet: [UInt8], _ key: Int) {
        with(key) { connection in
            // Live packets are delivered now or dropped.
            guard connection.isOpen, connection.hasRoom else { return }
            connection.send(packet)
        }
    }
}

// MARK: - Posts

extension MailboxCore {
    private mutating func post(_ post: MailboxPost, _ key: Int, _ now: Duration) {
        guard let connection = connections[key], connection.isOpen, let own = connection.id else { return }
        let receiver = post.to.description
        if post.lane == .presence {
            guard post.to == own, post.bytes.count <= MailboxFrame.smallBytesMax else {
                return refuse(post, key, "a device can post only its own presence")
            }
            let write = MailboxWrite.set(
                post.bytes, name: MailboxValue.presence, stream: receiver, number: post.number)
            with(key) { connection in
                connection.presence = post.bytes
                connection.write(write)
            }
            return
        }
        guard connection.following.contains(receiver), let view = views[receiver] else {
            return refuse(post, key, "this device doesn't follow that mailbox")
        }
        guard view.admitted.contains(connection.name) else { return holdBack(post, view.askedAt, key, now) }
        report(
            .posted(from: own, to: post.to, lane: post.lane, byteCount: post.bytes.count, refusal: nil), key)
        switch post.lane {
        case .hello, .datagram:
            let packet = MailboxServerFrame.packet(MailboxPacket(from: own, lane: post.lane, bytes: post.bytes)).bytes
            if let holder = holders[receiver] {
                deliver(packet, holder)
            } else {
                with(key) { $0.direct(.pass(packet, stream: receiver)) }
            }
        case .queue:
            guard let event = QueuedPacket.event(from: own, post.bytes) else {
                return refuse(post, key, "the message is too large")
            }
            with(key) { connection in
                connection.write(.append(event, from: connection.name, stream: receiver, number: post.number))
            }
        case .latest:
            let name = MailboxValue.latest(from: connection.name, key: post.key)
            with(key) { $0.write(.set(post.bytes, name: name, stream: receiver, number: post.number)) }
        case .presence: return
        }
    }

    /// Holds the post back and asks the store again, at most once a second, because the mailbox may admit this device
    /// by now. Refuses the post if it is too early to ask again and no earlier post to that mailbox is held back.
    private mutating func holdBack(_ post: MailboxPost, _ askedAt: Duration, _ key: Int, _ now: Duration) {
        let reason = "that mailbox doesn't admit this device"
        guard post.number != 0 else { return }
        let writesMax = settings.writesMax
        let mayAsk = now - askedAt >= .seconds(1)
        let isHeldBack = with(key) { connection in
            (mayAsk || connection.heldBackPosts.contains { $0.to == post.to })
                && connection.holdBack(post, max: writesMax)
        }
        guard isHeldBack == true else { return refuse(post, key, reason) }
        if mayAsk { ask(post.to.description, now) }
    }

    private mutating func retryHeldBack(_ stream: String, _ now: Duration) {
        for key in views[stream]?.followers.sorted() ?? [] {
            guard let posts = with(key, { $0.takeHeldBack(to: stream) }), !posts.isEmpty else { continue }
            // Refuses the posts of a device that still isn't admitted. If the store took a second or more to answer,
            // asks it again instead.
            for post in posts { self.post(post, key, now) }
        }
    }

    private mutating func refuse(_ post: MailboxPost, _ key: Int, _ reason: String) {
        if let own = connections[key]?.id {
            report(
                .posted(from: own, to: post.to, lane: post.lane, byteCount: post.bytes.count, refusal: reason), key)
        }
        guard post.number != 0 else { return }
        with(key) { $0.send(.posted(post.number, refusal: reason)) }
    }

    /// Handles the store's answer to a write.
    package mutating func wrote(_ write: MailboxWrite, _ outcome: MailboxOutcome, on key: Int, _ now: Duration) {
        with(key) { connection in
            connection.writeAnswered()
            // The device posts again on another connection. If the write did happen, the receiver detects the duplicate.
            if case .failed = outcome { return connection.close(.unknownError, "try again later") }
            switch write {
            case .enrol: break
            case .admit:
                guard outcome == .done else { return connection.close(.rateLimited, "this mailbox is full") }
                connection.unansweredFollows -= 1
                connection.sendFollowingIfReady()
            case .set(_, MailboxValue.holder, _, _) where outcome == .full:
                connection.close(.rateLimited, "this mailbox is full")
            case .set(let value, MailboxValue.holder, _, _): connection.isClaimed = value == connection.challenge
            case .append(_, _, _, let number), .set(_, _, _, let number):
                guard number != 0 else { return }
                connection.send(
                    .posted(number, refusal: outcome == .done ? nil : "that mailbox is full for this device"))
            }
        }
        if case .enrol = write { enrolled(outcome, key, now) }
    }

    @discardableResult
    private mutating func with<Result>(_ key: Int, _ body: (inout MailboxConnection) -> Result) -> Result? {
        // The connection is taken out of the dictionary while it changes, which avoids copying its contents.
        guard var connection = connections.removeValue(forKey: key) else { return nil }
        let result = body(&connection)
        for directive in connection.takeDirectives() { directives.append((key, directive)) }
        connections[key] = connection
        return result
    }
}
