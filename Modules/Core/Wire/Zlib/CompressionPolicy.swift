/// The way in which a sender compresses bodies, if at all. Readers follow the frame and need no policy.
///
/// A body is stored uncompressed if compression wouldn't make it smaller, or would exceed the limit of readers
/// (`FrameLimits.inflationRatio`).
public struct CompressionPolicy: Sendable {
    enum Method: Sendable {
        case stored
        case zlib(CompressionDictionary?)
    }

    /// A compressor that replaces zlib for large bodies.
    struct Compressor: Sendable {
        let deflating: any BodyDeflating
        let minimumBytes: Int
    }

    let method: Method
    /// Minimum size of a compressed body. Smaller ones are stored uncompressed.
    public let minimumBytes: Int
    /// The compression level, from 1 (fastest) to 9 (smallest).
    public let level: Int
    var compressor: Compressor?

    /// A policy that compresses nothing.
    public static let stored = CompressionPolicy(method: .stored, minimumBytes: .max, level: 1)

    /// Compresses each body separately. Below about 768 bytes that costs microseconds and gains little.
    ///
    /// - Parameters:
    ///   - compressor: Deflates large bodies instead of zlib; nil uses zlib for all.
    ///   - compressorBytes: Minimum size of a large body.
    public static func zlib(
        minimumBytes: Int = 768, level: Int = 6, compressor: (any BodyDeflating)? = nil, compressorBytes: Int = 8192
    ) -> CompressionPolicy {
        var policy = CompressionPolicy(method: .zlib(nil), minimumBytes: minimumBytes, level: level)
        policy.compressor = compressor.map { Compressor(deflating: $0, minimumBytes: compressorBytes) }
        return policy
    }

    /// Compresses each body separately with a dictionary, which the readers must also have. Useful for small bodies.
    public static func dictionary(
        _ dictionary: CompressionDictionary, minimumBytes: Int = 64, level: Int = 6
    ) -> CompressionPolicy {
        CompressionPolicy(method: .zlib(dictionary), minimumBytes: minimumBytes, level: level)
    }
}
