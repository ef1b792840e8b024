import Foundation

/// The receiver's side of one file: what has come, what is under way, and what to ask for next.
///
/// A value without clock or I/O. What comes early waits in memory, at most `windowBytesMax`; what is next is handed out in
/// order, so that a file on disk is always a whole beginning of the one that was sent. What was not answered in time, by
/// the estimate of RFC 6298, or was overtaken by what was asked for later (as in RFC 8985), is asked for again.
///
/// Chunks shrink where many get lost, down to what fits into one datagram, and grow where none do. Silence leaves
/// one chunk of the window, halves it, and doubles the patience, up to a minute; it is never an error, since the peer may
/// come back.
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
    private var early: [UInt64: Data] = [:]
    private(set) var earlyBytes = 0
    private var askedBytes = 0
    private var nextTicket: UInt64 = 1
    private var newestAnswered: UInt64 = 0
    private var heardAt: Duration?
    private var silence = 0
    private var pausedUntil: Duration?
    private var smoothed: Duration?
    private var variation: Duration = .zero
    private var answers = (good: 0, lost: 0)

    /// - Parameters:
    ///   - held: what is there already.
    ///   - chunkBytesMax: what one message of the transport carries.
    init(byteCount: UInt64, held: UInt64, chunkBytesMax: Int = FileFlow.chunkBytesMax) {
        self.byteCount = byteCount
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
        var index = orderStart
        while index < order.count {
            if let ask = asked[order[index].offset], ask.ticket == order[index].ticket {
                return ask.at + patience(for: ask)
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
        guard let ask = asked[offset], ask.count == bytes.count else { return [] }
        asked[offset] = nil
        askedBytes -= ask.count
        if !ask.isRepeated { measure(now - ask.at) }
        newestAnswered = max(newestAnswered, ask.ticket)
        heardAt = now
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

    /// The peer is there again: what was under way is lost, and nothing is to be waited for.
    mutating func reconnected() {
        giveUpAsked()
        silence = 0
        pausedUntil = nil
    }

    /// Nothing can be sent now.
    mutating func disconnected(now: Duration) {
        giveUpAsked()
        silence = min(silence + 1, 16)
        pausedUntil = now + min(.seconds(1) * (1 << min(silence, 6)), Self.patienceMax)
    }

    private mutating func giveUpAsked() {
        for (offset, ask) in asked.sorted(by: { $0.key < $1.key }) {
            lost.append(FileRange(offset: offset, count: ask.count))
        }
        asked = [:]
        askedBytes = 0
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
        collectLost(now: now)
        let window = silence > 0 ? chunkBytes : windowBytes
        // A few at a time: one message asks for many.
        guard askedBytes == 0 || !lost.isEmpty || askedBytes <= window / 4 * 3 else { return [] }
        var ranges: [FileRange] = []
        while ranges.count < FileMessage.rangesMax,
            askedBytes == 0 || askedBytes + chunkBytes <= window && outstandingChunks < Self.windowChunksMax,
            let (range, isRepeated) = nextRange()
        {
            asked[range.offset] = Asked(count: range.count, at: now, ticket: nextTicket, isRepeated: isRepeated)
            order.append((nextTicket, range.offset))
            nextTicket += 1
            askedBytes += range.count
            ranges.append(range)
        }
        return ranges
    }

    private mutating func nextRange() -> (FileRange, isRepeated: Bool)? {
        if let range = lost.first {
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

    private mutating func collectLost(now: Duration) {
        var isSilent = false
        while orderStart < order.count {
            let (ticket, offset) = order[orderStart]
            if let ask = asked[offset], ask.ticket == ticket {
                guard now >= ask.at + patience(for: ask) else { break }
                asked[offset] = nil
                askedBytes -= ask.count
                lost.append(FileRange(offset: offset, count: ask.count))
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

    private func patience(for ask: Asked) -> Duration {
        guard let smoothed else { return min(.seconds(1) * (1 << min(silence, 6)), Self.patienceMax) }
        if ask.ticket < newestAnswered { return smoothed + smoothed / 2 }
        let usual = max(smoothed + variation * 4, Self.patienceMin)
        return min(usual * (1 << min(silence, 12)), Self.patienceMax)
    }
}
