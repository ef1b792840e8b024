// Terms. A post is a message for another device's mailbox. A post with a number is held here until the gateway has
// answered it, and is posted again on each new connection. A packet is a message found in this device's mailbox. Its
// position counts the packets of the lane `queue`; the device reports the position up to which it has taken them. A
// device follows the peers that it admits and wants to hear about. Docs/Internals/MailboxProtocol.md has the frames.

/// The device's side of the mailbox protocol. It has no clock and does no I/O. Events of the socket, the app and a
/// monotonic clock go in; directives come out, in order.
///
/// Held posts are sent in order once the gateway knows the followed peers; receivers recognize duplicates. At most
/// `heldMax` posts and `heldBytesMax` bytes are held.
package struct MailboxClientCore: Sendable {
    package enum Directive: Hashable, Sendable {
        case send([UInt8])
        /// The challenge to sign. Also ask the app for its token, then call `open`.
        case prove([UInt8])
        case opened
        case following
        /// The presence of a followed device, or this device's own presence once the gateway has accepted it.
        case presence(MailboxID, [UInt8])
        case received(MailboxPacket)
        case writable
        /// The gateway refused a post permanently.
        case refused(MailboxPost, String)
        /// End the connection, because the gateway is silent or broke the protocol.
        case drop(String)
    }

    package enum PostResult: Hashable, Sendable { case taken, full, oversized }

    package static let heldMax = 256
    package static let heldBytesMax = 4 << 20

    private enum Phase { case closed, greeting, proving, opening, open, following }

    private var phase = Phase.closed
    private var heartbeat = Duration.seconds(30)
    private var lastReceivedAt = Duration.zero
    private var lastSentAt = Duration.zero
    private var lastHeartbeatAt = Duration.zero
    private var held: [MailboxPost] = []
    private var heldBytes = 0
    private var lastNumber: UInt64 = 0
    private var isFull = false
    private var isSocketWritable = true
    /// The position of the newest packet of the lane `queue` that was passed on.
    package private(set) var position: MailboxPosition?
    private var takenPosition: MailboxPosition?
    /// The time at which to report the position. Packets that arrive together share one report.
    private var takenDue: Duration?
    private var directives: [Directive] = []

    package init() {}

    package var isOpen: Bool { phase == .open || phase == .following }
    package var heldCount: Int { held.count }

    package mutating func takeDirectives() -> [Directive] {
        defer { directives = [] }
        return directives
    }

    // MARK: The socket

    package mutating func connected(_ now: Duration) {
        phase = .greeting
        isSocketWritable = true
        (lastReceivedAt, lastSentAt, lastHeartbeatAt) = (now, now, now)
        // The last report may have been lost with the previous connection.
        (takenPosition, takenDue) = (nil, now)
    }

    package mutating func disconnected() { phase = .closed }

    package mutating func received(_ bytes: [UInt8], _ now: Duration) {
        guard phase != .closed else { return }
        lastReceivedAt = now
        do throws(MailboxError) {
            handle(try MailboxServerFrame(bytes), now)
        } catch {
            drop("can't decode the gateway's frame: \(error)")
        }
    }

    private mutating func handle(_ frame: MailboxServerFrame, _ now: Duration) {
        switch (frame, phase) {
        case (.challenge(let challenge, let milliseconds), .greeting):
            heartbeat = .milliseconds(MailboxFrame.heartbeatMilliseconds(milliseconds))
            phase = .proving
            directives.append(.prove(challenge))
        case (.opened, .opening):
            phase = .open
            directives.append(.opened)
        case (.following, .open):
            phase = .following
            for post in held { send(.post(post), now) }
            directives.append(.following)
            reportWritable()
        case (.following, .following): directives.append(.following)
        case (.presence(let id, let bytes), _) where isOpen: directives.append(.presence(id, bytes))
        case (.packet(let packet), _) where isOpen:
            if let position = packet.position {
                self.position = position
                takenDue = takenDue ?? now + .milliseconds(250)
            }
            directives.append(.received(packet))
        case (.posted(let number, let refusal), .following): finishPost(number, refusal)
        case (.heartbeat, _): break
        default: drop("the gateway sent an unexpected frame")
        }
    }

    private mutating func finishPost(_ number: UInt64, _ refusal: String?) {
        guard let index = held.firstIndex(where: { $0.number == number }) else { return }
        let post = held.remove(at: index)
        heldBytes -= post.bytes.count
        if let refusal {
            directives.append(.refused(post, refusal))
        } else if post.lane == .presence {
            directives.append(.presence(post.to, post.bytes))
        }
        reportWritable()
    }

    private mutating func reportWritable() {
        guard isFull, isSocketWritable, held.count <= Self.heldMax / 2, heldBytes <= Self.heldBytesMax / 2 else {
            return
        }
        isFull = false
        directives.append(.writable)
    }

    private mutating func drop(_ reason: String) {
        phase = .closed
        directives.append(.drop(reason))
    }

    private mutating func send(_ request: MailboxRequest, _ now: Duration) {
        lastSentAt = now
        directives.append(.send(request.bytes))
    }

    // MARK: The device

    /// Opens the mailbox, in answer to `prove`.
    package mutating func open(_ opening: MailboxOpening, _ now: Duration) {
        guard phase == .proving else { return }
        phase = .opening
        var opening = opening
        opening.after = position
        send(.open(opening), now)
    }

    package mutating func follow(_ ids: [MailboxID], _ now: Duration) {
        guard isOpen else { return }
        send(.follow(Array(ids.prefix(MailboxFrame.followedMax))), now)
    }

    /// - Parameter isHeld: True holds the post until the gateway has answered. Otherwise it may be lost.
    package mutating func post(
        _ bytes: [UInt8], to id: MailboxID, on lane: MailboxLane, key: String = "", isHeld: Bool, _ now: Duration
    ) -> PostResult {
        guard bytes.count <= MailboxFrame.bytesMax else { return .oversized }
        guard isOpen, isSocketWritable,
            !isHeld || held.count < Self.heldMax && heldBytes + bytes.count <= Self.heldBytesMax
        else {
            isFull = true
            return .full
        }
        var post = MailboxPost(number: 0, to: id, lane: lane, key: key, bytes: bytes)
        if isHeld {
            lastNumber += 1
            post.number = lastNumber
            held.append(post)
            heldBytes += bytes.count
        }
        if !isHeld || phase == .following { send(.post(post), now) }
        return .taken
    }

    /// Notes whether the socket accepts more bytes.
    package mutating func setSocketWritable(_ isWritable: Bool) {
        isSocketWritable = isWritable
        if isWritable, isOpen { reportWritable() }
    }

    // MARK: Time

    /// The time of the next `tick`; nil without a socket.
    package var dueAt: Duration? {
        guard phase != .closed else { return nil }
        let deadAt = lastReceivedAt + heartbeat * 2
        guard isOpen else { return deadAt }
        return min(deadAt, heartbeatDue, takenDue ?? deadAt)
    }

    /// A heartbeat is due if either direction has been silent. Other frames count as signs of life.
    private var heartbeatDue: Duration { max(lastHeartbeatAt, min(lastSentAt, lastReceivedAt)) + heartbeat }

    package mutating func tick(_ now: Duration) {
        guard phase != .closed else { return }
        if now - lastReceivedAt >= heartbeat * 2 { return drop("the gateway doesn't respond") }
        guard isOpen else { return }
        if let due = takenDue, due <= now {
            takenDue = nil
            if let position, position != takenPosition {
                takenPosition = position
                send(.taken(position), now)
            }
        }
        if heartbeatDue <= now {
            send(.heartbeat, now)
            lastHeartbeatAt = now
        }
    }
}
