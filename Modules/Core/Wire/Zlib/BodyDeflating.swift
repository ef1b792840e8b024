public import MeshBus

/// A replacement for zlib's deflate, for example a faster or smaller one, or one in hardware. Compressors conform to it.
///
/// Only senders need it. It produces raw deflate (RFC 1951), which every reader inflates with zlib. Bodies with a
/// dictionary always use zlib. Pass it to `CompressionPolicy.zlib(compressor:)`.
///
/// To the implementer: `makeDeflater` is called once per frame encoder, at its first large body. Calls come from any
/// thread and can overlap.
public protocol BodyDeflating: Sendable {
    /// The compressor's name in tables and messages, such as `libdeflate`.
    var name: String { get }
    /// Creates a deflater for the bodies of one sender.
    ///
    /// - Parameter level: 1 (fastest) to 9 (smallest), roughly like zlib's levels.
    /// - Throws: `compressionFailed` if there is no memory. The body is then not sent.
    func makeDeflater(level: Int) throws(WireError) -> any BodyDeflater
}

/// A deflater for the bodies of one frame encoder, one after the other.
///
/// To the implementer: output must not depend on earlier bodies. One encoder owns the deflater, and never calls it from
/// several threads at once.
public protocol BodyDeflater: AnyObject {
    /// Writes one complete raw deflate stream (RFC 1951) with a window of at most 32 KiB: no header, no trailer.
    ///
    /// - Parameters:
    ///   - bytes: The body. Valid only during the call.
    ///   - output: All available space, which is smaller than `bytes`. Don't write beyond its end.
    /// - Returns: The number of bytes written; nil if they don't fit, and the body is then stored uncompressed.
    /// - Throws: `compressionFailed`. The body is then not sent.
    func compress(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) throws(WireError) -> Int?
}

extension ExtensionPoint where Value == any BodyDeflating {
    /// The extension point for compressors, for an app that chooses one from its list of plugins.
    public static let compressors = ExtensionPoint("sessionmesh.compressors")
}
