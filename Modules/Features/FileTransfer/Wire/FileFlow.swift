import Foundation

// The receiver drives a transfer. It asks for ranges, and the sender answers each with one chunk. The bytes below `next`
// were passed on in order. Those below `frontier` were asked for. The ranges in `lost` are asked for again. The window
// bounds the bytes that were asked for or that wait in memory for an earlier chunk.
//
// A lossless lane delivers every chunk while the connection lasts, however late. There the receiver repeats a request
// only on a new connection, if the request couldn't be sent, or if the sender offers the file twice. An offer means
// that the sender has no requested chunk left to send.
//
// On other lanes a chunk is lost after the retransmission timeout of RFC 6298, or sooner if a later one overtakes it (as
// in RFC 8985). Chunks shrink when many are lost, down to one datagram, and grow when none are. While the sender is silent,
// the receiver makes one request at a time, halves the window, and doubles the timeout up to a minute. Silence is never an
// error: the peer may return.

/// The receiver's state of one file: the chunks that have arrived, those under way, and the next ones to ask for.
///
/// A value that does no I/O and gets the time from its caller. Holds at most `windowBytesMax` bytes of early chunks in
/// memory and returns the others in order, so the data on disk is always a prefix of the sender's file.
struct FileFlow {
    static let windowBytesMax = 1 << 20
    static let windowBytesMin = 64 << 10
    /// Maximum number of chunks in the window, however small they are.
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
    /// True if every chunk arrives unless the connection ends.
    private let isLossless: Bool
    /// The end of the prefix that was returned by `take`.
    private(set) var next: UInt64
    private let chunkBytesLimit: Int
    private(set) var chunkBytes: Int
    private(set) var windowBytes = FileFlow.windowBytesMin
    /// The end of the prefix that was asked for.
    private var frontier: UInt64
    private var asked: [UInt64: Asked] = [:]
    /// Requests in the order in which they were made, including answered ones. The live ones are in `asked`.
    private var order: [(ticket: UInt64, offset: UInt64)] = []
    private var orderStart = 0
    private var lost: [FileRange] = []
    /// True if chunks of `lost` may still arrive late on a lossless lane. Only one is then asked for again, as a probe.
    private var awaitsLateChunks = false
    private var early: [UInt64: Data] = [:]
    private(set) var earlyBytes = 0
    private var askedBytes = 0
    private var nextTicket: UInt64 = 1
    private var newestAnswered: UInt64 = 0
    private var heardAt: Duration?
    private var askedAt: Duration = .zero
    /// The time of the sender's first offer since the last chunk.
    private var offeredAt: Duration?
    private var silence = 0
    private var pausedUntil: Duration?
    private var smoothed: Duration?
    private var variation: Duration = .zero
    private var answers = (good: 0, lost: 0)

    /// - Parameters:
    ///   - held: number of bytes that are already on disk.
    ///   - chunkBytesMax: maximum number of bytes that one message of the transport carries.
    ///   - isLossless: true if every chunk arrives unless the connection ends.
    init(byteCount: UInt64, held: UInt64, chunkBytesMax: Int = FileFlow.chunkBytesMax, isLossless: Bool = false) {
        self.byteCount = byteCount
        self.isLossless = isLossless
        next = min(held, byteCount)
        frontier = next
        chunkBytesLimit = min(max(chunkBytesMax, 1), Self.chunkBytesMax)
        chunkBytes = min(Self.chunkBytesFirst, chunkBytesLimit)
    }

    var isComplete: Bool { next == byteCount }
    /// True if the sender has been silent for longer than an answer may take.
    var isSilent: Bool { silence > 1 }
    /// Number of bytes that are held in memory or under way.
    var outstandingBytes: Int { earlyBytes + askedBytes }
    var outstandingChunks: Int { early.count + asked.count }

    /// The time at which `nextRequests` must be called, if not sooner. Nil if there is nothing to ask for.
    var deadline: Duration? {
        if isComplete { return nil }
        if let pausedUntil { return pausedUntil }
        if isLossless { return asked.isEmpty ? (awaitsLateChunks ? nil : .zero) : isSilent ? nil : silentAt }
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

// MARK: - Received chunks

extension FileFlow {
    /// - Returns: the next bytes of the file, in order. Empty if an earlier chunk is missing, or this one wasn't asked for.
    mutating func take(_ bytes: Data, at offset: UInt64, now: Duration) -> [Data] {
        guard isAwaited(bytes.count, at: offset, now: now) else { return [] }
        if lost.isEmpty { awaitsLateChunks = false }
        heardAt = now
        offeredAt = nil
        silence = 0
        pausedUntil = nil
        windowBytes = min(Self.windowBytesMax, windowBytes + bytes.count)
        recordOutcome(isLost: false)
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

    /// Marks the request for this chunk as answered. On a lossless lane, also accepts a chunk whose request was given
    /// up: the chunk was only late.
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

    /// Resumes at once, because the peer is reachable again.
    /// - Parameter isNewConnection: true on a new connection, where earlier requests are lost.
    mutating func reconnected(isNewConnection: Bool = true) {
        if isNewConnection || !isLossless {
            markAllLost()
            awaitsLateChunks = false
        }
        silence = 0
        pausedUntil = nil
    }

    /// Pauses, because nothing can be sent now.
    /// - Parameter unsent: ranges that couldn't be asked for. On a lossless lane earlier requests remain valid.
    mutating func disconnected(_ unsent: [FileRange] = [], now: Duration) {
        if isLossless {
            for range in unsent where asked[range.offset]?.count == range.count { markLost(range.offset) }
        } else {
            markAllLost()
        }
        silence = min(max(silence + 1, isLossless ? 2 : 1), 16)
        pausedUntil = now + patience()
    }

    /// Handles another offer. A sender makes one only while it has no requested chunk left to send.
    ///
    /// If a second offer comes at least `FileExchange.offerPatience` after the first, without a chunk in between,
    /// requests or chunks were lost or are late. So the receiver asks for one chunk as a probe. If that chunk arrives
    /// and the sender offers the file again, the receiver asks for the others.
    mutating func offered(now: Duration) {
        guard isLossless else { return reconnected() }
        reconnected(isNewConnection: false)
        if let offeredAt {
            guard now - offeredAt >= FileExchange.offerPatience else { return }
            markAllLost()
            (silence, awaitsLateChunks) = (1, true)
        } else if asked.isEmpty {
            awaitsLateChunks = false
        }
        offeredAt = now
    }

    private mutating func markLost(_ offset: UInt64) {
        guard let ask = asked.removeValue(forKey: offset) else { return }
        askedBytes -= ask.count
        lost.append(FileRange(offset: offset, count: ask.count))
    }

    private mutating func markAllLost() {
        for offset in asked.keys.sorted() { markLost(offset) }
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

    private mutating func recordOutcome(isLost: Bool) {
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

// MARK: - Requests

extension FileFlow {
    /// Returns the ranges to ask for now, at most `FileMessage.rangesMax`. Complexity: O(ranges) on average.
    mutating func nextRequests(now: Duration) -> [FileRange] {
        if let until = pausedUntil {
            guard now >= until else { return [] }
            pausedUntil = nil
        }
        if isLossless {
            // Marks the sender as silent, so that another file may take its place.
            if !asked.isEmpty, now >= silentAt { silence = max(silence, 2) }
        } else {
            collectLost(now: now)
        }
        let window = silence > 0 ? chunkBytes : windowBytes
        // Waits until a quarter of the window is free, so that one message asks for many chunks.
        guard askedBytes == 0 || mayRepeat || askedBytes <= window / 4 * 3 else { return [] }
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

    private var mayRepeat: Bool { !lost.isEmpty && (!awaitsLateChunks || silence > 0) }

    private mutating func nextRange() -> (FileRange, isRepeated: Bool)? {
        if mayRepeat, let range = lost.first {
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

    /// The time at which a sender on a lossless lane counts as silent.
    private var silentAt: Duration { max(heardAt ?? .zero, askedAt) + Self.patienceMax }

    private mutating func collectLost(now: Duration) {
        var isSilent = false
        while orderStart < order.count {
            let (ticket, offset) = order[orderStart]
            if let ask = asked[offset], ask.ticket == ticket {
                guard now >= due(ask) else { break }
                markLost(offset)
                recordOutcome(isLost: true)
                if heardAt.map({ $0 < ask.at }) ?? true { isSilent = true }
            }
            orderStart += 1
        }
        if orderStart > 1024 || orderStart == order.count {
            order.removeFirst(orderStart)
            orderStart = 0
        }
        if isSilent {
            markAllLost()
            silence = min(silence + 1, 16)
            // Chunks of this size may be too large to get through.
            chunkBytes = max(min(Self.chunkBytesMin, chunkBytesLimit), chunkBytes / 2)
            windowBytes = max(Self.windowBytesMin, windowBytes / 2)
        }
    }

    /// Returns the time at which an unanswered chunk counts as lost. Each answer restarts the timer (RFC 6298, 5.3), so a
    /// sender with a slow disk has time for every chunk.
    private func due(_ ask: Asked) -> Duration {
        guard let smoothed else { return ask.at + patience() }
        if ask.ticket < newestAnswered { return ask.at + smoothed + smoothed / 2 }
        return max(ask.at, heardAt ?? .zero) + patience(max(smoothed + variation * 4, Self.patienceMin))
    }

    /// Returns the timeout, doubled for each silent round (RFC 6298, 5.5).
    private func patience(_ usual: Duration = .seconds(1)) -> Duration {
        min(usual * (1 << min(silence, 12)), Self.patienceMax)
    }
}
