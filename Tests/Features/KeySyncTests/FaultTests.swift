import Foundation
import MeshBrokenRules
import MeshIdentity
import MeshRegister
import Testing

@testable import MeshKeySync

/// A promise from Requirements, part 5, L, and the mutation that breaks it.
struct KeyPromise: Sendable, CustomTestStringConvertible {
    let name: String
    let mutation: KeyMutation
    let holds: @Sendable () -> Bool

    var testDescription: String { name }

    static let all: [KeyPromise] = [
        KeyPromise(name: "L1: the watch's edit reaches the phone", mutation: .oneWay) {
            var world = KeyWorld()
            world.meetAndSettle()
            world.set("watch", "a", "1")
            world.settle()
            world.set("phone", "b", "2")
            world.settle()
            return world.text("phone", "a") == "1" && world.text("watch", "b") == "2"
        },
        KeyPromise(name: "L2: a key removed while the peer was away stays removed", mutation: .noTombstones) {
            var world = KeyWorld()
            world.set("phone", "a", "1")
            world.meetAndSettle()
            world.replicas["phone"]?.lose("watch")
            world.set("phone", "a", nil)
            world.meetAndSettle()
            return world.text("phone", "a") == nil && world.text("watch", "a") == nil
        },
        KeyPromise(name: "L2: a relaunch remembers peers that haven't learned of a removal", mutation: .forgetsPeers) {
            var world = KeyWorld()
            world.meetAndSettle()
            for index in 0..<2 * KeyLimits.removedMax {
                let key = "removed.\(index)"
                world.set("phone", key, "1")
                world.set("phone", key, nil)
            }
            world.replicas["phone"]?.meet("tablet")
            world.replicas["phone"]?.lose("tablet")
            world.launch("phone")
            world.meetAndSettle()
            return world.replicas["phone"]?.entries.count == 2 * KeyLimits.removedMax
        },
        KeyPromise(
            name: "L6: a large value continues after a relaunch with the missing pieces", mutation: .forgetsPieces
        ) {
            var world = KeyWorld(rules: ["large": KeyRule()], messageBytes: 1000, maxAutoSyncSize: 1 << 20)
            world.meetAndSettle()
            world.set("phone", "large", String(repeating: "x", count: 5000))
            for _ in 0..<20 { world.deliver(0) }
            world.packets = []
            for id in ["watch", "phone"] { world.launch(id) }
            for id in ["watch", "phone"] { world.meet(id) }
            var bytes = 0
            while !world.packets.isEmpty {
                bytes += world.packets[0].message.piece?.bytes.count ?? 0
                world.deliver(0)
            }
            return world.text("watch", "large")?.utf8.count == 5000 && bytes < 4000
        },
        KeyPromise(name: "L3: an older value that arrives late changes nothing", mutation: .arrivalOrder) {
            var world = KeyWorld()
            world.meetAndSettle()
            world.set("phone", "a", "old")
            world.set("phone", "a", "new")
            world.deliver(1)
            world.deliver(0)
            return world.text("watch", "a") == "new"
        },
        KeyPromise(name: "L4: identical content is answered again", mutation: .sameNonce) {
            var world = KeyWorld()
            world.dropsIdentical = true
            world.meet("watch")
            world.deliverAll()
            world.meet("watch")
            world.deliverAll()
            return world.replicas["watch"]?.peers["phone"]?.awaitsAnswer == false
        },
        KeyPromise(name: "L5: many reasons to ask are one request", mutation: .asksAlways) {
            var world = KeyWorld()
            for _ in 0..<10 { world.meet("watch") }
            return world.packets.count { $0.message.digests != nil } == 1
        },
        KeyPromise(name: "L6: one large key does not block the others", mutation: .largeBlocks) {
            let large = KeyRule(priority: 9)
            var world = KeyWorld(rules: ["large": large], messageBytes: 1000)
            world.set("phone", "large", String(repeating: "x", count: 2000))
            world.set("phone", "a", "1")
            for index in 0..<40 {
                world.rules["k\(index)"] = KeyRule()
                world.register("phone")
                world.set("phone", "k\(index)", String(repeating: "y", count: 200))
            }
            world.register("watch")
            world.meetAndSettle()
            return world.text("watch", "a") == "1" && (0..<40).allSatisfy { world.text("watch", "k\($0)") != nil }
                && world.text("watch", "large")?.utf8.count == 2000
        },
        KeyPromise(name: "L7: each key reports why it isn't sent", mutation: .silentErrors) {
            let rules = ["large": KeyRule(), "here": KeyRule(availability: .phoneOnly)]
            var world = KeyWorld(rules: rules, maxAutoSyncSize: 1000)
            world.set("phone", "large", String(repeating: "x", count: 2000))
            world.set("phone", "here", "1")
            world.set("phone", "a", "1")
            let before = world.replicas["phone"]?.status(of: "a")
            world.meetAndSettle()
            guard case .tooLarge(_, limit: 1000) = world.replicas["phone"]?.status(of: "large"),
                case .refused = world.replicas["phone"]?.status(of: "here")
            else { return false }
            return before == .pending && world.replicas["phone"]?.status(of: "a") == .synced
        },
        KeyPromise(name: "L8: a manual key does not send itself", mutation: .manualIsAutomatic) {
            var world = KeyWorld(rules: ["m": KeyRule(policy: .manual)])
            world.meetAndSettle()
            world.set("phone", "m", "1")
            world.settle()
            guard world.text("watch", "m") == nil else { return false }
            world.replicas["phone"]?.send(["m"])
            world.post("phone")
            world.settle()
            return world.text("watch", "m") == "1"
        },
        KeyPromise(name: "L9: either side first, and a relaunch, without a call of the app's", mutation: .onlyAppAsks) {
            ["phone", "watch"].allSatisfy { first in
                var world = KeyWorld()
                world.set("phone", "a", "1")
                world.meet(first)
                world.settle()
                world.launch(KeyWorld.other(first), losingStore: first == "phone")
                world.meet(KeyWorld.other(first))
                world.settle()
                return world.text("watch", "a") == "1" && world.text("phone", "a") == "1"
            }
        },
        KeyPromise(name: "L10: keys set together arrive together", mutation: .lastKeyOnly) {
            var world = KeyWorld()
            world.set("phone", "a", "1")
            world.set("phone", "b", "2")
            world.meet("watch")
            world.deliverAll()
            return world.text("watch", "a") == "1" && world.text("watch", "b") == "2"
        },
        KeyPromise(name: "L11: secured keys need the app's permission and an encrypted link", mutation: .securedLeaves)
        {
            func arrives(shared: Bool, secured: Bool) -> Bool {
                var world = KeyWorld(rules: ["s": KeyRule(isSecured: true, sharesSecured: shared)])
                for id in world.replicas.keys { world.replicas[id]?.isLinkSecured = secured }
                world.set("phone", "s", "secret")
                world.meetAndSettle()
                world.replicas["phone"]?.send(["s"], overridingPolicy: true)
                world.post("phone")
                world.settle()
                return world.text("watch", "s") != nil
            }
            return arrives(shared: true, secured: true) && !arrives(shared: false, secured: true)
                && !arrives(shared: true, secured: false)
        },
    ]
}

@Suite("Faults of key sync")
struct FaultTests {
    @Test("The rule holds", arguments: KeyPromise.all)
    func isKept(_ promise: KeyPromise) { #expect(promise.holds()) }

    @Test(
        "The rule detects the fault",
        .breaksRules,
        arguments: KeyPromise.all)
    func twinIsFound(_ promise: KeyPromise) { #expect(!breaking(promise.mutation, during: promise.holds)) }
}

extension Trait where Self == ConditionTrait {
    /// Enables a test that breaks a rule on purpose, which only some builds support.
    static var breaksRules: Self { .enabled(if: BrokenRules.areThere, "breaks a rule: Tools/test can") }
}
