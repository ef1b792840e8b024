/// Whether and how a sender compresses bodies. Readers follow the frame and need no policy.
///
/// Whatever the policy, a body is stored when compressing it would not make it smaller, or would exceed what readers
/// allow (`FrameLimits.inflationRatio`).
public struct CompressionPolicy: Sendable {
    enum Method: Sendable {
        case stored
        case zlib(CompressionDictionary?)
    }

    /// Takes the place of zlib for bodies from a size on.
    struct Compressor: Sendable {
        let deflating: any BodyDeflating
        let minimumBytes: Int
    }

    let method: Method
    /// Smaller bodies are stored.
    public let minimumBytes: Int
    /// The compression level, from 1 (fastest) to 9 (smallest).
    public let level: Int
    var compressor: Compressor?

    /// A policy that compresses nothing.
    public static let stored = CompressionPolicy(method: .stored, minimumBytes: .max, level: 1)

    /// Each body on its own. Below some 768 bytes that costs microseconds and gains little.
    ///
    /// - Parameters:
    ///   - compressor: deflates the large bodies instead of zlib, which is the default.
    ///   - compressorBytes: bodies from this size on are large.
    public static func zlib(
        minimumBytes: Int = 768, level: Int = 6, compressor: (any BodyDeflating)? = nil, compressorBytes: Int = 8192
    ) -> CompressionPolicy {
        var policy = CompressionPolicy(method: .zlib(nil), minimumBytes: minimumBytes, level: level)
        policy.compressor = compressor.map { Compressor(deflating: $0, minimumBytes: compressorBytes) }
        return policy
    }

    /// Each body on its own, against a dictionary that the readers must have too. Pays for small bodies.
    public static func dictionary(
        _ dictionary: CompressionDictionary, minimumBytes: Int = 64, level: Int = 6
    ) -> CompressionPolicy {
        CompressionPolicy(method: .zlib(dictionary), minimumBytes: minimumBytes, level: level)
    }
}
