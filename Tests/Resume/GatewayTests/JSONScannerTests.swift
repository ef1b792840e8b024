import Foundation
import MeshBase
import Testing

@testable import MeshResumeGateway

@Suite struct JSONScannerTests {
    private static let valid = [
        "1", " null ", "-0", "0.5e-7", "1E300", #""""#, #""é😀\u00e9\ud83d\ude00\n\/""#,
        "[]", "[ 1 , [2,{}] ]", #"{"a":{"b":[true,false,null]},"a":1}"#, "\"\u{10ffff}\"",
        String(repeating: "[", count: 512) + String(repeating: "]", count: 512),
    ]
    private static let invalid = [
        "", " ", "01", "-", "+1", ".5", "1.", "1e", "1e999", "0x1", "NaN", "tru", "nulll", #"""#, #""\x""#, #""\u12""#,
        #""\ud800""#, #""\udc00""#, #""\ud800\u0041""#, "\"\n\"", "[1,]", "[,1]", "[1 2]", "{,}", #"{"a"}"#, #"{"a":}"#,
        #"{a:1}"#, #"{"a":1,}"#, "[1}", "1 1", "\u{feff}1", "1\0",
        String(repeating: "[", count: 513) + String(repeating: "]", count: 513),
        String(repeating: "9", count: 400),
    ]

    @Test(arguments: valid) func `Values of JSON are accepted`(text: String) {
        #expect(JSONScanner.isValue(Array(text.utf8)))
    }

    @Test(arguments: invalid) func `Other texts are refused`(text: String) {
        #expect(!JSONScanner.isValue(Array(text.utf8)))
    }

    @Test(
        arguments: [
            [0x80], [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x9f, 0xbf], [0xed, 0xa0, 0x80], [0xf0, 0x8f, 0xbf, 0xbf],
            [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xc3], [0xe2, 0x82], [0xf0, 0x9f, 0x98], [0xc3, 0x28],
            [0xff],
        ] as [[UInt8]])
    func `A string that isn't UTF-8 is refused`(bytes: [UInt8]) {
        #expect(!JSONScanner.isValue([UInt8(ascii: "\"")] + bytes + [UInt8(ascii: "\"")]))
    }

    /// Clients use Foundation's parser: a payload that it can't read must not get into a stream.
    @Test func `What the scanner accepts, Foundation reads`() throws {
        var random = SplitMix64(seed: 55)
        let alphabet =
            Array(#"[]{}",:\u0123456789deE+-.truefalsn "#.utf8) + [0x0a, 0xc3, 0xa9, 0xf0, 0x9f, 0x98, 0x80, 0x00]
        var (accepted, differing) = (0, [String]())
        for _ in 0..<20_000 {
            var bytes = Array(Self.valid[Int(random.next() % 11)].utf8)
            for _ in 0..<random.next() % 3 {
                let place = Int(random.next() % UInt64(bytes.count + 1))
                let byte = alphabet[Int(random.next() % UInt64(alphabet.count))]
                if place < bytes.count, random.next() % 2 == 0 {
                    bytes[place] = byte
                } else {
                    bytes.insert(byte, at: place)
                }
            }
            let isRead = (try? JSONSerialization.jsonObject(with: Data(bytes), options: .fragmentsAllowed)) != nil
            let isAccepted = JSONScanner.isValue(bytes)
            if isAccepted { accepted += 1 }
            if isAccepted, !isRead { differing.append(String(decoding: bytes, as: UTF8.self)) }
        }
        #expect(differing.isEmpty)
        #expect(accepted > 2000)
    }

    @Test func `Parts of a text are cut out as they are`() throws {
        var scanner = JSONScanner(Array(#" [ {"na\u006de" : "x\"y", "data": [1, 2.0e0 ] } , {} ] "#.utf8))
        var found: [String] = []
        try scanner.array { scanner in
            try scanner.object { name, scanner in
                found.append(name)
                found.append(String(decoding: try scanner.value(), as: UTF8.self))
            }
        }
        try scanner.end()
        #expect(found == ["name", #""x\"y""#, "data", "[1, 2.0e0 ]"])
    }
}
