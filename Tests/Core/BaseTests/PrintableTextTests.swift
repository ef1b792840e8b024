import Foundation
import Testing

@testable import MeshBase

@Suite struct PrintableTextTests {
    @Test func `Scalars that move the cursor, end a line or change the writing direction are escaped`() {
        let unprintable: [ClosedRange<UInt32>] = [
            0...0x1F, 0x7F...0x9F,  // C0, delete and C1: a terminal may read an escape sequence in them
            0xAD...0xAD, 0x61C...0x61C, 0x200B...0x200B, 0x200E...0x200F, 0x2028...0x202E, 0x2060...0x206F,
            0xFEFF...0xFEFF, 0xFFF9...0xFFFB, 0xE0001...0xE0001, 0xE0020...0xE007F, 0xE000...0xE0FF,
        ]
        for value in unprintable.joined() {
            guard let scalar = Unicode.Scalar(value) else { continue }
            let text = "a\(Character(scalar))b".printable()
            #expect(text == "a\\u{\(String(value, radix: 16, uppercase: true))}b")
            #expect(text.unicodeScalars.allSatisfy { (0x20..<0x7F).contains($0.value) })
        }
    }

    @Test func `Every scalar is printable or escaped, in text and in JSON`() throws {
        for value in 0...0x10FFFF as ClosedRange<UInt32> {
            guard let scalar = Unicode.Scalar(value), value < 0x3000 || value % 61 == 0 else { continue }
            let text = String(scalar)
            #expect(text.printable().unicodeScalars.allSatisfy { $0.isPrintable })
            #expect((text.printable() == text) == scalar.isPrintable)
        }
    }

    @Test(arguments: ["", "Läuferin 🏃🏽‍♀️", "می‌روم", "שלום", "e\u{301}", "日本", "C:\\u{1B}"])
    func `Printable text is unchanged`(text: String) {
        #expect(text.printable() == text)
        #expect(text.printableJSON == text)
    }

    @Test func `Control sequences in hostile text are escaped`() {
        #expect("\u{1B}]0;own\u{7}".printable() == "\\u{1B}]0;own\\u{7}")
        #expect("\u{9B}2J".printable() == "\\u{9B}2J")
        #expect("a\r\nb\tc".printable() == "a\\u{D}\\u{A}b\\u{9}c")
        #expect("a\r\nb\tc".printable(keepsLines: true) == "a\\u{D}\nb\tc")
        #expect("safe\u{202E}txt.exe".printable() == "safe\\u{202E}txt.exe")
    }

    @Test func `Printable JSON decodes to the same value`() throws {
        let hostile = "\u{1B}[2J\u{9B}1m\u{7F}\u{202E}\u{2028}\u{E0041}\u{10FFFF}\n\"\\ é"
        let encoder = JSONEncoder()
        encoder.outputFormatting = .prettyPrinted
        let json = String(decoding: try encoder.encode([hostile: hostile]), as: UTF8.self).printableJSON
        #expect(json.unicodeScalars.allSatisfy { $0.isPrintable || $0 == "\n" })
        #expect(try JSONDecoder().decode([String: String].self, from: Data(json.utf8)) == [hostile: hostile])
    }

    @Test func `JSON with carriage returns between its tokens stays valid`() throws {
        let json = "{\r\n\"a\\r\":\r1,\r\n\"b\": 2\r}".printableJSON
        #expect(json.unicodeScalars.allSatisfy { $0.isPrintable || $0 == "\n" })
        #expect(try JSONDecoder().decode([String: Int].self, from: Data(json.utf8)) == ["a\r": 1, "b": 2])
    }
}
