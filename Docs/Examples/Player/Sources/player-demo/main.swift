import MeshKeySync
import MeshSimulatedWatch
import MeshStorage
import Player

// A phone and its watch, simulated in one process. On real devices each half is launched once, with the shared router.
let pair = SimulatedWatchPair(seed: 1, conditions: .ideal)
pair.runInRealTime()

@MainActor func launch(_ device: SimulatedDevice, _ router: StorageRouter) async throws -> AnyObject {
    device.launch()
    return try await device.run {
        Task { try await PlayerApp.launch(isWatch: !device.isPhone, store: MemoryStore(), router: router) }
    }.value
}

@MainActor func wait(until condition: () async throws -> Bool) async throws {
    while try await !condition() { try await Task.sleep(for: .milliseconds(5)) }
}

let (phoneRouter, watchRouter) = (StorageRouter(), StorageRouter())
let connections = [try await launch(pair.phone, phoneRouter), try await launch(pair.watch, watchRouter)]
let (phone, watch) = (PhonePlayer(router: phoneRouter), WatchPlayer(router: watchRouter))

phone.add(Episode(id: "1", title: "On clocks"))
phone.add(Episode(id: "2", title: "On queues"))
try await wait { watch.title == "On clocks" }
print("watch: next is \(watch.title)")

watch.turnCrown(by: 4)
watch.position = 60
try await wait { phone.volume == 0.7 && phone.position == 60 }
print("phone: volume \(phone.volume), at \(Int(phone.position)) s")

try await phone.signIn(token: "secret")
try await wait { try await watch.arrival().isSignedIn }
print("watch: signed in")

// Changes made out of range arrive once the two devices reach each other again.
pair.watch.isInRange = false
try await phone.finishEpisode()
print("watch: out of range, next is \(watch.title)")
pair.watch.isInRange = true
try await wait { watch.title == "On queues" && watch.position == 0 }
print("watch: back in range, next is \(watch.title)")
withExtendedLifetime(connections) {}
