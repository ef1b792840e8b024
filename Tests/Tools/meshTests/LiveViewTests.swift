#if CommandLineTools
    import Foundation
    import MeshToolOutput
    import Testing
    import WorkoutExample

    @testable import mesh

    @Suite("The live view of a replay")
    struct LiveViewTests {
        private func device(laps: Int, samples: Int, held: UInt64, phase: WorkoutPhase = .running) -> LiveDevice {
            LiveDevice(
                phase: phase, elapsedSeconds: 754, laps: laps, metres: 2_041, heartRate: 148, samples: samples,
                held: held)
        }

        private func summary(_ name: String, digest: String = String(repeating: "0123456789abcdef", count: 2))
            -> PeerSummary
        {
            PeerSummary(
                name: name, digest: digest, trackDigest: "track", samples: 543, events: 9, submitted: 5, applied: 4,
                duplicates: 0, ignored: 0, late: 0, confirmed: 9, resent: 0, copies: 0, gaps: 0, snapshots: 1,
                snapshotsSent: 0, snapshotRequests: 0, sendFailures: 0, bytesRaw: 1, bytesOnWire: 1, seconds: 20,
                wakeups: 1)
        }

        /// A scene in which both apps play, and the phone's lap is halfway to the watch.
        private var scene: LiveScene {
            var scene = LiveScene(title: "Built-in run at 60 times its speed", delay: .milliseconds(400))
            scene.join(.phone)
            scene.take(.state(device(laps: 1, samples: 300, held: 0)), from: .phone)
            scene.pass(to: .seconds(3))
            scene.join(.watch)
            scene.take(.state(device(laps: 1, samples: 290, held: 2)), from: .watch)
            scene.pass(to: .seconds(5))
            scene.take(.tapped("lap", number: 3), from: .phone)
            scene.pass(to: .milliseconds(5_200))
            return scene
        }

        private func lines(
            _ scene: LiveScene, _ width: Int, _ height: Int, _ glyphs: LiveDrawing.Glyphs = .unicode
        ) -> [String] {
            LiveDrawing.canvas(of: scene, width: width, height: height, glyphs: glyphs).lines
        }

        @Test func `At 80 columns labels precede their values, and a tap is at its place`() {
            #expect(
                lines(scene, 80, 18).joined(separator: "\n") == """
                    Built-in run at 60 times its speed · each message takes 400 ms

                    ┌─ phone ──────────────┐                                ┌─ watch ──────────────┐
                    │ elapsed        12:34 │              lap ▶             │ elapsed        12:34 │
                    │ running              │                                │ running              │
                    │ laps               1 │                                │ laps               1 │
                    │ distance     2.04 km │                                │ distance     2.04 km │
                    │ heart rate   148 bpm │                                │ heart rate   148 bpm │
                    │ samples          300 │                                │ samples          290 │
                    │ 1 tap on the way     │ · · · · · · · · · · · · · · ·  │ all taps arrived     │
                    └──────────────────────┘                                └──────────────────────┘

                      0 s  phone starts, a process of its own
                      3 s  watch starts, a process of its own, and catches up from the phone
                      5 s  phone: lap, shown at once, on its way to the watch



                    """)
        }

        @Test func `At 40 columns labels drop, and no number is cut`() {
            #expect(
                lines(scene, 40, 14).joined(separator: "\n") == """
                    Built-in run at 60 times its speed

                    ┌─ phone ──────┐        ┌─ watch ──────┐
                    │ 12:34        │  lap ▶ │ 12:34        │
                    │ running      │        │ running      │
                    │ laps       1 │        │ laps       1 │
                    │ 2.04 km      │        │ 2.04 km      │
                    │ 148 bpm      │        │ 148 bpm      │
                    │ samples  300 │        │ samples  290 │
                    │ 1 sent       │ · · ·  │ all arrived  │
                    └──────────────┘        └──────────────┘

                      3 s  watch starts
                      5 s  phone: lap, shown at once
                    """)
        }

        @Test func `Out of range taps wait at their devices, and then set out`() {
            var scene = scene
            scene.take(.state(device(laps: 2, samples: 320, held: 1)), from: .watch)
            scene.take(.state(device(laps: 2, samples: 300, held: 3)), from: .watch)
            scene.reach(isApart: true)
            scene.pass(to: .seconds(6))
            scene.take(.tapped("lap", number: 4), from: .phone)
            scene.take(.tapped("pause", number: 1), from: .watch)
            scene.pass(to: .seconds(9))
            #expect(scene.messages.map(\.isHeld) == [true, true])
            #expect(
                lines(scene, 80, 20).joined(separator: "\n") == """
                    Built-in run at 60 times its speed · each message takes 400 ms

                    ┌─ phone ──────────────┐                                ┌─ watch ──────────────┐
                    │ elapsed        12:34 │ lap ▶                          │ elapsed        12:34 │
                    │ running              │                        ◀ pause │ running              │
                    │ laps               1 │                                │ laps               2 │
                    │ distance     2.04 km │                                │ distance     2.04 km │
                    │ heart rate   148 bpm │                                │ heart rate   148 bpm │
                    │ samples          300 │                                │ samples          300 │
                    │ 1 tap waiting        │          out of range          │ 1 tap waiting        │
                    └──────────────────────┘                                └──────────────────────┘

                      0 s  phone starts, a process of its own
                      3 s  watch starts, a process of its own, and catches up from the phone
                      5 s  phone: lap, shown at once, on its way to the watch
                      5 s  watch has it: lap
                      5 s  out of range, taps work on both sides, and wait
                      6 s  phone: lap, shown at once, waits
                      6 s  watch: pause, shown at once, waits

                    """)
            scene.reach(isApart: false)
            #expect(scene.messages.map(\.sentAt) == [.seconds(9), .seconds(9)])
            scene.take(.state(device(laps: 3, samples: 360, held: 4)), from: .watch)
            scene.take(.state(device(laps: 3, samples: 360, held: 1, phase: .paused)), from: .phone)
            #expect(scene.messages.isEmpty)
        }

        @Test func `The end says in words whether both are equal, with both digests`() {
            var scene = scene
            scene.take(.finished(summary: summary("phone")), from: .phone)
            #expect(scene.agrees == nil)
            scene.take(.finished(summary: summary("watch")), from: .watch)
            #expect(scene.agrees == true)
            #expect(
                lines(scene, 100, 30)[12...14] == [
                    "phone 0123456789abcdef0123456789abcdef",
                    "watch 0123456789abcdef0123456789abcdef",
                    "Equal · one state on both devices · and the same samples",
                ])
            #expect(lines(scene, 40, 30)[14] == "Equal · one state on both devices")
            scene.take(.finished(summary: summary("watch", digest: "other")), from: .watch)
            #expect(scene.agrees == false)
            #expect(lines(scene, 100, 30)[14] == "Not equal · the devices ended with different workouts")
        }

        @Test("Nothing exceeds the terminal, and every number is whole", arguments: 40...200)
        func sizes(width: Int) {
            for height in [10, 12, 24, 60] {
                for glyphs in [LiveDrawing.Glyphs.unicode, .ascii] {
                    let drawn = lines(scene, width, height, glyphs)
                    #expect(drawn.count == height)
                    #expect(drawn.allSatisfy { $0.terminalColumns <= width })
                    for value in ["12:34", "2.04 km", "148 bpm"] {
                        #expect(
                            drawn.count { $0.components(separatedBy: value).count == 3 } == 1, "\(value) at \(width)")
                    }
                    #expect(drawn.contains { $0.contains("300") && $0.contains("290") })
                    if glyphs.down == "|" { #expect(drawn.allSatisfy { $0.allSatisfy(\.isASCII) }) }
                }
            }
        }

        @Test func `Without UTF-8 in the locale the view is plain ASCII`() {
            #expect(LiveScreen.glyphs(for: ["LANG": "de_AT.UTF-8"]).down == "│")
            #expect(LiveScreen.glyphs(for: ["LANG": "C.utf8"]).down == "│")
            #expect(LiveScreen.glyphs(for: ["LANG": "de_AT.UTF-8", "LC_ALL": "C"]).down == "|")
            #expect(LiveScreen.glyphs(for: [:]).down == "|")
        }

        @Test func `A canvas uses styles only if colors are enabled, and cuts no wide character`() {
            var canvas = Canvas(width: 6, height: 2)
            canvas.draw("時計時計", column: 1, line: 0)
            canvas.draw("ab\u{1B}", column: -1, line: 1, style: .green)
            canvas.draw("z", column: 0, line: 2)
            #expect(canvas.lines == [" 時計", "b\\u{1B"])
            #expect(canvas.lines(isColoured: true)[1] == "\u{1B}[0;32mb\\u{1B\u{1B}[0m")
        }

        @Test func `Devices are out of range from when both play alone until a moment after both have tapped`() {
            var reach = LiveReach()
            reach.take(isApart: true, from: .phone, at: .seconds(1))
            #expect(!reach.isApart)
            reach.take(isApart: true, from: .watch, at: .seconds(2))
            #expect(reach.isApart)
            reach.take(isApart: false, from: .phone, at: .seconds(3))
            reach.take(isApart: false, from: .watch, at: .seconds(4))
            #expect(reach.isApart)
            reach.pass(to: .seconds(4) + LiveReach.pause)
            #expect(!reach.isApart)
            reach.take(isApart: true, from: .phone, at: .seconds(7))
            reach.take(isApart: true, from: .watch, at: .seconds(7))
            #expect(!reach.isApart)
        }

        @Test func `Devices that don't tap are in range again before one considers the other gone`() {
            var reach = LiveReach()
            for actor in ReplayPlan.Actor.allCases { reach.take(isApart: true, from: actor, at: .zero) }
            reach.pass(to: LiveReach.apartMax - .milliseconds(1))
            #expect(reach.isApart)
            reach.pass(to: LiveReach.apartMax)
            #expect(!reach.isApart)
        }

        @Test func `Bytes through a slowed pipe arrive whole and late, and wait while it is held`() async throws {
            let (input, output) = (Pipe(), Pipe())
            let pipe = try SlowedPipe(
                from: input.fileHandleForReading, to: output.fileHandleForWriting, delay: .milliseconds(50))
            pipe.hold(true)
            let started = ContinuousClock.now
            try input.fileHandleForWriting.write(contentsOf: Data("one ".utf8))
            try await Task.sleep(for: .milliseconds(200))
            pipe.hold(false)
            try input.fileHandleForWriting.write(contentsOf: Data("two".utf8))
            try input.fileHandleForWriting.close()
            let text = try await Task.detached { try output.fileHandleForReading.readToEnd() }.value
            #expect(text == Data("one two".utf8))
            #expect(ContinuousClock.now - started >= .milliseconds(250))
        }
    }
#endif
