import Foundation
import MeshRegister

/// What the reference promises of two devices that have two states in common, whoever keeps it.
@MainActor
protocol StatePair: AnyObject {
    func update(_ device: DeviceName, _ state: StateName, _ value: Settings) throws
    func value(_ device: DeviceName, _ state: StateName) -> Settings
    /// The connection comes up, and everything that can be done is.
    func connect() async
    func cut() async
    func relaunch(_ device: DeviceName) async
}

enum DeviceName: String, CaseIterable {
    case phone, watch

    var other: DeviceName { self == .phone ? .watch : .phone }
}

enum StateName: String, CaseIterable { case settings, profile }

/// The rules of the reference that lose values, one at a time; everything else is right.
@MainActor
final class FaultyPair: StatePair {
    enum Fault {
        /// W10: a state writes its own key into the context, and with it all of the context.
        case wholeContext
        /// W11: updates are sent by tasks that may overtake one another, and what comes is taken.
        case anyOrder
        /// W12: what comes is taken, whatever has changed here.
        case arrivalWins
        /// W13: at launch there is what the peer has sent last.
        case peersValueAtLaunch
        /// W14: what cannot be sent is not sent later either.
        case dropsUnsent
        /// W15: the value changes before it is known whether it can be encoded.
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

/// W16: a key by the type's short name.
func faultyName(of type: Any.Type) -> String { String(describing: type) }

/// W17: what listens keeps what it listens for.
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
