import Foundation
import MeshIdentity
import MeshTimerAnchor
import Testing

@testable import MeshEngine

/// One test for each fault of the reference libraries that the engine fixes. A scenario returns true if all is well.
/// It must do so with our rules, and not with the reference's.
@Suite struct FaultTests {
    private func expect(_ ours: Bool, _ reference: Bool) {
        #expect(ours)
        #expect(!reference, "the scenario doesn't trigger the fault")
    }

    @Test func `M1 concurrent events have one order on every device`() {
        func isWell<D: Device>(_: D.Type) -> Bool {
            var phone = D("phone")
            var watch = D("watch")
            let fromPhone = phone.tap("pause", at: noon)
            let fromWatch = watch.tap("lap", at: noon)
            phone.hear(fromWatch)
            watch.hear(fromPhone)
            return phone.state == watch.state && phone.state.count == 2
        }
        expect(isWell(MeshDevice.self), isWell(ReferenceDevice.self))
    }

    @Test func `M2 the policy judges local events too`() {
        func isWell<D: Device>(_: D.Type) -> Bool {
            var phone = D("phone")
            var watch = D("watch")
            for _ in 0..<2 { watch.hear(phone.tap("lap", at: noon)) }
            return phone.state == ["lap"] && watch.state == ["lap"]
        }
        expect(isWell(MeshDevice.self), isWell(ReferenceDevice.self))
    }

    @Test func `M3 a snapshot doesn't undo a tap in flight`() {
        func isWell<D: Device>(_: D.Type) -> Bool {
            var phone = D("phone")
            var watch = D("watch")
            phone.hear(watch.tap("start", at: noon))
            let underWay = phone.tap("pause", at: noon + 1)
            _ = watch.snapshot()
            phone.hear(watch.snapshot())
            watch.hear(underWay)
            return phone.state == ["start", "pause"] && watch.state == phone.state
        }
        expect(isWell(MeshDevice.self), isWell(ReferenceDevice.self))
    }

    @Test func `M4 equal revisions do not keep two devices apart`() {
        func isWell<D: Device>(_: D.Type) -> Bool {
            var phone = D("phone")
            var watch = D("watch")
            let lost = [phone.tap("phone", at: noon), watch.tap("watch", at: noon)]
            #expect(lost.count == 2)
            for _ in 0..<3 {
                let ofPhone = phone.snapshot()
                let ofWatch = watch.snapshot()
                phone.hear(ofWatch)
                watch.hear(ofPhone)
            }
            return phone.state == watch.state && phone.state.count == 2
        }
        expect(isWell(MeshDevice.self), isWell(ReferenceDevice.self))
    }

    @Test func `M5 the higher revision of the busier device does not wipe an edit`() {
        func isWell<D: Device>(_: D.Type) -> Bool {
            var phone = D("phone")
            var watch = D("watch")
            _ = phone.tap("start", at: noon)
            for _ in 0..<9 { _ = phone.snapshot() }
            _ = watch.tap("edit", at: noon + 60)
            watch.hear(phone.snapshot())
            return Set(watch.state) == ["start", "edit"]
        }
        expect(isWell(MeshDevice.self), isWell(ReferenceDevice.self))
    }

    @Test func `M6 pause works after the watch app was relaunched`() {
        func isWell<D: Device>(_: D.Type) -> Bool {
            var phone = D("phone")
            var watch = D("watch", incarnation: 1)
            phone.hear(watch.tap("start", at: noon))
            watch = D("watch", incarnation: 2)
            phone.hear(watch.tap("pause", at: noon + 10))
            return phone.state == ["start", "pause"]
        }
        expect(isWell(MeshDevice.self), isWell(ReferenceDevice.self))
    }

    @Test func `M7 a message that overtakes another costs no snapshot`() {
        func isWell<D: Device>(_: D.Type) -> Bool {
            var phone = D("phone")
            var watch = D("watch")
            let events = (1...6).map { phone.tap("\($0)", at: noon + Double($0)) }
            for index in [1, 0, 5, 4, 3, 2] { watch.hear(events[index]) }
            return watch.state == phone.state
        }
        expect(isWell(MeshDevice.self), isWell(ReferenceDevice.self))
    }

    @Test func `M8 a lost heart-rate sample is no gap`() {
        func isWell<D: Device>(_: D.Type) -> Bool {
            var phone = D("phone")
            var watch = D("watch")
            watch.sample(140, at: noon)
            phone.hear(watch.tap("pause", at: noon + 1))
            return phone.state.contains("pause")
        }
        expect(isWell(MeshDevice.self), isWell(ReferenceDevice.self))
    }

    @Test func `M9 detecting duplicates takes bounded memory`() throws {
        var pair = try EnginePair.joined()
        var reference = (ReferenceDevice("phone"), ReferenceDevice("watch"))
        for number in 0..<2000 {
            let event = "\(number)"
            _ = try pair.watch.receive(pair.phone.submitLocal(event, at: pair.now))
            reference.1.hear(reference.0.tap(event, at: noon))
            if number.isMultiple(of: 20) { try pair.exchange() }
        }
        try pair.exchange()
        try pair.exchange()
        for engine in [pair.phone, pair.watch] {
            #expect(engine.state.count == 2000)
            #expect(engine.logCount + engine.log.current.recentEventIDs.count < 100)
        }
        #expect(reference.1.bookkeeping == 2000, "the scenario doesn't trigger the fault")
    }

    @Test func `M10 two skewed clocks show the same elapsed time within the stated error`() throws {
        let skew = 47.0
        var pair = try EnginePair.joined(watchAheadSeconds: skew)
        try pair.exchange(latencySeconds: (0.02, 0.3))
        let estimate = try #require(pair.phone.clockOffset(of: "watch"))
        #expect(abs(estimate.offsetSeconds - skew) <= estimate.errorSeconds)
        #expect(estimate.errorSeconds <= 0.17)
        // Started on the watch, shown on the phone 10 seconds later.
        let started = SessionTimerAnchor.start(at: pair.now + skew)
        let shown = SessionTimerAnchor.start(at: estimate.local(started.startedAt)).elapsed(at: pair.now + 10)
        #expect(abs(shown - 10) <= estimate.errorSeconds)
        #expect(started.elapsed(at: pair.now + 10) == 0, "the scenario doesn't trigger the fault")
    }

    @Test func `M12 a state that the system kept doesn't revive an ended session`() {
        func isWell<D: Device>(_: D.Type) -> Bool {
            var phone = D("phone")
            var watch = D("watch")
            _ = phone.tap("start", at: noon)
            let retained = phone.snapshot()
            watch.hear(phone.tap("end", at: noon + 1))
            watch.endSession()
            let ended = watch.state
            watch.hear(retained)
            return watch.state == ended
        }
        expect(isWell(MeshDevice.self), isWell(ReferenceDevice.self))
    }

    @Test func `M12 tombstones reject ended sessions and forget the oldest first`() {
        var tombstones = SessionTombstones()
        let first = UUID()
        tombstones.insert(first)
        #expect(tombstones.contains(first))
        for _ in 0..<SessionTombstones.countMax { tombstones.insert(UUID()) }
        #expect(!tombstones.contains(first))
        #expect(tombstones.sessionIDs.count == SessionTombstones.countMax)
    }

    @Test func `M13 an event of a newer version does not stop what comes after it`() {
        func isWell<D: Device>(_: D.Type) -> Bool {
            var phone = D("phone")
            var watch = D("watch")
            var newer = phone.tap("newer", at: noon)
            newer.metadata.payloadType = "list.event/2"
            watch.hearUnknown(newer.metadata)
            watch.hear(phone.tap("pause", at: noon + 1))
            return watch.state == ["pause"]
        }
        expect(isWell(MeshDevice.self), isWell(ReferenceDevice.self))
    }

    @Test func `M17 the event after a snapshot is applied`() {
        func isWell<D: Device>(_: D.Type) -> Bool {
            var phone = D("phone")
            var watch = D("watch")
            for event in ["start", "lap"] { _ = phone.tap(event, at: noon) }
            watch.hear(phone.snapshot())
            watch.hear(phone.tap("pause", at: noon + 1))
            return watch.state == ["start", "lap", "pause"]
        }
        expect(isWell(MeshDevice.self), isWell(ReferenceDevice.self))
    }

    @Test func `M19 phase and time cannot contradict each other`() {
        // Our phase is derived from the anchor. The reference stores it separately and accepts any value.
        struct Stored { var phase = "running", anchor = SessionTimerAnchor.start(at: noon) }
        func isWell(_ phase: String, _ anchor: SessionTimerAnchor) -> Bool { (phase == "running") == !anchor.isPaused }

        let pause = ("pause", noon + 10)
        let resume = ("resume", noon + 9)
        var stored = Stored()
        var derived = MeshDevice("phone")
        var other = MeshDevice("watch")
        for (event, moment) in [pause, resume] {
            stored.phase = event == "pause" ? "paused" : "running"
            if event == "pause" { stored.anchor.pause(at: moment) }
            if event == "resume", moment >= stored.anchor.pauseStartedAt ?? .distantPast {
                stored.anchor.resume(at: moment)
            }
            other.hear(derived.tap(event, at: moment))
        }
        func anchor(_ device: MeshDevice) -> SessionTimerAnchor {
            var anchor = SessionTimerAnchor.start(at: noon)
            for event in device.state { event == "pause" ? anchor.pause(at: pause.1) : anchor.resume(at: pause.1) }
            return anchor
        }
        for device in [derived, other] {
            let anchor = anchor(device)
            #expect(isWell(anchor.isPaused ? "paused" : "running", anchor))
        }
        #expect(anchor(derived) == anchor(other))
        #expect(!isWell(stored.phase, stored.anchor), "the scenario doesn't trigger the fault")
    }
}
