import Foundation

extension BinaryInteger {
    /// The number with its digits in groups of three, the same on every machine: `65,536`.
    package var grouped: String {
        let digits = Array(String(magnitude))
        let groups = stride(from: digits.count, to: 0, by: -3).map { end in String(digits[max(0, end - 3)..<end]) }
        return (self < 0 ? "-" : "") + groups.reversed().joined(separator: ",")
    }
}

extension Double {
    /// The number with one digit after the point below a hundred, and none above.
    package var figure: String {
        guard magnitude < 99.95 else { return magnitude < 1e15 ? Int(rounded()).grouped : "\(self)" }
        return String(format: "%.1f", self)
    }
}
