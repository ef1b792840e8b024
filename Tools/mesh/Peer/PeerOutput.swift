#if CommandLineTools
    import Foundation
    import MeshBase
    import MeshToolOutput

    /// The output of a live peer. On a terminal, messages scroll above a status line that is redrawn in place. Elsewhere each
    /// message and each change is a line.
    @MainActor
    final class PeerOutput {
        private let isJSON: Bool
        let isTerminal: Bool
        private var shown: PeerStatus?
        private var line = ""

        init(isJSON: Bool) {
            self.isJSON = isJSON
            isTerminal = !isJSON && isatty(STDOUT_FILENO) == 1
        }

        /// Prints a message for people. JSON output omits it.
        func remark(_ text: String) { if !isJSON { print(message: text) } }

        /// - Parameter change: One word for the event.
        func report(_ change: String, _ text: String, _ status: PeerStatus) {
            if isJSON {
                write(PeerChange(change: change, message: text, status: status).line + "\n")
                shown = status
            } else {
                print(message: text)
            }
        }

        func show(_ status: PeerStatus) {
            if isTerminal {
                let text = status.text.printable()
                guard text != line else { return }
                line = text
                draw()
            } else if shown.map(status.differs) ?? true {
                shown = status
                if isJSON {
                    write(PeerChange(change: "status", message: nil, status: status).line + "\n")
                } else {
                    write(status.text.printable() + "\n")
                }
            }
        }

        /// Clears the status line for the following output.
        func clear() {
            guard isTerminal else { return }
            write(Self.eraseLine)
            line = ""
        }

        /// Prints a message as one line. It may contain text of a peer, so unprintable characters are replaced.
        private func print(message: String) {
            let message = message.printable()
            guard isTerminal else { return write(message + "\n") }
            write(Self.eraseLine + message + "\n")
            draw()
        }

        private func draw() { write(Self.eraseLine + fitted(line)) }

        /// Leaves out parts of a line that doesn't fit: a wrapped line couldn't be redrawn in place.
        private func fitted(_ text: String) -> String {
            let width = ToolOutput.size(of: STDOUT_FILENO)?.columns ?? 80
            let parts = text.split(separator: PeerStatus.separator).map(String.init)
            return parts.fitted(to: width - 1, separator: PeerStatus.separator)
        }

        private static let eraseLine = "\r\u{1B}[K"

        private func write(_ text: String) {
            // The reader of this output may have exited. The peer continues until it is asked to stop.
            try? ToolOutput.draw(text)
        }
    }

    /// A line of `--json`.
    private struct PeerChange: Encodable {
        let change: String
        let message: String?
        let status: PeerStatus

        private enum CodingKeys: String, CodingKey { case change, message }

        func encode(to encoder: any Encoder) throws {
            try status.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(change, forKey: .change)
            try container.encodeIfPresent(message, forKey: .message)
        }

        var line: String {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            // Text, finite numbers and IDs always encode.
            return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self).printableJSON } ?? ""
        }
    }
#endif
