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

    /// A format that replaces deflate toward receivers that have announced it.
    struct Preferred: Sendable {
        let format: any CompressionFormat
        let dictionary: CompressionDictionary?
        let minimumBytes: Int
        let level: Int
    }

    let method: Method
    /// Minimum size of a compressed body. Smaller ones are stored uncompressed.
    public let minimumBytes: Int
    /// The compression level, from 1 (fastest) to 9 (smallest).
    public let level: Int
    var compressor: Compressor?
    var preferred: Preferred?

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

// MARK: - A preferred format

extension CompressionPolicy {
    /// Returns this policy with a format that replaces deflate toward receivers that have announced it and its dictionary
    /// (`FrameEncoder.setReceiver(_:)`). This policy applies to other receivers and to smaller bodies.
    ///
    /// - Parameters:
    ///   - dictionary: The dictionary of all bodies in this format; nil for none.
    ///   - minimumBytes: Minimum size of a body in this format.
    ///   - level: The level in the format's own scale.
    public func preferring(
        _ format: any CompressionFormat, dictionary: CompressionDictionary? = nil, minimumBytes: Int = 256,
        level: Int = 1
    ) -> CompressionPolicy {
        var policy = self
        policy.preferred = Preferred(
            format: format, dictionary: dictionary, minimumBytes: minimumBytes, level: level)
        return policy
    }

    /// The formats that a peer with this policy reads, in addition to deflate.
    package var formats: [any CompressionFormat] { preferred.map { [$0.format] } ?? [] }

    /// The dictionaries that a peer with this policy reads, in addition to the built-in one.
    package var dictionaries: [CompressionDictionary] {
        var dictionaries = [preferred?.dictionary].compactMap { $0 }
        if case .zlib(let dictionary?) = method { dictionaries.append(dictionary) }
        return dictionaries.filter { $0 != .builtIn }
    }

    /// Returns true if the sender of a hello reads bodies in the preferred format.
    package func isPreferredFormatReadable(by hello: WireHello) -> Bool {
        guard let preferred, hello.compressionFormats.contains(preferred.format.number) else { return false }
        guard let dictionary = preferred.dictionary, dictionary != .builtIn else { return true }
        return hello.dictionaries.contains(dictionary.id)
    }

    var compressesNothing: Bool {
        if case .stored = method { return preferred == nil }
        return false
    }
}
