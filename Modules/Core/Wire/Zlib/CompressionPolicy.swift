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

    /// Compresses each body separately with a dictionary. Useful for small bodies. Toward a receiver that hasn't announced
    /// the dictionary (`FrameEncoder.setReceiver(_:)`), the built-in one is used. Without a receiver, the readers must have
    /// it.
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

    /// Returns the parts of this policy that the sender of a hello reads.
    package func readable(by hello: WireHello) -> ReadableCompression {
        func has(_ dictionary: CompressionDictionary?) -> Bool {
            dictionary.map { $0 == .builtIn || hello.dictionaries.contains($0.id) } ?? true
        }
        var readable: ReadableCompression = []
        if let preferred, hello.compressionFormats.contains(preferred.format.number), has(preferred.dictionary) {
            readable.insert(.preferredFormat)
        }
        if case .zlib(let dictionary) = method, has(dictionary) { readable.insert(.dictionary) }
        return readable
    }

    var compressesNothing: Bool {
        if case .stored = method { return preferred == nil }
        return false
    }
}

/// The parts of a sender's policy that its receiver reads. Every receiver reads deflate, also with the built-in dictionary.
package struct ReadableCompression: OptionSet, Sendable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The preferred format, with its dictionary.
    package static let preferredFormat = Self(rawValue: 1 << 0)
    /// The dictionary of deflate.
    package static let dictionary = Self(rawValue: 1 << 1)
}
