#if CommandLineTools
    import Foundation
    import MeshToolOutput
    import WorkoutExample

    /// Shows a running replay on the alternate screen of the terminal at standard output. The normal screen keeps its content,
    /// and the last picture is printed below it at the end.
    final class LiveScreen: ReplayDisplay {
        private var scene: LiveScene
        private let started = ContinuousClock.now
        private var isShown = false
        private var shown = ""
        private let isColoured: Bool
        private let glyphs: LiveDrawing.Glyphs

        /// Returns nil if standard output isn't a terminal, or is one that can't draw.
        init?(_ scene: LiveScene, environment: [String: String] = ProcessInfo.processInfo.environment) {
            guard isatty(STDOUT_FILENO) == 1, environment["TERM"] ?? "dumb" != "dumb", Self.size != nil else {
                return nil
            }
            self.scene = scene
            isColoured = environment["NO_COLOR"]?.isEmpty ?? true
            glyphs = Self.glyphs(for: environment)
        }

        /// Returns the characters for the locale. The first variable that is set decides, as in POSIX.
        static func glyphs(for environment: [String: String]) -> LiveDrawing.Glyphs {
            let locale = ["LC_ALL", "LC_CTYPE", "LANG"].compactMap { environment[$0] }.first { !$0.isEmpty } ?? "C"
            let isUTF8 = locale.lowercased().replacing("-", with: "").contains("utf8")
            return isUTF8 ? .unicode : .ascii
        }

        func joined(_ actor: ReplayPlan.Actor) { change { $0.join(actor) } }

        func take(_ report: PeerReport, from actor: ReplayPlan.Actor) { change { $0.take(report, from: actor) } }

        func send(from actor: ReplayPlan.Actor) { change { $0.send(from: actor) } }

        func reach(isApart: Bool) { change { $0.reach(isApart: isApart) } }

        func tick() {
            change { _ in }
            draw()
        }

        /// Restores the terminal's normal screen. May be called again.
        func suspend() {
            guard isShown else { return }
            isShown = false
            shown = ""
            try? ToolOutput.draw("\u{1B}[?25h\u{1B}[?1049l")
        }

        func end(isComplete: Bool) {
            suspend()
            guard isComplete, let size = Self.size else { return }
            // The normal screen can scroll, so the picture may be taller than the terminal.
            let lines = picture(width: size.columns, height: max(24, size.lines - 1)).lines(isColoured: isColoured)
            try? ToolOutput.draw(lines.reversed().drop(while: \.isEmpty).reversed().joined(separator: "\n") + "\n\n")
        }

        private func change(_ body: (inout LiveScene) -> Void) {
            scene.pass(to: ContinuousClock.now - started)
            body(&scene)
        }

        /// Draws over the last picture, so that nothing flickers.
        private func draw() {
            guard let size = Self.size else { return }
            var text = "\u{1B}[H"
            if !isShown { text = "\u{1B}[?1049h\u{1B}[?25l" + text }
            isShown = true
            let picture = picture(width: size.columns, height: size.lines)
            let lines = zip(picture.lines, picture.lines(isColoured: isColoured)).map { plain, line in
                // After a full line the cursor stands on the last character, which erasing would remove.
                plain.terminalColumns < size.columns ? line + "\u{1B}[K" : line
            }
            text += lines.joined(separator: "\r\n")
            guard text != shown else { return }
            shown = text
            try? ToolOutput.draw(text)
        }

        private func picture(width: Int, height: Int) -> Canvas {
            LiveDrawing.canvas(of: scene, width: width, height: height, glyphs: glyphs)
        }

        private static var size: (columns: Int, lines: Int)? {
            guard let size = ToolOutput.size(of: STDOUT_FILENO), size.columns >= LiveDrawing.widthMin,
                size.lines >= LiveDrawing.heightMin
            else { return nil }
            return size
        }
    }
#endif
