import Foundation
import MeshBase
import MeshResume
import MeshResumeGateway
import MeshVirtualTime

// MARK: - Clients and their apps

extension ResumeRun {
    mutating func open(_ client: Int) {
        guard clients[client].key == nil else { return }
        keyCount += 1
        clients[client].key = keyCount
        pipes[keyCount] = GatewayPipe(device: client, gateway: Int(random.upTo(1)))
        gateways[pipes[keyCount]?.gateway ?? 0].open(keyCount, time)
        clients[client].core.open()
        carryOut(client)
        if let pipe = pipes[keyCount] { carryOut(gateway: pipe.gateway) }
    }

    mutating func deliver(_ bytes: [UInt8], _ key: Int) {
        guard let pipe = pipes[key], pipe.isUp else { return }
        gateways[pipe.gateway].flushed(bytes.count, on: key, time)
        carryOut(gateway: pipe.gateway)
        guard clients[pipe.device].key == key else { return }
        do {
            let frame = try ServerFrame(json: bytes)
            if let wait = frame.retryAfter { clients[pipe.device].retryAfter = wait }
            guard let event = frame.event else { return }
            let reception = clients[pipe.device].core.receive(event, time)
            if case .pushEvent(let sequence) = event, reception.isToBeProcessed {
                struct Payload: Decodable { let id: Int }
                let id = try frame.payload(as: Payload.self).id
                if !areFaultsOver, appRandom.happens(rate: 0.02) {
                    fail(pipe.device)
                } else {
                    show(id, sequence, pipe.device)
                }
            }
            if case .ready(let id, let sequence) = event, reception == .live { begin(id, at: sequence, pipe.device) }
            carryOut(pipe.device)
        } catch {
            complaint = "\(error): \(String(decoding: bytes, as: UTF8.self))"
        }
    }

    /// Starts the app at a sequence. The app loads everything up to there by other means.
    private mutating func begin(_ id: String, at sequence: UInt64, _ client: Int) {
        guard let session = GatewaySessionID(id), let loss = lossByEpoch[session.epoch] else {
            complaint = "'\(id)' isn't a session's ID"
            return
        }
        let user = clients[client].user
        if clients[client].known != nil, clients[client].begunAt == loss, !faults.keepsEpoch {
            complaint = "client \(client) started fresh, though nothing was lost"
        }
        clients[client].known = sequence == 0 ? baselines[loss][user] : places["\(user)/\(loss)/\(sequence)"]
        clients[client].begunAt = loss
        clients[client].policy.reset()
    }

    private mutating func show(_ id: Int, _ sequence: UInt64, _ client: Int) {
        if id != (clients[client].known ?? id - 1) + 1 {
            complaint = "client \(client) sees event \(id) after \(clients[client].known as Any), at \(time)"
        }
        clients[client].known = id
        clients[client].seenCount += 1
        clients[client].core.acknowledge(through: sequence, time)
    }

    /// Simulates an app that couldn't process an event: it drops the connection, and must get the event again.
    private mutating func fail(_ client: Int) {
        faultCounts["app failed to process", default: 0] += 1
        if let key = clients[client].key { cut(key, deviceKnows: false) }
        clients[client].core.retryUnacknowledged()
        reconnect(client)
    }

    mutating func clientDisconnects(key: Int, _ code: CloseCode?) {
        guard let pipe = pipes[key] else { return }
        pipes[key]?.isUp = false
        gateways[pipe.gateway].remove(key)
        guard clients[pipe.device].key == key else { return }
        clients[pipe.device].core.close()
        carryOut(pipe.device)
        reconnect(pipe.device, after: code)
    }

    private mutating func reconnect(_ client: Int, after code: CloseCode? = nil) {
        guard clients[client].key != nil else { return }
        clients[client].key = nil
        let wait = clients[client].policy.delay(after: code, atLeast: clients[client].retryAfter)
        clients[client].retryAfter = .zero
        guard let wait else {
            complaint = "client \(client) got close code \(code as Any)"
            return
        }
        queue.enter(.open(client: client), at: now + wait.nanoseconds)
    }

    mutating func carryOut(_ client: Int) {
        var directives = clients[client].core.takeDirectives()
        var wantsReconnect = false
        while !directives.isEmpty {
            switch directives.removeFirst() {
            case .publish(.reconnectNeeded), .publish(.sessionInvalidated): wantsReconnect = true
            case .publish: break
            case .load(let number): clients[client].core.loaded(.success(clients[client].stored), connection: number)
            case .askToken(let number):
                clients[client].core.tokenReturned("user\(clients[client].user)", connection: number, time)
            case .sendHandshake(let request, let number):
                sendUp(ClientFrame(request), client)
                clients[client].core.handshakeReturned(nil, connection: number)
            case .sendHeartbeat(let request, _): sendUp(ClientFrame(request), client)
            case .write(let snapshot):
                clients[client].stored = snapshot
                clients[client].core.writeFinished(nil, time)
            }
            directives += clients[client].core.takeDirectives()
        }
        if wantsReconnect, let key = clients[client].key {
            cut(key, deviceKnows: false)
            clients[client].core.close()
            reconnect(client)
            carryOut(client)
        }
        if let due = clients[client].core.deadline, clients[client].tickAt.map({ due < $0 }) ?? true {
            clients[client].tickAt = due
            // Rounded up to whole nanoseconds, because the tick must not come early.
            queue.enter(.clientTick(client), at: max(now, due.nanoseconds + 1))
        }
    }

    private mutating func sendUp(_ frame: ClientFrame, _ client: Int) {
        guard let key = clients[client].key, let bytes = try? frame.json() else { return }
        send(.toGateway(key: key, [UInt8](bytes)), key, up: true)
    }
}
