import Foundation

/// The receiver's side of one file: what has come, what is under way, and what to ask for next.
///
/// A value without clock or I/O. What comes early waits in memory, at most `windowBytesMax`; what is next is handed out in
/// order, so that a file on disk is always a whole beginning of the one that was sent.
///
/// A lossless lane delivers every chunk, however late: a slow disk on either side is no loss. There a chunk is asked for
/// again only on a new connection (`reconnected`), or when the sender says twice that it owes nothing (`offered`).
///
/// On other lanes a chunk that was not answered in time, by the estimate of RFC 6298, or was overtaken by one asked for
/// later (as in RFC 8985), is asked for again. Chunks shrink where many get lost, down to what fits into one datagram, and
/// grow where none do. Silence leaves one chunk of the window, halves it, and doubles the patience, up to a minute; it is
/// never an error, since the peer may come back.
struct FileFlow {
    static let windowBytesMax = 1 << 20
    static let windowBytesMin = 64 << 10
    /// Chunks of the window, however small a peer wants them.
    static let windowChunksMax = 2048
    static let chunkBytesMin = 900
    static let chunkBytesFirst = 8 << 10
    static let chunkBytesMax = 64 << 10
    static let patienceMin: Duration = .milliseconds(50)
    static let patienceMax: Duration = .seconds(60)

    private struct Asked {
        var count: Int
        var at: Duration
        var ticket: UInt64
        var isRepeated: Bool
    }

    let byteCount: UInt64
    /// Whether every chunk arrives unless the connection ends.
    private let isLossless: Bool
    /// Everything below has been handed out.
    private(set) var next: UInt64
    private let chunkBytesLimit: Int
    private(set) var chunkBytes: Int
    private(set) var windowBytes = FileFlow.windowBytesMin
    /// Everything below has been asked for.
    private var frontier: UInt64
    private var asked: [UInt64: Asked] = [:]
    /// The keys of `asked` in the order in which they were asked for, among others that have been answered.
    private var order: [(ticket: UInt64, offset: UInt64)] = []
    private var orderStart = 0
    private var lost: [FileRange] = []
    /// What was asked for before may still be under way on a lossless lane: of `lost` only a probe is asked for.
    private var isLate = false
    private var early: [UInt64: Data] = [:]
    private(set) var earlyBytes = 0
    private var askedBytes = 0
    private var nextTicket: UInt64 = 1
    private var newestAnswered: UInt64 = 0
    private var heardAt: Duration?
    private var askedAt: Duration = .zero
    /// When the sender first said that it owes nothing, of the times since the last chunk.
    private var offeredAt: Duration?
    private var silence = 0
    private var pausedUntil: Duration?
    private var smoothed: Duration?
    private var variation: Duration = .zero
    private var answers = (good: 0, lost: 0)

    /// - Parameters:
    ///   - held: what is there already.
    ///   - chunkBytesMax: what one message of the transport carries.
    ///   - isLossless: whether every chunk arrives unless the connection ends.
    init(byteCount: UInt64, held: UInt64, chunkBytesMax: Int = FileFlow.chunkBytesMax, isLossless: Bool = false) {
        self.byteCount = byteCount
        self.isLossless = isLossless
        next = min(held, byteCount)
        frontier = next
        chunkBytesLimit = min(max(chunkBytesMax, 1), Self.chunkBytesMax)
        chunkBytes = min(Self.chunkBytesFirst, chunkBytesLimit)
    }

    var isComplete: Bool { next == byteCount }
    /// Nothing has been heard for longer than an answer may take.
    var isSilent: Bool { silence > 1 }
    /// What is held in memory or under way.
    var outstandingBytes: Int { earlyBytes + askedBytes }
    var outstandingChunks: Int { early.count + asked.count }

    /// When `asks` is to be called at the latest; nil while nothing is to be asked for.
    var deadline: Duration? {
        if isComplete { return nil }
        if let pausedUntil { return pausedUntil }
        if isLossless { return asked.isEmpty ? (isLate ? nil : .zero) : isSilent ? nil : silentAt }
        var index = orderStart
        while index < order.count {
            if let ask = asked[order[index].offset], ask.ticket == order[index].ticket {
                return due(ask)
            }
            index += 1
        }
        return .zero
    }
}

// MARK: - What comes

extension FileFlow {
    /// - Returns: what is next in the file, in order; nothing when others must come first, or nobody asked for it.
    mutating func take(_ bytes: Data, at offset: UInt64, now: Duration) -> [Data] {
        guard isAwaited(bytes.count, at: offset, now: now) else { return [] }
        if lost.isEmpty { isLate = false }
        heardAt = now
        offeredAt = nil
        silence = 0
        pausedUntil = nil
        windowBytes = min(Self.windowBytesMax, windowBytes + bytes.count)
        judge(isLost: false)
        guard offset == next else {
            early[offset] = bytes
            earlyBytes += bytes.count
            return []
        }
        var ready = [bytes]
        next += UInt64(bytes.count)
        while let following = early.removeValue(forKey: next) {
            ready.append(following)
            earlyBytes -= following.count
            next += UInt64(following.count)
        }
        return ready
    }

    /// Strikes out what a chunk answers. On a lossless lane it may also answer an ask that was given up, as that one was only late.
    private mutating func isAwaited(_ count: Int, at offset: UInt64, now: Duration) -> Bool {
        if let ask = asked[offset], ask.count == count {
            asked[offset] = nil
            askedBytes -= count
            if !ask.isRepeated { measure(now - ask.at) }
            newestAnswered = max(newestAnswered, ask.ticket)
            return true
        }
        guard isLossless, let index = lost.firstIndex(of: FileRange(offset: offset, count: count)) else { return false }
        lost.remove(at: index)
        return true
    }

    /// The peer is there again, and nothing is to be waited for.
    /// - Parameter isAnew: on another connection, so that what was under way is lost.
    mutating func reconnected(isAnew: Bool = true) {
        if isAnew || !isLossless {
            giveUpAsked()
            isLate = false
        }
        silence = 0
        pausedUntil = nil
    }

    /// Nothing can be sent now.
    /// - Parameter unsent: the ranges that were to be asked for. What was asked for before is lost only with the connection.
    mutating func disconnected(_ unsent: [FileRange] = [], now: Duration) {
        if isLossless {
            for range in unsent where asked[range.offset]?.count == range.count { giveUp(range.offset) }
        } else {
            giveUpAsked()
        }
        silence = min(max(silence + 1, isLossless ? 2 : 1), 16)
        pausedUntil = now + patience()
    }

    /// The sender, which offers only when it owes nothing, offers the file again. Twice without a chunk in between, and with
    /// time for one, mean that it has not heard what it was asked for, or that chunks were dropped after they had arrived. Both may
    /// also be late, so one chunk is asked for as a probe. The others follow when the sender still offers after it has come.
    mutating func offered(now: Duration) {
        guard isLossless else { return reconnected() }
        reconnected(isAnew: false)
        if let offeredAt {
            guard now - offeredAt >= FileExchange.offerPatience else { return }
            giveUpAsked()
            (silence, isLate) = (1, true)
        } else if asked.isEmpty {
            isLate = false
        }
        offeredAt = now
    }

    private mutating func giveUp(_ offset: UInt64) {
        guard let ask = asked.removeValue(forKey: offset) else { return }
        askedBytes -= ask.count
        lost.append(FileRange(offset: offset, count: ask.count))
    }

    private mutating func giveUpAsked() {
        for offset in asked.keys.sorted() { giveUp(offset) }
        if isLossless { lost.sort { $0.offset < $1.offset } }
        order = []
        orderStart = 0
    }

    private mutating func measure(_ sample: Duration) {
        guard let before = smoothed else {
            smoothed = sample
            variation = sample / 2
            return
        }
        let difference = before > sample ? before - sample : sample - before
        variation = (variation * 3 + difference) / 4
        smoothed = (before * 7 + sample) / 8
    }

    private mutating func judge(isLost: Bool) {
        if isLost { answers.lost += 1 } else { answers.good += 1 }
        guard answers.good + answers.lost >= 16 else { return }
        if answers.lost * 4 > answers.good + answers.lost {
            chunkBytes = max(min(Self.chunkBytesMin, chunkBytesLimit), chunkBytes / 2)
        } else if answers.lost == 0 {
            chunkBytes = min(chunkBytesLimit, chunkBytes * 2)
        }
        answers = (0, 0)
    }
}

// MARK: - What to ask for

extension FileFlow {
    /// What to ask for now, at most `FileMessage.rangesMax`. Complexity: O(ranges) on average.
    mutating func asks(now: Duration) -> [FileRange] {
        if let until = pausedUntil {
            guard now >= until else { return [] }
            pausedUntil = nil
        }
        if isLossless {
            // Its turn may go to another file.
            if !asked.isEmpty, now >= silentAt { silence = max(silence, 2) }
        } else {
            collectLost(now: now)
        }
        let window = silence > 0 ? chunkBytes : windowBytes
        // A few at a time: one message asks for many.
        guard askedBytes == 0 || asksLost || askedBytes <= window / 4 * 3 else { return [] }
        var ranges: [FileRange] = []
        while ranges.count < FileMessage.rangesMax,
            askedBytes == 0 || askedBytes + chunkBytes <= window && outstandingChunks < Self.windowChunksMax,
            let (range, isRepeated) = nextRange()
        {
            asked[range.offset] = Asked(count: range.count, at: now, ticket: nextTicket, isRepeated: isRepeated)
            if !isLossless { order.append((nextTicket, range.offset)) }
            nextTicket += 1
            askedBytes += range.count
            askedAt = now
            ranges.append(range)
        }
        return ranges
    }

    private var asksLost: Bool { !lost.isEmpty && (!isLate || silence > 0) }

    private mutating func nextRange() -> (FileRange, isRepeated: Bool)? {
        if asksLost, let range = lost.first {
            lost.removeFirst()
            if range.count <= chunkBytes { return (range, true) }
            lost.insert(FileRange(offset: range.offset + UInt64(chunkBytes), count: range.count - chunkBytes), at: 0)
            return (FileRange(offset: range.offset, count: chunkBytes), true)
        }
        let count = Int(min(UInt64(chunkBytes), byteCount - frontier))
        guard count > 0, frontier - next + UInt64(count) <= UInt64(Self.windowBytesMax) else { return nil }
        defer { frontier += UInt64(count) }
        return (FileRange(offset: frontier, count: count), false)
    }

    /// When a sender on a lossless lane counts as silent.
    private var silentAt: Duration { max(heardAt ?? .zero, askedAt) + Self.patienceMax }

    private mutating func collectLost(now: Duration) {
        var isSilent = false
        while orderStart < order.count {
            let (ticket, offset) = order[orderStart]
            if let ask = asked[offset], ask.ticket == ticket {
                guard now >= due(ask) else { break }
                giveUp(offset)
                judge(isLost: true)
                if heardAt.map({ $0 < ask.at }) ?? true { isSilent = true }
            }
            orderStart += 1
        }
        if orderStart > 1024 || orderStart == order.count {
            order.removeFirst(orderStart)
            orderStart = 0
        }
        if isSilent {
            giveUpAsked()
            silence = min(silence + 1, 16)
            // It may be that nothing of that size gets through.
            chunkBytes = max(min(Self.chunkBytesMin, chunkBytesLimit), chunkBytes / 2)
            windowBytes = max(Self.windowBytesMin, windowBytes / 2)
        }
    }

    /// When an unanswered chunk counts as lost. Each answer restarts the timer (RFC 6298, 5.3), so that a sender with a slow
    /// disk has time for every chunk.
    private func due(_ ask: Asked) -> Duration {
        guard let smoothed else { return ask.at + patience() }
        if ask.ticket < newestAnswered { return ask.at + smoothed + smoothed / 2 }
        return max(ask.at, heardAt ?? .zero) + patience(max(smoothed + variation * 4, Self.patienceMin))
    }

    /// Doubles with silence (RFC 6298, 5.5).
    private func patience(_ usual: Duration = .seconds(1)) -> Duration {
        min(usual * (1 << min(silence, 12)), Self.patienceMax)
    }
}
