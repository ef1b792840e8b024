#if CommandLineTools
    import Foundation
    import MeshToolOutput
    import WorkoutExample

    /// Draws a scene for a terminal of a given size. Leaves out content that doesn't fit, but never cuts numbers.
    struct LiveDrawing {
        /// Minimum width in columns. Smaller terminals show the progress line.
        static let widthMin = 40
        static let heightMin = 10
        /// Maximum width in columns. More would only move the devices further apart than the eye can follow.
        private static let widthMax = 110

        /// Characters that a terminal may lack.
        struct Glyphs: Sendable {
            let corners: [String]
            let across: String
            let down: String
            let link: String
            let packet: String
            let right: String
            let left: String
            let separator: String

            static let unicode = Glyphs(
                corners: ["┌", "┐", "└", "┘"], across: "─", down: "│", link: "·", packet: "•",
                right: "▶", left: "◀",
                separator: " · ")
            static let ascii = Glyphs(
                corners: ["+", "+", "+", "+"], across: "-", down: "|", link: ".", packet: "o",
                right: ">", left: "<", separator: ", "
            )
        }

        private let scene: LiveScene
        private let glyphs: Glyphs
        private let boxWidth: Int
        private let boxHeight = 9
        private let width: Int
        private var canvas: Canvas

        static func canvas(of scene: LiveScene, width: Int, height: Int, glyphs: Glyphs) -> Canvas {
            var drawing = LiveDrawing(scene, width: width, height: height, glyphs: glyphs)
            drawing.draw()
            return drawing.canvas
        }

        private init(_ scene: LiveScene, width: Int, height: Int, glyphs: Glyphs) {
            self.scene = scene
            self.glyphs = glyphs
            self.width = min(width, Self.widthMax)
            canvas = Canvas(width: width, height: height)
            boxWidth = max(16, min(26, self.width * 3 / 10))
        }

        private mutating func draw() {
            write(
                [scene.title] + (scene.delay.map { ["each message takes \(Int($0 / .milliseconds(1))) ms"] } ?? []), 0)
            let hasSpace = canvas.height > Self.heightMin
            let top = hasSpace ? 2 : 1
            draw(.phone, column: 0, top)
            draw(.watch, column: width - boxWidth, top)
            drawLane(top)
            let end = drawEnd(top + boxHeight)
            drawRemarks(end)
        }

        // MARK: The devices

        private mutating func draw(_ actor: ReplayPlan.Actor, column: Int, _ top: Int) {
            let colour: Canvas.Style = actor == .phone ? .blue : .magenta
            let style: Canvas.Style = scene.joined.contains(actor) ? colour : .faint
            let name = " \(actor.rawValue) "
            let rest = String(repeating: glyphs.across, count: boxWidth - 3 - name.count)
            canvas.draw(
                glyphs.corners[0] + glyphs.across + name + rest + glyphs.corners[1], column: column, line: top,
                style: style)
            for line in 1..<(boxHeight - 1) {
                canvas.draw(glyphs.down, column: column, line: top + line, style: style)
                canvas.draw(glyphs.down, column: column + boxWidth - 1, line: top + line, style: style)
            }
            canvas.draw(
                glyphs.corners[2] + String(repeating: glyphs.across, count: boxWidth - 2) + glyphs.corners[3],
                column: column, line: top + boxHeight - 1, style: style)
            for (index, fact) in facts(of: actor).enumerated() {
                canvas.draw(
                    fact.text(width: boxWidth - 4), column: column + 2, line: top + 1 + index, style: fact.style)
            }
        }

        /// A line of a device's box.
        private struct Fact {
            var label = ""
            let value: String
            /// Text for when the space is too small. By default the value without its label.
            var short: String?
            var style = Canvas.Style.plain

            func text(width: Int) -> String {
                let space = width - label.count - value.count
                if label.isEmpty, space >= 0 { return value }
                return space > 0 ? label + String(repeating: " ", count: space) + value : short ?? value
            }
        }

        private func facts(of actor: ReplayPlan.Actor) -> [Fact] {
            guard let device = scene.devices[actor] else {
                return [Fact(value: scene.joined.contains(actor) ? "joins" : "not here yet", style: .faint)]
            }
            let seconds = Int(device.elapsedSeconds)
            let laps = device.laps == 1 ? "1 lap" : "\(device.laps) laps"
            let kilometres = String(format: "%.2f km", device.metres / 1_000)
            let heartRate = device.heartRate.map { "\($0) bpm" } ?? "-"
            return [
                Fact(label: "elapsed", value: String(format: "%d:%02d", seconds / 60, seconds % 60), style: .bold),
                Fact(value: device.phase.rawValue, style: device.phase == .paused ? .yellow : .green),
                Fact(label: "laps", value: "\(device.laps)", short: laps),
                Fact(label: "distance", value: kilometres),
                Fact(label: "heart rate", value: heartRate),
                Fact(label: "samples", value: device.samples.grouped, short: ""),
                sync(of: actor),
            ]
        }

        private func sync(of actor: ReplayPlan.Actor) -> Fact {
            guard scene.joined.count == ReplayPlan.Actor.allCases.count else {
                return Fact(value: "alone", style: .faint)
            }
            let count = scene.waiting(from: actor).count
            guard count > 0 else { return Fact(value: "all taps arrived", short: "all arrived", style: .faint) }
            let isHeld = scene.isApart
            return Fact(
                value: "\(count) \(count == 1 ? "tap" : "taps") \(isHeld ? "waiting" : "on the way")",
                short: "\(count) \(isHeld ? "waiting" : "sent")", style: .yellow)
        }

        // MARK: Messages in flight

        private mutating func drawLane(_ top: Int) {
            let (start, room) = (boxWidth + 1, width - 2 * boxWidth - 2)
            guard scene.joined.count == ReplayPlan.Actor.allCases.count else { return }
            let bottom = top + boxHeight - 2
            if scene.isApart {
                let text = ["out of range", "away"].first { $0.count + 4 <= room } ?? ""
                canvas.draw(text, column: start + (room - text.count) / 2, line: bottom, style: .yellow)
            } else {
                let dots = (0..<room).map { $0.isMultiple(of: 2) ? glyphs.link : " " }.joined()
                canvas.draw(dots, column: start, line: bottom, style: .faint)
            }
            for packet in scene.packets {
                let isFromPhone = packet.from == .phone
                // While the devices are disconnected, a packet stays at its sender.
                let passed =
                    scene.isApart ? 0 : Int((Double(room - 1) * scene.progress(since: packet.sentAt)).rounded())
                canvas.draw(
                    glyphs.packet, column: start + (isFromPhone ? passed : room - 1 - passed), line: bottom,
                    style: isFromPhone ? .blue : .magenta)
            }
            for message in scene.messages { draw(message, start: start, room: room, line: top + 1 + message.line) }
        }

        private mutating func draw(_ message: LiveScene.Message, start: Int, room: Int, line: Int) {
            let isFromPhone = message.from == .phone
            let whole = isFromPhone ? "\(message.name) \(glyphs.right)" : "\(glyphs.left) \(message.name)"
            let text = whole.terminalColumns <= room ? whole : isFromPhone ? glyphs.right : glyphs.left
            let way = max(0, room - text.terminalColumns)
            let passed = message.isHeld ? 0 : Int((Double(way) * scene.progress(since: message.sentAt)).rounded())
            canvas.draw(
                text, column: start + (isFromPhone ? passed : way - passed), line: line,
                style: message.isHeld ? .yellow : isFromPhone ? .blue : .magenta)
        }

        // MARK: Remarks and the result

        private mutating func drawEnd(_ line: Int) -> Int {
            guard let agrees = scene.agrees else { return line }
            var line = canvas.height > line + 3 ? line + 1 : line
            for actor in ReplayPlan.Actor.allCases {
                guard let digest = scene.summaries[actor]?.digest else { continue }
                canvas.draw(
                    "\(actor.rawValue) \(digest)", column: 0, line: line, style: actor == .phone ? .blue : .magenta)
                line += 1
            }
            write(
                agrees
                    ? ["Equal", "one state on both devices", "and the same samples"]
                    : ["Not equal", "the devices ended with different workouts"],
                line, style: agrees ? .green : .yellow)
            return line + 1
        }

        private mutating func drawRemarks(_ line: Int) {
            let room = canvas.height - line - 1
            guard room > 0 else { return }
            for (index, remark) in scene.remarks.suffix(min(room, 8)).enumerated() {
                let seconds = Int(remark.at / .seconds(1))
                let clock = String(format: "%3d s  ", seconds)
                let text = remark.parts.fitted(to: width - clock.count, separator: ", ")
                canvas.draw(clock + text, column: 0, line: line + 1 + index, style: .faint)
            }
        }

        private mutating func write(_ parts: [String], _ line: Int, style: Canvas.Style = .bold) {
            canvas.draw(parts.fitted(to: width, separator: glyphs.separator), column: 0, line: line, style: style)
        }
    }
#endif
