import Foundation

/// Reads xsd:dateTime in the form of GPX files: `2010-10-03T09:36:30Z`, with or without fractional seconds. The zone is `Z`,
/// an offset such as `+02:00`, or missing, which GPX defines as UTC. Years are 0001–9999. `24:00:00` is the first instant of
/// the next day.
///
/// Source: W3C XML Schema Part 2, 3.2.7; days from a civil date after Howard Hinnant, chrono-compatible low-level date
/// algorithms.
func gpxTimestamp(_ text: some StringProtocol) -> Date? {
    var reader = TimestampReader(text.utf8)
    guard let year = reader.number(digits: 4), year > 0, reader.skip("-"),
        let month = reader.number(digits: 2), (1...12).contains(month), reader.skip("-"),
        let day = reader.number(digits: 2), (1...daysIn(month: month, year: year)).contains(day), reader.skip("T"),
        let hour = reader.number(digits: 2), hour <= 24, reader.skip(":"),
        let minute = reader.number(digits: 2), minute < 60, reader.skip(":"),
        let second = reader.number(digits: 2), second <= 60,
        let fraction = reader.fraction(), let offset = reader.zoneOffset(), reader.isAtEnd,
        hour < 24 || (minute == 0 && second == 0 && fraction == 0)
    else { return nil }
    let seconds = daysSince1970(year: year, month: month, day: day) * 86_400 + hour * 3_600 + minute * 60 + second
    return Date(timeIntervalSince1970: Double(seconds - offset) + fraction)
}

private struct TimestampReader {
    private var rest: ArraySlice<UInt8>

    init(_ text: some Sequence<UInt8>) { rest = ArraySlice(Array(text)) }

    var isAtEnd: Bool { rest.isEmpty }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
        guard let first = rest.first, UInt32(first) == character.value else { return false }
        rest.removeFirst()
        return true
    }

    mutating func number(digits: Int) -> Int? {
        var number = 0
        for _ in 0..<digits {
            guard let digit = digit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    /// Returns 0 without a fraction, and nil if no digit follows the point. Digits after the ninth are dropped.
    mutating func fraction() -> Double? {
        guard skip(".") || skip(",") else { return 0 }
        var billionths = 0
        var count = 0
        while let digit = digit() {
            if count < 9 { billionths = billionths * 10 + digit }
            count += 1
        }
        guard count > 0 else { return nil }
        for _ in min(count, 9)..<9 { billionths *= 10 }
        return Double(billionths) / 1e9
    }

    /// Returns seconds east of UTC; nil if the text isn't a zone.
    mutating func zoneOffset() -> Int? {
        if isAtEnd || skip("Z") { return 0 }
        let sign = skip("-") ? -1 : skip("+") ? 1 : 0
        guard sign != 0, let hours = number(digits: 2), hours <= 14 else { return nil }
        _ = skip(":")
        guard let minutes = number(digits: 2), minutes < 60 else { return nil }
        return sign * (hours * 3_600 + minutes * 60)
    }

    private mutating func digit() -> Int? {
        guard let first = rest.first, (48...57).contains(first) else { return nil }
        rest.removeFirst()
        return Int(first) - 48
    }
}

private func daysIn(month: Int, year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
}

private func daysSince1970(year: Int, month: Int, day: Int) -> Int {
    // The computed year begins in March, so that the leap day is its last day.
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
}
