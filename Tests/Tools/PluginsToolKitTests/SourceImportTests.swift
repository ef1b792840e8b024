import Testing

@testable import PluginsToolKit

@Suite("Imports of a source text")
struct SourceImportTests {
    private func modules(_ text: String) -> [String] { SourceImport.all(in: text).map(\.module) }

    @Test(
        "every spelling of an import is one",
        arguments: [
            "import Wire", "public import Wire", "package import Wire", "internal import Wire",
            "fileprivate import Wire", "private import Wire", "@testable import Wire",
            "@_exported public import Wire", "@_spi(Testing) import Wire", "@preconcurrency @testable import Wire",
            "@testable\nimport Wire", "import struct Wire.Frame", "import func Wire.crc", "import Wire.Submodule",
            "import   Wire // why", "import Wire;", "import `Wire`", "let a = 1; import Wire",
            "#if os(Linux)\n  import Wire\n#endif",
            "/* before */ import Wire", "import /* between */ Wire", "\u{FEFF}import Wire", "import Wire\r\n",
        ])
    func everySpelling(text: String) {
        #expect(modules(text) == ["Wire"])
    }

    @Test(
        "what only looks like an import is none",
        arguments: [
            "// import Wire", "/// import Wire", "/* import Wire */", "/*\nimport Wire\n*/",
            "/* /* */\nimport Wire\n*/", "let text = \"import Wire\"", "let text = \"\"\"\n  import Wire\n  \"\"\"",
            "let text = #\"\"\"\n  \"\"\"\n  import Wire\n  \"\"\"#", "let text = #\"\\\"; import Wire\"#",
            "let text = \"\\(\"; import Wire\")\"", "let text = \"a \\(f(\"b\", (1))) ; import Wire\"",
            "let text = \"\\\"; import Wire\"", "let important = Wire", "func `import`(Wire: Int) {}",
            "@Test func `what one would import once`() {}", "@Test func `import Wire`() {}",
            "func f(import wire: Int) {}", "f(import: wire)", "f(\n  import: wire)", "f(\n  import wire: Int)",
            "x.import",
            "import", "",
        ])
    func onlyLooksLike(text: String) {
        #expect(modules(text) == [])
    }

    @Test("lines are counted through comments and literals")
    func lines() {
        let text = """
            /* one
               two */
            import A
            let text = \"""
              import B
              \\(value)
              \"""
            // "
            import C
            let quote = "\\""
            @_exported public import D
            """
        #expect(
            SourceImport.all(in: text) == [
                SourceImport(module: "A", line: 3), SourceImport(module: "C", line: 9),
                SourceImport(module: "D", line: 11),
            ])
    }

    @Test("an unterminated literal or comment ends the scan without a trap")
    func unterminated() {
        let whole = "import A\nlet s = #\"a \\#(b(\"c\")) \"# /* /* */ */ \"\"\"\nx \\( y )\n\"\"\"\nimport B"
        #expect(modules(whole) == ["A", "B"])
        for length in 0...whole.utf8.count {
            let cut = String(decoding: Array(whole.utf8).prefix(length), as: UTF8.self)
            #expect(modules(cut).count <= 2)
        }
        #expect(modules("let s = \"open\nimport A") == ["A"])
    }

    @Test("code keeps its length and its lines")
    func length() {
        let text = "import A // é\nlet s = \"é\\(x)\"\n/* é */"
        let code = SwiftSource.codeOnly(text)
        #expect(code.count == text.utf8.count)
        #expect(code.filter { $0 == .newline }.count == 2)
        #expect(!code.contains { $0 >= 0x80 })
    }
}
