#if UDP
    import MeshDiscovery
    import MeshSecurity
    import NIOCore
    import NIOPosix

    extension LinkHub {
        /// Starts the rounds that are due, and sets the timer for the next one.
        func planDials() {
            dialTimer?.cancel()
            guard !isClosing else { return }
            for round in plan.takeDue(now) {
                let round = DialRound(round)
                rounds[round.target] = round
                advance(round)
            }
            guard let dueAt = plan.dueAt else { return }
            dialTimer = after(max(dueAt - now, .zero)) { [weak self] in self?.planDials() }
        }

        /// Dials the next endpoint, and schedules the one after it.
        private func advance(_ round: DialRound) {
            round.timer?.cancel()
            guard !isClosing, rounds[round.target] === round, let endpoint = round.next() else { return }
            dial(endpoint, in: round)
            round.timer = after(configuration.times.stagger) { [weak self] in self?.advance(round) }
        }

        private func dial(_ endpoint: Endpoint, in round: DialRound) {
            lastNumber += 1
            let number = lastNumber
            let attempt = DialRound.Try(round: round, endpoint: endpoint, number: number)
            round.running.insert(number)
            count { $0.dialCount += 1 }
            let bootstrap = ClientBootstrap(group: loop)
                .connectTimeout(TimeAmount(configuration.times.handshake))
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            endpoint.connect(bootstrap, on: loop).assumeIsolated().whenComplete { result in
                guard case .success(let channel) = result else { return self.ended(attempt, saying: nil) }
                self.secure(channel, attempt)
            }
        }

        /// Starts TLS on the connection of a try.
        private func secure(_ channel: any Channel, _ attempt: DialRound.Try) {
            guard !isClosing, attempt.round.running.contains(attempt.number), attempt.round.winner == nil,
                interface.map({ $0.has(channel.localAddress) }) ?? true
            else {
                channel.close(promise: nil)
                return ended(attempt, saying: nil)
            }
            let connection = PeerConnection(
                channel, number: attempt.number, isDialedHere: true, expected: attempt.round.expected,
                remoteAddress: channel.remoteAddress, remote: "\(attempt.endpoint)", hub: self)
            connection.dial = attempt
            begin(connection)
        }

        func begin(_ connection: PeerConnection) {
            connections[connection.number] = connection
            do {
                try connection.prepare(policy)
            } catch {
                connection.refuse(.handshakeFailed, "\(error)")
                connection.channel.close(promise: nil)
                closed(connection)
            }
        }

        /// Ends the other tries of a round once the first has proven its peer.
        /// - Returns: True if this connection is the first.
        func claimRound(_ connection: PeerConnection) -> Bool {
            guard let dial = connection.dial else { return true }
            guard dial.round.winner == nil else {
                connection.end(nil, saying: nil)
                return false
            }
            dial.round.winner = dial.number
            dial.round.timer?.cancel()
            for number in dial.round.running.sorted() where number != dial.number {
                dial.round.running.remove(number)
                connections[number]?.end(nil, saying: nil)
            }
            return true
        }

        /// Ends the rounds for a peer that is now connected, whichever side dialed.
        func endRound(of connection: PeerConnection, _ peer: PeerID) {
            let dial = connection.dial
            connection.dial = nil
            plan.connected(peer, through: dial?.round.target, at: dial?.endpoint)
            for (target, round) in rounds where target == dial?.round.target || target == .peer(peer) {
                rounds[target] = nil
                round.timer?.cancel()
                for number in round.running.sorted() where number != connection.number {
                    // Keep connections that have already proven their peer: `Contender` decides between those.
                    guard let other = connections[number], other.phase == .proving else { continue }
                    other.end(nil, saying: nil)
                }
            }
            planDials()
        }

        /// Ends a try that led to no connection.
        func ended(_ attempt: DialRound.Try, saying code: Goodbye.Code?) {
            let round = attempt.round
            guard round.running.remove(attempt.number) != nil, rounds[round.target] === round else { return }
            if let code { round.code = code }
            guard round.isExhausted else { return advance(round) }
            round.timer?.cancel()
            rounds[round.target] = nil
            plan.refused(round.target, round.code, now)
            planDials()
        }
    }
#endif
