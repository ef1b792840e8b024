import Testing

@testable import MeshToolOutput

@Suite struct TerminalTextTests {
    @Test func `Wide characters take two columns, and a prefix doesn't cut any`() {
        #expect("phone".terminalColumns == 5)
        #expect("時計".terminalColumns == 4)
        #expect("🏃 ü…✓".terminalColumns == 6)
        #expect("時計".prefix(columns: 3) == "時")
        #expect("時計".prefix(columns: 1) == "")
    }

    @Test func `A line drops whole parts at its end, and cuts no number`() {
        let parts = ["0:12.3 running", "3 laps", "watch ✓ 148 bpm"]
        #expect(parts.fitted(to: 44, separator: " · ") == "0:12.3 running · 3 laps · watch ✓ 148 bpm")
        #expect(parts.fitted(to: 40, separator: " · ") == "0:12.3 running · 3 laps")
        #expect(parts.fitted(to: 22, separator: " · ") == "0:12.3 running")
        #expect(parts.fitted(to: 9, separator: " · ") == "0:12.3")
        #expect(parts.fitted(to: 5, separator: " · ") == "")
        #expect([].fitted(to: 5, separator: " ") == "")
    }
}
