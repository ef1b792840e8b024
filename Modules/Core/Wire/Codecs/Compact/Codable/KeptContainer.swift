/// A keyed container of Codable, kept to be lent again.
///
/// Codable puts every keyed container into a box on the heap, of a class that is generic over what it holds. To find that
/// class and its conformance costs more than writing the fields of a small record. What we put into the box is one
/// pointer to a place; when nobody else holds the box any more, it is lent again, with other contents in its place.
///
/// - `Container`: `KeyedEncodingContainer` or `KeyedDecodingContainer`.
final class KeptContainer<Container, Contents: BitwiseCopyable> {
    /// What the container in the box points to.
    let place: UnsafeMutablePointer<Contents>
    /// A closure, because it brings the container's metadata along; a generic caller would have to look that up.
    let copy: () -> Container
    /// Holds a reference to the box, which `copy` keeps alive. A cell of its own, so that no access to it is tracked.
    private let box: UnsafeMutablePointer<AnyObject>?

    /// - Parameter place: becomes this object's.
    init(_ container: Container, at place: UnsafeMutablePointer<Contents>) {
        self.place = place
        copy = repeating(container)
        // One reference to a box, as it always was; of anything else we could not tell whether somebody has it.
        guard MemoryLayout<Container>.size == MemoryLayout<UnsafeRawPointer>.size else {
            box = nil
            return
        }
        let cell = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16)
        cell.storeBytes(of: unsafeBitCast(container, to: UInt.self), as: UInt.self)
        box = cell.assumingMemoryBound(to: AnyObject.self)
    }

    deinit {
        place.deallocate()
        box?.deallocate()
    }

    /// Nobody has the container.
    var isFree: Bool {
        @inline(__always) get {
            guard let box else { return false }
            return isKnownUniquelyReferenced(&box.pointee)
        }
    }
}

@inline(never)
private func repeating<Value>(_ value: Value) -> () -> Value { { value } }

/// Places for containers that are not kept, at addresses that stay, for the length of a message.
struct PlaceArena<Contents: BitwiseCopyable>: ~Copyable {
    private var chunks: [UnsafeMutablePointer<Contents>] = []
    private var used = PlaceArena.chunkCount

    private static var chunkCount: Int { 32 }

    init() {}

    deinit { for chunk in chunks { chunk.deallocate() } }

    mutating func add(_ contents: Contents) -> UnsafeMutablePointer<Contents> {
        if used == Self.chunkCount {
            chunks.append(.allocate(capacity: Self.chunkCount))
            used = 0
        }
        let place = chunks[chunks.count - 1] + used
        place.initialize(to: contents)
        used += 1
        return place
    }
}
