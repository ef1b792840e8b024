import Foundation
import MeshRegister

/// Two devices with two states in common. The reference promises how they behave, and several types implement them.
@MainActor
protocol StatePair: AnyObject {
    func update(_ device: DeviceName, _ state: StateName, _ value: Settings) throws
    func value(_ device: DeviceName, _ state: StateName) -> Settings
    /// Connects the devices and completes all possible work.
    func connect() async
    func cut() async
    func relaunch(_ device: DeviceName) async
}

enum DeviceName: String, CaseIterable {
    case phone, watch

    var other: DeviceName { self == .phone ? .watch : .phone }
}

enum StateName: String, CaseIterable { case settings, profile }

/// The reference's rules that lose values, one at a time. Everything else is correct.
@MainActor
final class FaultyPair: StatePair {
    enum Fault {
        /// W10: a state writes its own key into the context, and with it the complete context.
        case wholeContext
        /// W11: tasks that may overtake one another send updates, and every arriving value is accepted.
        case anyOrder
        /// W12: an arriving value is accepted, whether or not the local value has changed.
        case arrivalWins
        /// W13: at launch, the peer's last value replaces the local one.
        case peersValueAtLaunch
        /// W14: an update that can't be sent isn't sent later either.
        case dropsUnsent
        /// W15: the value changes before it is known to be encodable.
        case commitsFirst
        case none
    }

    private struct Entry {
        var value = Settings()
        var version = 0
    }

    private let fault: Fault
    private var isConnected = false
    private var version = 0
    private var values: [DeviceName: [StateName: Entry]] = [:]
    private var received: [DeviceName: [StateName: Entry]] = [:]
    private var outgoing: [DeviceName: [(state: StateName, entry: Entry)]] = [:]

    init(_ fault: Fault) { self.fault = fault }

    func value(_ device: DeviceName, _ state: StateName) -> Settings { values[device]?[state]?.value ?? Settings() }

    func update(_ device: DeviceName, _ state: StateName, _ value: Settings) throws {
        version += 1
        let entry = Entry(value: value, version: version)
        if fault == .commitsFirst { values[device, default: [:]][state] = entry }
        _ = try JSONEncoder().encode(value)
        values[device, default: [:]][state] = entry
        guard isConnected || fault != .dropsUnsent else { return }
        if fault == .wholeContext { outgoing[device] = [] }
        outgoing[device, default: []].append((state, entry))
    }

    func connect() async {
        isConnected = true
        let sent = outgoing
        outgoing = [:]
        for device in DeviceName.allCases {
            let messages = sent[device] ?? []
            for (state, entry) in fault == .anyOrder ? messages.reversed() : messages {
                take(entry, state, device.other)
            }
        }
    }

    private func take(_ entry: Entry, _ state: StateName, _ device: DeviceName) {
        received[device, default: [:]][state] = entry
        let isNewer = entry.version > values[device]?[state]?.version ?? 0
        if isNewer || fault == .arrivalWins || fault == .anyOrder { values[device, default: [:]][state] = entry }
    }

    func cut() async { isConnected = false }

    func relaunch(_ device: DeviceName) async {
        if fault == .peersValueAtLaunch { values[device] = received[device] }
    }
}

/// W16: a key made from the type's short name.
func faultyName(of type: Any.Type) -> String { String(describing: type) }

/// W17: a listener retains the object that it listens for.
@MainActor
final class FaultyListener {
    private(set) var task: Task<Void, Never>?

    init() {
        task = Task {
            while !Task.isCancelled { await self.wait() }
        }
    }

    private func wait() async { await Task.yield() }
}
