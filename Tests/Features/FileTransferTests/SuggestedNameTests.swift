import Foundation
import MeshBus
import Testing

@testable import MeshFileTransfer

@Suite struct SuggestedNameTests {
    @Test(arguments: [
        ("track.gpx", "track.gpx"), ("../../etc/passwd", "passwd"), ("/absolute/a.txt", "a.txt"), ("", "file"),
        ("..", "file"), (".", "file"), ("...", "file"), ("/", "file"), ("a/", "file"), (".hidden", "hidden"),
        ("a\u{0}b.txt", "ab.txt"), ("C:\\temp\\x.doc", "x.doc"), ("con", "_con"), ("NUL.txt", "_NUL.txt"),
        ("console", "console"), ("  a b  ", "a b"), ("a.", "a"), ("\u{202E}gpj.exe", "gpj.exe"), ("a:b", "b"),
        ("Übung 5.txt", "Übung 5.txt"), ("日本.pdf", "日本.pdf"), ("a*?\"<>|b", "ab"), ("\n\r\t", "file"),
    ])
    func `A peer's name becomes one harmless name`(name: String, expected: String) {
        #expect(SuggestedName.sanitize(name) == expected)
    }

    @Test func `No name leads anywhere, whatever bytes it is made of`() {
        let pieces: [String] = [
            "/", "\\", "..", ".", "\u{0}", "a", "é", "🧑‍🧑‍🧒‍🧒", "con", ":", " ", "\u{202E}", "\u{FFFD}", "e\u{301}",
            "\u{10FFFF}", "x.y",
            String(repeating: "n", count: 300), String(repeating: "\u{301}", count: 200),
        ]
        for seed in 0..<3000 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let name = (0..<random.next() % 8).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
            let clean = SuggestedName.sanitize(name)
            #expect(!clean.isEmpty && clean.utf8.count <= SuggestedName.bytesMax, "seed \(seed)")
            #expect(!clean.contains { "/\\\0:".contains($0) } && !clean.hasPrefix(".") && !clean.hasSuffix("."))
            #expect(clean.unicodeScalars.allSatisfy { $0.value >= 32 }, "seed \(seed)")
            #expect(SuggestedName.sanitize(clean) == clean, "seed \(seed): \(name.debugDescription)")
        }
    }

    @Test func `A long name keeps its extension`() {
        let long = String(repeating: "x", count: 10_000) + ".gpx"
        let clean = SuggestedName.sanitize(long)
        #expect(clean.utf8.count == SuggestedName.bytesMax && clean.hasSuffix("x.gpx"))
        #expect(SuggestedName.sanitize(String(repeating: "ü", count: 10_000)).utf8.count <= SuggestedName.bytesMax)
    }
}
