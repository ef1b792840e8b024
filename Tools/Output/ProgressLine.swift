import Foundation
import MeshBase

/// One line on standard error that says what is going on; silent unless that is a terminal.
package struct ProgressLine: Sendable {
    private let isTerminal = isatty(STDERR_FILENO) == 1

    package init() {}

    package func show(_ text: String) { write(text.printable()) }
    package func clear() { write("") }

    private func write(_ text: String) {
        let returnAndErase = "\r\u{1B}[K"
        if isTerminal { ToolOutput.drawRemark(returnAndErase + text) }
    }
}
