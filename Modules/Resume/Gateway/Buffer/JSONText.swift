import Foundation

enum JSONText {
    /// Returns the text as a JSON string with its quotes.
    static func quoted(_ text: String) -> String {
        (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }
}
