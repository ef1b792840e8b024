import Foundation
import MeshBus
import MeshToolOutput

/// One line on stderr that says what is going on; silent unless stderr is a terminal.
struct ProgressLine: Sendable {
    private let isTerminal = isatty(STDERR_FILENO) == 1

    func show(_ text: String) { write(text) }
    func clear() { write("") }

    private func write(_ text: String) {
        guard isTerminal else { return }
        let returnAndErase = "\r\u{1B}[K"
        ToolOutput.drawRemark(returnAndErase + text.printable())
    }
}
