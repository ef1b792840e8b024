#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

extension NetworkDoctor {
    func checkInterfaces(_ all: [NetworkInterfaces.Entry], _ usable: [NetworkInterfaces.Entry]) -> [Finding] {
        let unknown = (interfaces ?? []).subtracting(all.map(\.interface.name)).sorted()
        if !unknown.isEmpty {
            return [
                Finding(
                    id: "interface", verdict: .blocked,
                    found: "this machine has no interface '\(unknown.joined(separator: "', '"))'",
                    advice: "use one of \(Self.list(all))")
            ]
        }
        guard !usable.isEmpty else {
            return [
                Finding(
                    id: "interface", verdict: .blocked,
                    found: "no interface is up and has an address (\(Self.list(all)))",
                    advice: "connect to a network, or switch an interface on")
            ]
        }
        let isAlone = usable.allSatisfy(\.interface.isLoopback)
        return [
            Finding(
                id: "interface", verdict: isAlone ? .warning : .fine,
                found: isAlone
                    ? "only the loopback interface is up, so only peers on this machine can be found"
                    : Self.list(usable),
                advice: isAlone
                    ? "connect to a network that carries multicast to find peers on other machines" : nil)
        ]
    }

    func checkAddress(_ entry: NetworkInterfaces.Entry) -> Finding {
        let interface = entry.interface
        let addresses = interface.addresses.map(\.ip)
        let hasFour = addresses.contains { $0.family == .v4 }
        let isOnlySelfAssigned = addresses.allSatisfy { $0.isLinkLocal }
        var finding = Finding(
            id: "address", verdict: .fine, interface: interface.name,
            found: addresses.map(\.description).joined(separator: ", "))
        if !hasFour {
            finding.verdict = .warning
            finding.found = "IPv6 only: " + finding.found
            finding.advice = "peers with only IPv4 can't be reached"
        } else if isOnlySelfAssigned {
            finding.found = "only link-local addresses: " + finding.found
        }
        return finding
    }

    /// Checks the multicast route. Our sockets name their interface and need no route, but other programs do.
    func checkRoute() -> Finding {
        guard let socket = try? MulticastSocket(boundTo: 0, .v4) else {
            return Finding(
                id: "route", verdict: .warning, found: "this machine has no IPv4",
                advice: "peers with only IPv4 can't be reached")
        }
        let status = MulticastSocket.group4.withSocketAddress(port: port) { connect(socket.descriptor, $0, $1) }
        guard status != 0 else {
            return Finding(id: "route", verdict: .fine, found: "there is a route for multicast packets")
        }
        return Finding(
            id: "route", verdict: .warning,
            found: "there is no route for multicast packets (\(DiscoveryError(call: "connect", errno).message))",
            advice: "connect to a network, or run `ip route add 224.0.0.0/4 dev INTERFACE`")
    }

    func checkPort() -> Finding {
        do throws(DiscoveryError) {
            _ = try MulticastSocket(boundTo: port, .v4)
        } catch {
            let isTaken = error.code == .portTaken
            return Finding(
                id: "port", verdict: .blocked,
                found: isTaken ? "another program uses UDP port \(port) and doesn't share it" : error.message,
                advice: isTaken ? "close that program; `ss -ulpn sport = :\(port)` shows its name" : nil)
        }
        let isAlone = (try? MulticastSocket(boundTo: port, .v4, shares: false)) != nil
        return Finding(
            id: "port", verdict: .fine,
            found: isAlone ? "UDP port \(port) is free" : "UDP port \(port) is shared with another responder")
    }

    /// Checks the clock. Only warns: certificate dates don't matter between paired peers, but events get wrong times.
    func checkClock() -> Finding {
        let secondsIn2025 = 1_735_689_600
        guard time(nil) < secondsIn2025 else {
            return Finding(id: "clock", verdict: .fine, found: "the clock is set")
        }
        return Finding(
            id: "clock", verdict: .warning, found: "the clock isn't set",
            advice: "set it, because events carry its time")
    }

    static func list(_ entries: [NetworkInterfaces.Entry]) -> String {
        entries.map(\.interface.name).joined(separator: ", ")
    }
}

// MARK: - A packet on each interface

extension NetworkDoctor {
    /// A test packet sent on one interface, whether it came back, and the hosts that answered it.
    private struct Trial {
        let interface: NetworkInterface
        let family: IPAddress.Family
        let socket: MulticastSocket
        let query: [UInt8]
        var failure: DiscoveryError?
        var hasReturned = false
        var neighbours: Set<IPAddress> = []
    }

    private static let waitMilliseconds: Int32 = 700
    private static let lateRoundsMax = 64
    private static let neighboursMax = 64

    func checkMulticast(_ usable: [NetworkInterfaces.Entry]) -> [Finding] {
        var findings: [Finding] = []
        var trials: [Trial] = []
        for entry in usable {
            let families = Set(entry.interface.addresses.map(\.ip.family))
            for family in families.sorted(by: { $0.rawValue < $1.rawValue })
            where family == .v4 || entry.carriesMulticast {
                do throws(DiscoveryError) {
                    trials.append(try begin(entry.interface, family))
                } catch {
                    findings.append(
                        Finding(
                            id: "multicast", verdict: .blocked, interface: entry.interface.name,
                            found: "the multicast group can't be joined: \(error.message)"))
                }
            }
        }
        listen(&trials)
        return findings
            + trials.map { trial in
                multicastFinding(
                    trial, isAlone: !trials.contains { $0.interface == trial.interface && $0.hasReturned })
            } + [neighbourFinding(trials)].compactMap(\.self)
    }

    private func begin(_ interface: NetworkInterface, _ family: IPAddress.Family) throws(DiscoveryError) -> Trial {
        let socket = try MulticastSocket(on: interface, family, port: port)
        var trial = Trial(interface: interface, family: family, socket: socket, query: Self.makeQuery())
        do throws(DiscoveryError) {
            try socket.send(trial.query, to: MulticastSocket.group(family), port: port, scope: interface.index)
        } catch {
            trial.failure = error
        }
        return trial
    }

    /// A query with two questions. No host can answer the first one, which identifies our packet. Every responder
    /// answers the second.
    private static func makeQuery() -> [UInt8] {
        func name(_ labels: [String]) -> [UInt8] {
            labels.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) } + [0]
        }
        let unusedLabel = "doctor-" + String(UInt64.random(in: .min ... .max), radix: 16)
        let header: [UInt8] = [0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0]
        return header + name([unusedLabel, "local"]) + [0, 16, 0, 1]
            + name(["_services", "_dns-sd", "_udp", "local"]) + [0, 12, 0, 1]
    }

    private func listen(_ trials: inout [Trial]) {
        let clock = ContinuousClock()
        let deadline = clock.now + .milliseconds(Int(Self.waitMilliseconds))
        var rounds = 0
        // If this thread was suspended meanwhile, still read the packets that arrived in time.
        while clock.now < deadline || rounds < Self.lateRoundsMax {
            rounds += 1
            var waiting = trials.map { pollfd(fd: $0.socket.descriptor, events: Int16(POLLIN), revents: 0) }
            let left = max(.zero, clock.now.duration(to: deadline)) / Duration.milliseconds(1)
            if poll(&waiting, nfds_t(waiting.count), Int32(left.rounded(.up))) > 0 {
                for index in waiting.indices where waiting[index].revents != 0 { receive(&trials[index]) }
            } else if clock.now >= deadline {
                return
            }
        }
    }

    private func receive(_ trial: inout Trial) {
        var bytes = [UInt8](repeating: 0, count: 9000)
        guard let packet = try? trial.socket.receive(into: &bytes), packet.count >= 12 else { return }
        if bytes.prefix(packet.count).elementsEqual(trial.query) { trial.hasReturned = true }
        let isAnswer = bytes[2] & 0x80 != 0
        if isAnswer, trial.neighbours.count < Self.neighboursMax { trial.neighbours.insert(packet.source) }
    }

    /// - Parameter isAlone: True if the other IP version doesn't work on this interface either.
    private func multicastFinding(_ trial: Trial, isAlone: Bool) -> Finding {
        let version = trial.family == .v4 ? "IPv4" : "IPv6"
        var finding = Finding(
            id: "multicast", verdict: .fine, interface: trial.interface.name,
            found: "a test packet to the \(version) multicast group came back")
        if trial.failure != nil || !trial.hasReturned { finding.verdict = isAlone ? .blocked : .warning }
        if let failure = trial.failure {
            finding.found = "a test packet to the \(version) multicast group couldn't be sent: \(failure.message)"
            finding.advice =
                failure.code == .notPermitted
                ? "a firewall on this machine blocks it; allow outgoing UDP to port \(port)"
                : "if the address is new, wait a second; otherwise check the interface's addresses and routes"
        } else if !trial.hasReturned {
            finding.found = "a test packet to the \(version) multicast group didn't come back"
            finding.advice =
                "probably a firewall blocks it (only root can read the rules); allow incoming and outgoing UDP to port \(port)"
        }
        return finding
    }

    /// Returns the finding about neighbors. Having none isn't a fault, but the network may isolate its devices.
    private func neighbourFinding(_ trials: [Trial]) -> Finding? {
        guard trials.contains(where: \.hasReturned) else { return nil }
        let neighbours = trials.reduce(into: Set<IPAddress>()) { $0.formUnion($1.neighbours) }
        guard neighbours.isEmpty else {
            return Finding(
                id: "neighbours", verdict: .fine, found: "responders at \(neighbours.count) addresses answered")
        }
        return Finding(
            id: "neighbours", verdict: .fine, found: "no other responder answered",
            advice: "if there are others, the network may isolate devices (client isolation of an access point)")
    }
}
