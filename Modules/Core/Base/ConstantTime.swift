extension Collection<UInt8> {
    /// Compares secrets. The time depends on the lengths only, not on where the bytes differ.
    package func isEqualInConstantTime(to other: some Collection<UInt8>) -> Bool {
        // As arrays, because a loop over any collection isn't specialized and takes microseconds.
        let (left, right) = (Array(self), Array(other))
        guard left.count == right.count else { return false }
        var difference: UInt8 = 0
        for index in left.indices { difference |= left[index] ^ right[index] }
        return difference == 0
    }
}
