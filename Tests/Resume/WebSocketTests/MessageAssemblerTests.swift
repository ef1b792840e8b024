import Testing

@testable import MeshWebSocket

/// RFC 6455, 5.4 and 8.1.
@Suite struct MessageAssemblerTests {
    private func code(_ frames: [([UInt8], MessageAssembler.Kind?, Bool)]) -> UInt16? {
        var assembler = MessageAssembler(bytesMax: 8)
        do throws(MessageAssembler.Violation) {
            for frame in frames { _ = try assembler.take(frame.0, kind: frame.1, isLast: frame.2) }
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `Fragments cut anywhere become one message, and the next message is separate`() throws {
        let text = Array("gr\u{fc}n \u{1f33f}".utf8.prefix(8))
        for cut in 0...4 {
            var assembler = MessageAssembler(bytesMax: 9)
            let whole = Array("gr\u{fc}n".utf8)
            #expect(try assembler.take(whole[..<cut], kind: .text, isLast: false) == nil)
            #expect(try assembler.take(whole[cut...], kind: nil, isLast: true)?.1 == whole, "cut at \(cut)")
            #expect(try assembler.take(text[..<0], kind: .binary, isLast: true)?.1 == [])
        }
    }

    @Test func `A message that breaks the order of fragments, the limit or UTF-8 gets its own close code`() {
        #expect(code([([1], nil, true)]) == 1002)
        #expect(code([([1], .binary, false), ([1], .binary, true)]) == 1002)
        #expect(code([(Array(repeating: 1, count: 9), .binary, true)]) == 1009)
        #expect(code([(Array(repeating: 1, count: 8), .binary, false), ([1], nil, true)]) == 1009)
        #expect(code([([0xff], .text, true)]) == 1007)
        #expect(code([([0xff], .binary, true)]) == nil)
        #expect(code([(Array(repeating: 65, count: 8), .text, true)]) == nil)
    }
}
