public import MeshBase
public import MeshIdentity
public import MeshWire

/// A decoder under test, which must keep its promises for any bytes.
///
/// `Tools/Fuzzing` runs the targets with libFuzzer. The tests replay its findings.
public struct FuzzTarget: Sendable {
    /// A name that is unique among the targets, such as `frames`.
    public let name: String
    /// Processes one input of the fuzzer. Must return for every input. A thrown `BrokenPromise`, a trap, a hang and an
    /// unbounded allocation are findings.
    public let run: @Sendable (UnsafeRawBufferPointer) throws -> Void

    init(_ name: String, _ run: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void) {
        self.name = name
        self.run = run
    }

    /// Throws `BrokenPromise` unless the condition holds.
    static func require(_ condition: Bool, _ promise: @autoclosure () -> String) throws {
        if !condition { throw BrokenPromise(promise: promise()) }
    }
}

/// The promise that a decoder has broken.
public struct BrokenPromise: ExplainedError {
    /// The promise, in words.
    public let promise: String

    public var description: String { "broken promise: \(promise)" }

    public var advice: String { "Mend the decoder, and keep the input as a test." }
}

extension FuzzTarget {
    /// Returns targets for MeshWire's decoders, multicast DNS, delivery, the engine and resumable streams.
    /// - Parameters:
    ///   - codecs: codecs to test, both alone and in frames.
    ///   - formats: compression formats to test, both alone and in frames.
    public static func all(
        codecs: [any PayloadCodec], formats: [any CompressionFormat] = []
    ) throws -> [FuzzTarget] {
        let readers = FrameReaders(table: try CodecTable(codecs), formats: formats)
        let targets: [FuzzTarget] = [.frame(readers), .stream(readers), .inflate, .dns, .delivery, .engine, .resume]
        return targets + codecs.map { codec in .codec(codec) } + formats.map { format in .decompress(format) }
    }
}
