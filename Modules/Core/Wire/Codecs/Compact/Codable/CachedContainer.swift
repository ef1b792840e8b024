/// A keyed container of Codable that is cached for reuse.
///
/// Codable puts every keyed container into a heap object of a generic class. Finding that class and its conformance costs
/// more than writing the fields of a small record. This library's container in that box is one pointer to its contents.
/// Once the cache holds the only reference to the box, it returns the box again with other contents.
///
/// - `Container`: `KeyedEncodingContainer` or `KeyedDecodingContainer`.
final class CachedContainer<Container, Contents: BitwiseCopyable> {
    /// Address of the contents, to which the container in the box points.
    let contents: UnsafeMutablePointer<Contents>
    /// Returns a copy of the container. A closure, because it captures metadata that a generic caller would look up.
    let copy: () -> Container
    /// A reference to the box, which `copy` keeps alive. In separate memory, so that exclusivity checks don't track it.
    private let box: UnsafeMutablePointer<AnyObject>?

    /// - Parameter contents: Memory that this object takes over and frees.
    init(_ container: Container, at contents: UnsafeMutablePointer<Contents>) {
        self.contents = contents
        copy = repeating(container)
        // A container has always been one reference to a box. If its layout ever changes, uniqueness can't be tested.
        guard MemoryLayout<Container>.size == MemoryLayout<UnsafeRawPointer>.size else {
            box = nil
            return
        }
        let cell = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 16)
        cell.storeBytes(of: unsafeBitCast(container, to: UInt.self), as: UInt.self)
        box = cell.assumingMemoryBound(to: AnyObject.self)
    }

    deinit {
        contents.deallocate()
        box?.deallocate()
    }

    /// True if there is no other reference to the container.
    var isFree: Bool {
        @inline(__always) get {
            guard let box else { return false }
            return isKnownUniquelyReferenced(&box.pointee)
        }
    }
}

@inline(never)
private func repeating<Value>(_ value: Value) -> () -> Value { { value } }

/// Memory for containers that aren't cached, at stable addresses, for the duration of a message.
struct ContentsArena<Contents: BitwiseCopyable>: ~Copyable {
    private var chunks: [UnsafeMutablePointer<Contents>] = []
    private var used = ContentsArena.chunkCount

    private static var chunkCount: Int { 32 }

    init() {}

    deinit { for chunk in chunks { chunk.deallocate() } }

    mutating func add(_ contents: Contents) -> UnsafeMutablePointer<Contents> {
        if used == Self.chunkCount {
            chunks.append(.allocate(capacity: Self.chunkCount))
            used = 0
        }
        let address = chunks[chunks.count - 1] + used
        address.initialize(to: contents)
        used += 1
        return address
    }
}
