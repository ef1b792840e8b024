public import MeshBus

/// Another way to deflate whole bodies than zlib's: faster, smaller, or in hardware. The plugin point for compressors.
///
/// Only senders need it: what comes out is raw deflate (RFC 1951), which every reader inflates with zlib. Bodies with
/// dictionaries stay with zlib. `CompressionPolicy.zlib(compressor:)` takes it.
///
/// To the implementer: `makeDeflater` is called from any thread, several at once, for each frame encoder that meets a
/// body large enough, once.
public protocol BodyDeflating: Sendable {
    /// The compressor's name in tables and messages, such as `libdeflate`.
    var name: String { get }
    /// Creates a deflater for the bodies of one sender.
    ///
    /// - Parameter level: from 1, fastest, to 9, smallest; as zlib's levels, roughly.
    /// - Throws: `compressionFailed` when there is no memory; the body then is not sent.
    func makeDeflater(level: Int) throws(WireError) -> any BodyDeflater
}

/// Deflates the bodies of one frame encoder, one after the other.
///
/// To the implementer: nothing of one body may show in the next. You are owned by one encoder, and not called from
/// several threads at once.
public protocol BodyDeflater: AnyObject {
    /// Writes one complete raw deflate stream (RFC 1951) with a window of at most 32 KiB: no header, no trailer.
    ///
    /// - Parameters:
    ///   - bytes: valid during the call only.
    ///   - output: all the room there is; smaller than `bytes`. Must not be written beyond its end.
    /// - Returns: how many bytes were written; nil when they do not fit, and the body will be stored.
    /// - Throws: `compressionFailed`; the body then is not sent.
    func compress(_ bytes: UnsafeRawBufferPointer, into output: UnsafeMutableRawBufferPointer) throws(WireError) -> Int?
}

extension ExtensionPoint where Value == any BodyDeflating {
    /// The extension point at which compressors register, for an app that leaves the choice to its list of plugins.
    public static let compressors = ExtensionPoint("sessionmesh.compressors")
}
