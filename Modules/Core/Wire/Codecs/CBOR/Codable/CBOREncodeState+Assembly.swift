extension CBOREncodeState {
    /// The finished message.
    /// - Throws: what went wrong while values were written; `oversized` from 4 GiB.
    mutating func assemble() throws(WireError) -> [UInt8] {
        if let failure { throw failure }
        guard writer.position < Int(UInt32.max), partCount < Int(UInt32.max) else {
            throw WireError(.oversized, "a message of 4 GiB or more")
        }
        // A message that is one scalar, or one array of them, needs no second copy.
        if parts[Int(Self.root)].form == .written { return writer.array() }
        var output = WireWriter(capacity: writer.position + WireWriter.headBytesMax * partCount)
        assemble(Self.root, into: &output)
        return output.array()
    }

    private func assemble(_ part: UInt32, into output: inout WireWriter) {
        let shape = parts[Int(part)]
        switch shape.form {
        case .written where shape.keyEnd == shape.start: output.writeRaw(bytes(shape.keyStart, shape.end))
        case .written:
            output.writeRaw(bytes(shape.keyStart, shape.keyEnd))
            output.writeRaw(bytes(shape.start, shape.end))
        case .open, .map:
            // What encodes nothing is as empty as a type without fields.
            output.writeRaw(bytes(shape.keyStart, shape.keyEnd))
            sortKeys(of: part)
            output.writeHead(.map, UInt64(parts[Int(part)].count))
            assembleContent(of: part, into: &output)
        case .list:
            output.writeRaw(bytes(shape.keyStart, shape.keyEnd))
            output.writeHead(.list, UInt64(shape.count))
            if shape.valuesEach == 0 {
                assembleContent(of: part, into: &output)
            } else {
                assembleSorted(part, into: &output)
            }
        }
    }

    private func assembleContent(of container: UInt32, into output: inout WireWriter) {
        var part = parts[Int(container)].first
        while part != 0 {
            assemble(part, into: &output)
            part = parts[Int(part)].next
        }
    }

    @inline(__always)
    private func bytes(_ start: UInt32, _ end: UInt32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: writer.base + Int(start), count: Int(end) - Int(start))
    }
}

// MARK: - Sets, and dictionaries that are lists

extension CBOREncodeState {
    /// In the order of the elements' bytes.
    private func assembleSorted(_ list: UInt32, into output: inout WireWriter) {
        let valuesEach = Int(parts[Int(list)].valuesEach)
        let start = output.position
        var bounds: [Int] = []
        var index = 0
        var part = parts[Int(list)].first
        while part != 0 {
            if index % valuesEach == 0 { bounds.append(output.position - start) }
            assemble(part, into: &output)
            part = parts[Int(part)].next
            index += 1
        }
        bounds.append(output.position - start)
        let copy = [UInt8](UnsafeRawBufferPointer(rebasing: output.bytes[start...]))
        var elements = zip(bounds, bounds.dropFirst()).map { $0..<$1 }
        copy.withUnsafeBytes { copy in
            elements.sort {
                UnsafeRawBufferPointer(rebasing: copy[$0]).order(to: UnsafeRawBufferPointer(rebasing: copy[$1])) < 0
            }
            output.position = start
            for element in elements { output.writeRaw(UnsafeRawBufferPointer(rebasing: copy[element])) }
        }
    }
}

// MARK: - Maps

extension CBOREncodeState {
    /// Puts a map's parts into the order of their keys. A shape has each key once.
    private func sortKeys(of map: UInt32) {
        let container = parts + Int(map)
        guard container.pointee.count > 1 else { return }
        container.pointee.first = sorted(container.pointee.first, count: Int(container.pointee.count))
    }

    /// Merge sort of a linked list: stable, without memory of its own.
    private func sorted(_ first: UInt32, count: Int) -> UInt32 {
        if count == 1 {
            parts[Int(first)].next = 0
            return first
        }
        var middle = first
        for _ in 0..<count / 2 { middle = parts[Int(middle)].next }
        var left = sorted(first, count: count / 2)
        var right = sorted(middle, count: count - count / 2)
        var head: UInt32 = 0
        var tail: UInt32 = 0
        while left != 0, right != 0 {
            let smaller: UInt32
            if order(left, right) <= 0 {
                smaller = left
                left = parts[Int(left)].next
            } else {
                smaller = right
                right = parts[Int(right)].next
            }
            if head == 0 { head = smaller } else { parts[Int(tail)].next = smaller }
            tail = smaller
        }
        parts[Int(tail)].next = left != 0 ? left : right
        return head
    }

    @inline(__always)
    private func order(_ left: UInt32, _ right: UInt32) -> Int {
        let (left, right) = (parts + Int(left), parts + Int(right))
        if left.pointee.prefix != right.pointee.prefix { return left.pointee.prefix < right.pointee.prefix ? -1 : 1 }
        return bytes(left.pointee.keyStart, left.pointee.keyEnd)
            .order(to: bytes(right.pointee.keyStart, right.pointee.keyEnd))
    }
}
