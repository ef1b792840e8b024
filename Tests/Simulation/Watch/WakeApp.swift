import MeshBase
import MeshConnection
import MeshFoundation
import MeshKeySync
import MeshSharedState
import MeshTransport

/// The visible content of an app: the numbers of its session's events, the number in its shared value, and the number
/// under its stored key.
struct WakeView: Sendable, Equatable {
    var taps: [UInt32] = []
    var value: UInt32 = 0
    var key: UInt32 = 0
}

/// One launch of an app with a session, a shared value and a stored key, all over one transport.
@available(macOS 15.0, iOS 18.0, watchOS 11.0, tvOS 18.0, visionOS 2.0, *)
final class WakeApp: PairApp {
    struct Value: Codable, Sendable, Equatable {
        var number: UInt32 = 0
    }

    var clock: AppClock { session.clock }
    private let session: SessionWatchApp
    private let connection: TransportConnection
    private let router: StorageRouter
    private let value = Locked<SharedState<Value>?>(nil)
    private static let key = StorageKey<UInt32>("goal")

    init(_ launch: PairLaunch, failure: Locked<String?>) throws {
        session = try SessionWatchApp(
            launch, store: launch.disk, versions: .equal, failure: failure, suspicious: Locked([]))
        connection = TransportConnection(transport: session.transport, store: launch.disk, clock: launch.clock)
        let random = Locked(SplitMix64(seed: launch.seed))
        router = StorageRouter { random.withLock { $0.next() } }
        Task { @MainActor in
            let state = SharedState(initialValue: Value(), connection: connection, id: "plan")
            value.withLock { $0 = state }
        }
        Task {
            await router.register(Self.key)
            do { try await router.attach(to: connection) } catch {
                failure.withLock { $0 = "keys could not be attached: \(error)" }
            }
        }
    }

    var remainingWakes: Int { session.transport.remainingWakes ?? 0 }

    func tap(_ number: UInt32, _ ledger: Locked<TapLedger>, _ urgency: SessionUrgency) {
        session.tap(number, ledger: ledger, timers: nil, urgency: urgency)
    }

    func setValue(_ number: UInt32, _ urgency: SessionUrgency) {
        Task { @MainActor in try? value.withLock { $0 }?.update(Value(number: number), urgency: urgency) }
    }

    func setKey(_ number: UInt32, _ urgency: SessionUrgency) {
        Task { try? await router.set(number, for: Self.key, urgency: urgency) }
    }

    func noteTaps(in ledger: Locked<TapLedger>) { session.noteTaps(in: ledger) }

    func look(_ look: @escaping @Sendable (WakeView) -> Void) {
        session.look { taps in
            Task { @MainActor in
                let number = self.value.withLock { $0 }?.value.number ?? 0
                look(WakeView(taps: taps, value: number, key: (try? await self.router.get(Self.key)) ?? 0))
            }
        }
    }

    func crash() {
        session.crash()
        Task { await router.detach() }
    }
}
