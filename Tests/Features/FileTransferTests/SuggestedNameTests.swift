import Foundation
import MeshBase
import Testing

@testable import MeshFileTransfer

@Suite struct SuggestedNameTests {
    @Test(arguments: [
        ("track.gpx", "track.gpx"), ("../../etc/passwd", "_._.._etc_passwd"), ("/absolute/a.txt", "_absolute_a.txt"),
        ("", "file"), ("..", "__"), (".", "_"), ("...", "_._"), ("/", "_"), ("a/", "a_"), (".hidden", "_hidden"),
        ("a\u{0}b.txt", "a_b.txt"), ("C:\\temp\\x.doc", "C__temp_x.doc"), ("con", "_con"), ("NUL.txt", "_NUL.txt"),
        ("console", "console"), ("  a b  ", "  a b _"), ("a.", "a_"), ("\u{202E}gpj.exe", "_gpj.exe"), ("a:b", "a_b"),
        ("Übung 5.txt", "Übung 5.txt"), ("日本.pdf", "日本.pdf"), ("a*?\"<>|b", "a______b"), ("\n\r\t", "___"),
        ("e\u{301}", "e\u{301}"), ("\u{301}a", "_a"), ("🧑‍🧑‍🧒‍🧒.gif", "🧑‍🧑‍🧒‍🧒.gif"),
        ("2018-07-30T19:16:29+02:00.gpx", "2018-07-30T19_16_29+02_00.gpx"),
    ])
    func `A peer's name becomes one harmless name, and nothing is cut`(name: String, expected: String) {
        #expect(SuggestedName.sanitize(name).utf8.elementsEqual(expected.utf8))
    }

    @Test func `No name leads out of the folder, whatever its bytes`() {
        let pieces: [String] = [
            "/", "\\", "..", ".", "\u{0}", "a", "é", "🧑‍🧑‍🧒‍🧒", "con", ":", " ", "\u{202E}", "\u{FFFD}", "e\u{301}",
            "\u{10FFFF}", "x.y", "\u{301}", "\u{2028}", "\r\n",
            String(repeating: "n", count: 300), String(repeating: "\u{301}", count: 200),
        ]
        let root = URL(fileURLWithPath: "/library")
        for seed in 202_611_261_530..<202_611_264_530 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let name = (0..<random.next() % 8).map { _ in pieces[Int(random.next() % UInt64(pieces.count))] }.joined()
            let clean = SuggestedName.sanitize(name)
            #expect(!clean.isEmpty && clean.utf8.count <= SuggestedName.bytesMax, "seed \(seed)")
            #expect(!clean.unicodeScalars.contains { "/\\\0:*?\"<>|".unicodeScalars.contains($0) }, "seed \(seed)")
            #expect(clean.unicodeScalars.first != "." && clean.unicodeScalars.last != ".", "seed \(seed)")
            #expect(clean.unicodeScalars.allSatisfy { $0.value >= 32 }, "seed \(seed)")
            for name in [clean, SuggestedName.numbered(clean, 9999)] {
                let place = root.appendingPathComponent(name, isDirectory: false)
                #expect(place.standardizedFileURL.deletingLastPathComponent().path == root.path, "seed \(seed)")
                #expect(name.utf8.count < 256, "seed \(seed)")
            }
            #expect(SuggestedName.sanitize(clean) == clean, "seed \(seed): \(name.debugDescription)")
            if name.utf8.count <= SuggestedName.bytesMax {
                let cut = name.unicodeScalars.count - clean.unicodeScalars.count
                #expect(cut <= 0, "seed \(seed): \(name.debugDescription) loses \(cut) scalars")
            }
        }
    }

    @Test func `A long name keeps its extension`() {
        let long = String(repeating: "x", count: 10_000) + ".gpx"
        let clean = SuggestedName.sanitize(long)
        #expect(clean.utf8.count == SuggestedName.bytesMax && clean.hasSuffix("x.gpx"))
        #expect(SuggestedName.sanitize(String(repeating: "ü", count: 10_000)).utf8.count <= SuggestedName.bytesMax)
    }
}
