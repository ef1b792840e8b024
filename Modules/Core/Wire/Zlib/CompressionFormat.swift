public import MeshBus

/// A format of compressed bodies other than deflate, such as zstd. Plugins conform to it.
///
/// Sender and receiver both need it. A receiver registers it with its decoder and announces its number in the hello
/// (`WireHello.compressionFormats`). A sender prefers it by `CompressionPolicy.preferring(_:)`.
///
/// To the implementer: calls come from any thread and can overlap.
public protocol CompressionFormat: Sendable {
    /// The format's number on the wire. 1–63 are this library's, 64–127 are for public formats of others, 128–255 for
    /// private use.
    var number: UInt8 { get }
    /// The format's name in tables and messages, such as `zstd`.
    var name: String { get }
    /// Creates a compressor for the bodies of one sender. Called once per frame encoder, at its first body.
    ///
    /// - Parameters:
    ///   - level: The policy's level, in the format's own scale.
    ///   - dictionary: The dictionary of all bodies; nil for none.
    /// - Throws: `compressionFailed`. The body is then not sent.
    func makeCompressor(level: Int, dictionary: CompressionDictionary?) throws(WireError) -> any FormatCompressor
    /// Creates a decompressor for the bodies of one reader. Called once per frame decoder, at its first body.
    ///
    /// - Throws: `compressionFailed` if there is no memory.
    func makeDecompressor() throws(WireError) -> any FormatDecompressor
}

/// A compressor for the bodies of one frame encoder, one after the other.
///
/// To the implementer: output must not depend on earlier bodies. One encoder owns the compressor, and never calls it from
/// several threads at once.
public protocol FormatCompressor: AnyObject {
    /// Writes one complete body.
    ///
    /// - Parameters:
    ///   - bytes: The body. Valid only during the call.
    ///   - output: All available space, which is smaller than `bytes`. Don't write beyond its end.
    /// - Returns: The number of bytes written; nil if they don't fit, and the body is then stored uncompressed.
    /// - Throws: `compressionFailed`. The body is then not sent.
    func compress(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) throws(WireError) -> Int?
}

/// A decompressor for the bodies of one frame decoder, one after the other.
///
/// To the implementer: the bytes come from a peer, so any bytes must lead to a result or an error. Memory must be bounded
/// by the sizes of `bytes` and `output`. The reader has checked both against its limits. One decoder owns the
/// decompressor, and never calls it from several threads at once.
public protocol FormatDecompressor: AnyObject {
    /// Writes the content of one complete body.
    ///
    /// - Parameters:
    ///   - bytes: The compressed body. Valid only during the call.
    ///   - output: Uninitialized space for the content, of the length that the body states. Don't write beyond its end.
    ///   - dictionary: The registered dictionary that the body names; nil for none.
    /// - Returns: The number of bytes written. The reader throws `corrupted` unless it is `output.count`.
    /// - Throws: `corrupted`; `trailingBytes` if bytes follow the body's end; `compressionFailed` without memory.
    func decompress(
        _ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer, dictionary: CompressionDictionary?
    ) throws(WireError) -> Int
}

extension ExtensionPoint where Value == any CompressionFormat {
    /// The extension point for compression formats, for an app that chooses one from its list of plugins.
    public static let compressionFormats = ExtensionPoint("sessionmesh.compression-formats")
}
