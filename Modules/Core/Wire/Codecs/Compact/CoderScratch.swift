#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Buffers and tables that a thread reuses for its next message, at most about 250 KB. Allocating them takes longer
/// than coding a small message.
struct CoderScratch: ~Copyable {
    var writer = CompactWriter(bytes: WireWriter(capacity: 512))
    var names = NameIndex()
    var strings = StringIndex()
    var directStrategies = CodingStrategyCache(usesDirectPath: true)
    var codableStrategies = CodingStrategyCache(usesDirectPath: false)
    var encodingKeys = KeyTables()
    var decodingKeys = KeyTables()
    private var isLent = false
    /// Memory for `framesCount` frames; nil while a message uses it.
    private var frames: UnsafeMutablePointer<EncodeFrame>?

    deinit { frames?.deallocate() }

    @inline(__always)
    func strategy<Value>(for type: Value.Type, _ usesDirectPath: Bool) -> CodingStrategy {
        usesDirectPath ? directStrategies[type] : codableStrategies[type]
    }

    mutating func takeFrames() -> UnsafeMutablePointer<EncodeFrame> {
        defer { frames = nil }
        return frames ?? .allocate(capacity: Self.framesCount)
    }

    mutating func recycle(_ used: UnsafeMutablePointer<EncodeFrame>, capacity: Int) {
        guard frames == nil, capacity == Self.framesCount else { return used.deallocate() }
        frames = used
    }

    static var framesCount: Int { 16 }
    /// Maximum capacity in bytes of a message buffer that is kept for the next message.
    static var bytesMax: Int { 65_536 }
    /// Maximum capacity in bytes of a name buffer that is kept for the next message.
    static var nameBytesMax: Int { 16_384 }

    /// Lends the calling thread's scratch to `body`. If it is in use, because a value's own `encode(to:)` or
    /// `init(from:)` calls a codec, `body` gets a temporary one.
    @inline(__always)
    static func withScratch<Result, Failure: Error>(
        _ body: (UnsafeMutablePointer<CoderScratch>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let stored = pthread_getspecific(threadKey)?.assumingMemoryBound(to: CoderScratch.self)
        if let stored, _fastPath(!stored.pointee.isLent) {
            stored.pointee.isLent = true
            defer { stored.pointee.isLent = false }
            return try body(stored)
        }
        let scratch = UnsafeMutablePointer<CoderScratch>.allocate(capacity: 1)
        scratch.initialize(to: CoderScratch())
        scratch.pointee.isLent = true
        let isStored = stored == nil && pthread_setspecific(threadKey, scratch) == 0
        defer { if isStored { scratch.pointee.isLent = false } else { destroy(scratch) } }
        return try body(scratch)
    }

    private static let threadKey: pthread_key_t = {
        var key = pthread_key_t()
        let status = pthread_key_create(&key) { scratch in
            #if canImport(Darwin)
                CoderScratch.destroy(scratch)
            #else
                if let scratch { CoderScratch.destroy(scratch) }
            #endif
        }
        precondition(status == 0, "pthread_key_create failed: \(status)")
        return key
    }()

    private static func destroy(_ scratch: UnsafeMutableRawPointer) {
        let scratch = scratch.assumingMemoryBound(to: CoderScratch.self)
        scratch.deinitialize(count: 1)
        scratch.deallocate()
    }
}
