import MeshBase
import MeshScenarioTransport

/// The steps of a lobby's devices and their times. The seed determines them completely.
public struct LobbySchedule: Equatable, Sendable {
    /// A step. Devices are identified by index.
    enum Step: Hashable, Sendable {
        case launch(Int)
        case crash(Int, losesStore: Bool)
        case open(Int)
        case tap(Int, count: Int)
        case invite(Int, by: Int)
        /// Ends the session for all with a final event.
        case end(Int)
        /// Blocks all messages between these devices and the others.
        case cut(Set<Int>)
        /// Blocks all messages in that direction.
        case silence(Int, to: Int)
        case heal
        /// Sets the number of seconds by which the device's wall clock is ahead.
        case clock(Int, seconds: Int)
    }

    struct Entry: Hashable, Sendable {
        let at: Duration
        let step: Step
    }

    let seed: UInt64
    let devices: Int
    let membersMax: Int
    /// Devices with a store. The others lose everything when they crash.
    let keepers: Set<Int>
    /// The device that stays away until the others have agreed without it.
    let absent: Int?
    var conditions: ScenarioConditions
    var entries: [Entry]

    static func name(of device: Int) -> String { names[device] }

    /// The devices' names, which are also their peer IDs, in ascending order. Of two devices that meet, the one with
    /// the lower ID founds the group.
    private static let names = ["desktop", "phone", "server", "tablet", "watch"]
}

extension LobbySchedule: CustomStringConvertible {
    /// The readable form of a failing seed.
    public var description: String {
        let all = Set(0..<devices)
        let memory = keepers == all ? "" : ", \(Self.names(of: all.subtracting(keepers))) without a store"
        let away = absent.map { ", \(Self.name(of: $0)) away until the others have agreed" } ?? ""
        let network = conditions == .rough ? "rough" : "calm"
        let head = "\(devices) devices, \(membersMax) in a session at most, \(network) network\(memory)\(away)"
        let lines = entries.map { entry in
            let milliseconds = Int(entry.at / .milliseconds(1))
            return "  \(milliseconds) ms: \(entry.step)"
        }
        return ([head] + lines).joined(separator: "\n")
    }

    fileprivate static func names(of devices: Set<Int>) -> String {
        devices.sorted().map(name(of:)).joined(separator: " and ")
    }
}

extension LobbySchedule.Step: CustomStringConvertible {
    var description: String {
        func name(_ device: Int) -> String { LobbySchedule.name(of: device) }
        return switch self {
        case .launch(let device): "\(name(device)) is launched"
        case .crash(let device, let losesStore): "\(name(device)) crashes\(losesStore ? " and loses its store" : "")"
        case .open(let device): "\(name(device)) opens a session"
        case .tap(let device, let count): "\(name(device)) taps \(count) times"
        case .invite(let guest, let device): "\(name(device)) invites \(name(guest))"
        case .end(let device): "\(name(device)) ends the session"
        case .cut(let devices): "\(LobbySchedule.names(of: devices)) cut off"
        case .silence(let sender, let receiver): "nothing passes from \(name(sender)) to \(name(receiver))"
        case .heal: "the network heals"
        case .clock(let device, let seconds): "\(name(device))'s clock is \(seconds) s ahead"
        }
    }
}
