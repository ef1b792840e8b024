extension MulticastDNSCore {
    /// Processes a packet, which may contain anything. Unreadable packets, those from beyond the link and those that
    /// aren't multicast DNS are counted and have no other effect. O(bytes)
    package mutating func receive(_ bytes: UnsafeRawBufferPointer, from source: MulticastDNSSource, _ now: Duration) {
        self.now = max(self.now, now)
        statistics.packetsReceived += 1
        handle(bytes, source)
        tick(now)
    }

    private mutating func handle(_ bytes: UnsafeRawBufferPointer, _ source: MulticastDNSSource) {
        guard let index = place(of: source.interfaceIndex), source.port != 0,
            interfaces[index].interface.isOnLink(source.ip)
        else {
            statistics.foreign += 1
            return
        }
        guard let message = try? DNSMessage(bytes) else {
            statistics.malformed += 1
            return
        }
        guard message.flags.operation == 0, message.flags.responseCode == 0 else {
            statistics.foreign += 1
            return
        }
        let isResponse = message.flags.contains(.response)
        let senders = interfaces(with: source.ip)
        if !senders.isEmpty, source.port == Self.port {
            let isEcho = echoes.isEcho(
                bytes, from: senders, on: source.interfaceIndex, family: source.ip.family,
                isQuestion: !isResponse && message.authorities.isEmpty, now)
            if isEcho { return }
        }
        if isResponse {
            // A multicast DNS responder always sends from port 5353 (RFC 6762 section 6).
            guard source.port == Self.port else {
                statistics.foreign += 1
                return
            }
            handleResponse(message, source, index)
        } else {
            handleQuery(message, source, index)
        }
    }

    private mutating func handleResponse(_ message: DNSMessage, _ source: MulticastDNSSource, _ index: Int) {
        findConflicts(message, index)
        compareAnswers(message, source, index)
        cacheRecords(message, source, index)
    }

    private mutating func handleQuery(_ message: DNSMessage, _ source: MulticastDNSSource, _ index: Int) {
        if source.port != Self.port { return replyToLegacy(message, source, index) }
        breakTies(message, index)
        answer(message, source, index)
        noteQuestions(message, source, index)
    }

    private func interfaces(with ip: IPAddress) -> [UInt32] {
        interfaces.map(\.interface).filter { $0.addresses.contains { $0.ip == ip } }.map(\.index)
    }

    static let port: UInt16 = 5353
}
