extension Collection<UInt8> {
    /// Compares secrets. The time depends on the lengths only, not on where the bytes differ.
    package func isEqualInConstantTime(to other: some Collection<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return zip(self, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
    }
}
