public import MeshBase
public import MeshIdentity
import MeshWire

/// A decoder under attack: takes any bytes and must keep its promises.
///
/// `Tools/Fuzzing` feeds these from libFuzzer, and the tests replay what it has found.
public struct FuzzTarget: Sendable {
    /// Unique among the targets, such as `frames`.
    public let name: String
    /// Must return for every input. `BrokenPromise`, a trap, a hang or an unbounded allocation is a find.
    public let run: @Sendable (UnsafeRawBufferPointer) throws -> Void

    init(_ name: String, _ run: @escaping @Sendable (UnsafeRawBufferPointer) throws -> Void) {
        self.name = name
        self.run = run
    }

    /// A promise that must hold whatever the bytes.
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
    /// Every decoder of MeshWire, multicast DNS, delivery, the engine and resumable streams.
    /// - Parameter codecs: those to attack beside the frames that name them.
    public static func all(codecs: [any PayloadCodec]) throws -> [FuzzTarget] {
        let table = try CodecTable(codecs)
        let targets: [FuzzTarget] = [.frame(table), .stream(table), .inflate, .dns, .delivery, .engine, .resume]
        return targets + codecs.map { codec in .codec(codec) }
    }
}
