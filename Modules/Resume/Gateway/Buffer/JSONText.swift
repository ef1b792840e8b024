import Foundation

enum JSONText {
    /// Returns true for JSON in UTF-8 without a byte order mark. Foundation also accepts encodings that a frame can't hold.
    static func isValid(_ bytes: [UInt8]) -> Bool {
        guard !bytes.contains(0), !bytes.starts(with: [0xef, 0xbb, 0xbf]),
            String(bytes: bytes, encoding: .utf8) != nil
        else { return false }
        return (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
    }

    /// Returns the text as a JSON string with its quotes.
    static func quoted(_ text: String) -> String {
        (try? JSONEncoder().encode(text)).map { String(decoding: $0, as: UTF8.self) } ?? "\"\""
    }
}
