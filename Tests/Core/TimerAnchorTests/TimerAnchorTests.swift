import Foundation
import MeshTimerAnchor
import Testing

private let start = Date(timeIntervalSince1970: 1_000)
private func at(_ seconds: TimeInterval) -> Date { start.addingTimeInterval(seconds) }

@Suite struct TimerAnchorTests {
    @Test func `The memberwise initializer keeps the reference's order`() {
        let anchor = SessionTimerAnchor(
            startedAt: start, accumulatedElapsedBeforeAnchor: 5, pauseStartedAt: nil, isPaused: false,
            expectedEndAt: at(60), stepStartedAt: at(10))
        #expect(anchor.elapsed(at: at(3)) == 8)
        #expect(anchor.remaining(at: at(3)) == 57)
        #expect(anchor.stepElapsed(at: at(13)) == 3)
        #expect(anchor.finishedAt == nil)
    }

    @Test func `A running timer counts from its anchor and never backwards`() {
        let timer = SessionTimerAnchor.start(at: start)
        #expect(timer.elapsed(at: at(10)) == 10)
        #expect(timer.elapsed(at: at(-10)) == 0)
        #expect(timer.remaining(at: at(10)) == nil)
        #expect(timer.stepElapsed(at: at(10)) == nil)
        #expect(timer.phase == .running)
    }

    @Test func `A pause accumulates, a resume rebases and moves the expected end`() {
        var timer = SessionTimerAnchor.start(at: start, duration: 100)
        timer.step(at: at(10))
        timer.pause(at: at(30))
        #expect(timer.phase == .paused)
        #expect(timer.elapsed(at: at(90)) == 30)
        #expect(timer.stepElapsed(at: at(90)) == 20)
        #expect(timer.remaining(at: at(90)) == 70)
        timer.resume(at: at(50))
        #expect(timer.phase == .running)
        #expect(timer.startedAt == at(50))
        #expect(timer.stepStartedAt == at(30))
        #expect(timer.expectedEndAt == at(120))
        #expect(timer.elapsed(at: at(60)) == 40)
        #expect(timer.stepElapsed(at: at(60)) == 30)
        #expect(timer.remaining(at: at(60)) == 60)
    }

    @Test func `A second pause, and a resume while running, change nothing`() {
        var timer = SessionTimerAnchor.start(at: start, duration: 100)
        timer.pause(at: at(10))
        let paused = timer
        timer.pause(at: at(20))
        #expect(timer == paused)
        timer.resume(at: at(30))
        let running = timer
        timer.resume(at: at(40))
        #expect(timer == running)
    }

    @Test func `A step taken while paused begins at the pause and has lasted nothing`() {
        var timer = SessionTimerAnchor.start(at: start)
        timer.pause(at: at(10))
        timer.step(at: at(15))
        #expect(timer.stepElapsed(at: at(18)) == 0)
        timer.resume(at: at(20))
        #expect(timer.stepElapsed(at: at(26)) == 6)
    }

    @Test func `A finish freezes everything for good`() {
        var timer = SessionTimerAnchor.start(at: start, duration: 100)
        timer.step(at: at(5))
        timer.finish(at: at(40))
        let finished = timer
        #expect(timer.phase == .finished)
        for seconds in [40, 50, 5000] as [TimeInterval] {
            #expect(timer.elapsed(at: at(seconds)) == 40)
            #expect(timer.stepElapsed(at: at(seconds)) == 35)
            #expect(timer.remaining(at: at(seconds)) == 60)
        }
        timer.pause(at: at(50))
        timer.resume(at: at(60))
        timer.step(at: at(70))
        timer.finish(at: at(80))
        #expect(timer == finished)
    }

    @Test func `A finish while paused counts up to the pause`() {
        var timer = SessionTimerAnchor.start(at: start)
        timer.step(at: at(10))
        timer.pause(at: at(30))
        timer.finish(at: at(90))
        #expect(timer.elapsed(at: at(100)) == 30)
        #expect(timer.stepElapsed(at: at(100)) == 20)
        #expect(timer.finishedAt == at(30))
    }

    @Test func `An anchor survives JSON, with and without a finish`() throws {
        var timer = SessionTimerAnchor.start(at: start, duration: 5)
        for _ in 0..<2 {
            let data = try JSONEncoder().encode(timer)
            #expect(try JSONDecoder().decode(SessionTimerAnchor.self, from: data) == timer)
            timer.finish(at: at(3))
        }
        let reference = """
            {"startedAt": 0, "accumulatedElapsedBeforeAnchor": 1, "isPaused": false}
            """
        let anchor = try JSONDecoder().decode(SessionTimerAnchor.self, from: Data(reference.utf8))
        #expect(anchor.finishedAt == nil)
    }
}

/// Compares every sequence of seven transitions, a second apart, with a plain count of the seconds.
@Suite struct TimerAnchorModelTests {
    enum Transition: CaseIterable {
        case pause, resume, step, finish, wait
    }

    /// Counts second by second the values that the anchor derives.
    struct Recount {
        var elapsed = 0.0
        var step: Double?
        var end = 100.0
        var isPaused = false
        var isFinished = false

        mutating func apply(_ transition: Transition) {
            guard !isFinished else { return }
            switch transition {
            case .pause: isPaused = true
            case .resume: isPaused = false
            case .step: step = 0
            case .finish: (isFinished, isPaused) = (true, true)
            case .wait: break
            }
        }

        mutating func secondPasses() {
            if isPaused { return }
            elapsed += 1
            step = step.map { $0 + 1 }
            end -= 1
        }
    }

    @Test func `Anchors agree with counting seconds, whatever happens`() {
        let all = Transition.allCases
        let length = 7
        for sequence in 0..<Int(pow(Double(all.count), Double(length))) {
            var rest = sequence
            var timer = SessionTimerAnchor.start(at: start, duration: 100)
            var recount = Recount()
            for second in 1...length {
                let transition = all[rest % all.count]
                rest /= all.count
                recount.secondPasses()
                let moment = at(Double(second))
                timer.apply(transition, at: moment)
                recount.apply(transition)
                let agrees =
                    timer.elapsed(at: moment) == recount.elapsed && timer.stepElapsed(at: moment) == recount.step
                    && timer.remaining(at: moment) == recount.end
                guard agrees else {
                    Issue.record("sequence \(sequence), second \(second): \(timer) against \(recount)")
                    return
                }
            }
        }
    }

    /// Every sequence of three transitions with moments in any order: skewed clocks and late events.
    @Test func `Nothing is ever negative or shrinks, even when moments come out of order`() {
        let moments: [TimeInterval] = [-3, 0, 2, 7]
        let choices = moments.count * Transition.allCases.count
        for sequence in 0..<(choices * choices * choices) {
            var rest = sequence
            var timer = SessionTimerAnchor.start(at: start, duration: 5)
            for _ in 0..<3 {
                timer.apply(Transition.allCases[rest % 5], at: at(moments[rest / 5 % 4]))
                rest /= choices
            }
            var earlier = 0.0
            for second in -5...12 {
                let moment = at(Double(second))
                let elapsed = timer.elapsed(at: moment)
                let others = [timer.stepElapsed(at: moment), timer.remaining(at: moment)].compactMap { $0 }
                guard elapsed >= earlier, others.allSatisfy({ $0 >= 0 }) else {
                    Issue.record("sequence \(sequence), second \(second): \(timer)")
                    return
                }
                earlier = elapsed
            }
        }
    }
}

extension SessionTimerAnchor {
    fileprivate mutating func apply(_ transition: TimerAnchorModelTests.Transition, at moment: Date) {
        switch transition {
        case .pause: pause(at: moment)
        case .resume: resume(at: moment)
        case .step: step(at: moment)
        case .finish: finish(at: moment)
        case .wait: break
        }
    }
}
