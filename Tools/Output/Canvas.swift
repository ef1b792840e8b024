import MeshBase

/// A rectangle of characters, drawn before a terminal shows it.
package struct Canvas: Equatable {
    /// The look of a character on a terminal with colors.
    package enum Style: String, Sendable {
        case plain = ""
        case bold = "1"
        case faint = "2"
        case green = "32"
        case yellow = "33"
        case blue = "1;34"
        case magenta = "1;35"
    }

    private struct Cell: Equatable {
        // Empty for the second column of a wide character.
        var text = " "
        var style = Style.plain
    }

    package let width: Int
    package let height: Int
    private var cells: [Cell]

    package init(width: Int, height: Int) {
        self.width = max(0, width)
        self.height = max(0, height)
        cells = Array(repeating: Cell(), count: self.width * self.height)
    }

    /// Draws over the existing content, starting at a column. Leaves out characters that are outside or only half inside.
    package mutating func draw(_ text: String, column: Int, line: Int, style: Style = .plain) {
        guard (0..<height).contains(line) else { return }
        var column = column
        for character in text.printable() {
            let columns = String(character).terminalColumns
            if column >= 0, column + columns <= width {
                cells[line * width + column] = Cell(text: String(character), style: style)
                for next in 1..<max(1, columns) { cells[line * width + column + next] = Cell(text: "") }
            }
            column += columns
        }
    }

    /// The lines as text, without trailing spaces.
    package var lines: [String] { lines(isColoured: false) }

    /// - Parameter isColoured: True to include the control sequences for the styles.
    package func lines(isColoured: Bool) -> [String] {
        (0..<height).map { line in
            var row = cells[(line * width)..<((line + 1) * width)]
            while row.last?.text == " " { row.removeLast() }
            var text = ""
            var style = Style.plain
            for cell in row {
                if isColoured, cell.style != style {
                    text += "\u{1B}[0\(cell.style == .plain ? "" : ";" + cell.style.rawValue)m"
                    style = cell.style
                }
                text += cell.text
            }
            return style == .plain ? text : text + "\u{1B}[0m"
        }
    }
}
