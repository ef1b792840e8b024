import Foundation
import MeshBase

/// One line on standard error that shows the current activity. Silent unless standard error is a terminal.
package struct ProgressLine: Sendable {
    private let isTerminal = isatty(STDERR_FILENO) == 1

    package init() {}

    /// Shows as many of the comma-separated parts as the terminal's width allows.
    package func show(_ text: String) {
        let width = ToolOutput.width(of: STDERR_FILENO) ?? 80
        write(text.printable().split(separator: ", ").map(String.init).fitted(to: width - 1, separator: ", "))
    }

    package func clear() { write("") }

    private func write(_ text: String) {
        let returnAndErase = "\r\u{1B}[K"
        if isTerminal { ToolOutput.drawRemark(returnAndErase + text) }
    }
}
