import Foundation
import MeshTimerAnchor
import Testing

/// A reading depends on the anchor and the moment, and on nothing else.
@Suite struct TimerReadingTests {
    private let start = Date(timeIntervalSince1970: 1_767_225_600)

    private func at(_ seconds: TimeInterval) -> Date { start.addingTimeInterval(seconds) }

    @Test func `phase and times of a reading agree, whatever came before`() {
        // Four taps in every order, with repeats: 4^4.
        let taps: [(inout SessionTimerAnchor, Date) -> Void] = [
            { $0.pause(at: $1) }, { $0.resume(at: $1) }, { $0.step(at: $1) }, { $0.finish(at: $1) },
        ]
        for order in 0..<256 {
            var anchor = SessionTimerAnchor.start(at: start, duration: 3)
            for place in 0..<4 { taps[order >> (2 * place) & 3](&anchor, at(Double(place + 1))) }
            let (now, later) = (anchor.reading(at: at(10), errorSeconds: 0.5), anchor.reading(at: at(11)))
            #expect(now.elapsed == anchor.elapsed(at: at(10)))
            #expect(now.remaining == anchor.remaining(at: at(10)))
            #expect(now.stepElapsed == anchor.stepElapsed(at: at(10)))
            #expect((later.elapsed > now.elapsed) == (now.phase == .running), "order \(order)")
            #expect(now.isOverdue == (now.phase == .running && now.remaining == 0), "order \(order)")
            #expect(now.errorSeconds == (now.phase == .running ? 0.5 : 0), "order \(order)")
        }
    }

    @Test func `an error that is not known is not stated`() {
        let anchor = SessionTimerAnchor.start(at: start)
        #expect(anchor.reading(at: at(1), errorSeconds: nil).errorSeconds == nil)
        #expect(anchor.reading(at: at(1)).errorSeconds == 0)
        #expect(anchor.reading(at: at(1)).remaining == nil)
    }
}
