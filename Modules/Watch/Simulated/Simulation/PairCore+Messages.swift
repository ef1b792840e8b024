import Foundation
import MeshBase

/// A message in transit, or one whose sender waits for a reply.
struct Message {
    let route: Int
    let content: MessageContent
    let sender: AppProcess
    let wantsReply: Bool
    var reply: ((MessageContent) -> Void)?
    var failure: ((any Error) -> Void)?
    /// The app that received the message.
    var receiver: AppProcess?
    var replyContent: MessageContent?
    var isAnswered = false
}

/// Maximum number of bytes in the binary property list of a message or user info.
let payloadBytesMax = 65_536
/// Maximum number of bytes in an application context.
let contextBytesMax = 262_144

// MARK: - Sending

extension PairCore {
    /// - Parameter content: nil if the app's dictionary isn't a property list.
    mutating func send(
        _ content: MessageContent?, by process: AppProcess, reply: ((MessageContent) -> Void)?,
        failure: ((any Error) -> Void)?
    ) {
        if let code = refusal(of: content, by: process) {
            record(.refused(.message, code), on: process.device)
            if let failure { process.calls.append(.failed(failure, code)) }
            return
        }
        guard let content else { return }
        let id = nextID()
        let route = outgoing(process)
        messages[id] = Message(
            route: route, content: content, sender: process, wantsReply: reply != nil, reply: reply, failure: failure)
        awaitedMessages += 1
        record(.sent(.message, id: id, byteCount: content.byteCount), on: process.device)
        if reply != nil { enter(.replyTimesOut(id), after: conditions.replyTimeout.nanoseconds) }
        let isLost = routes[route].messageRandom.happens(rate: conditions.messageLossRate)
        let isSilent = routes[route].messageRandom.happens(rate: conditions.silentLossRate)
        let time = messageTime(route)
        if !isLost {
            enter(.messageArrives(id), at: time)
        } else {
            record(.lost(.message, id: id), on: process.device)
            if !isSilent { enter(.messageFails(id, .deliveryFailed), at: time) }
            if isSilent, reply == nil { forget(id) }
        }
    }

    private mutating func refusal(of content: MessageContent?, by process: AppProcess) -> WCError.Code? {
        if let code = refusal(process) { return code }
        guard let content else { return .payloadUnsupportedTypes }
        guard content.fits(payloadBytesMax) else { return .payloadTooLarge }
        guard process.isReachable else { return .notReachable }
        return messages.count < Self.messagesMax ? nil : .deliveryFailed
    }

    /// Returns the reason why an app can't send anything; nil if it can.
    mutating func refusal(_ process: AppProcess) -> WCError.Code? {
        switch process.activation {
        case .notActivated: return .sessionNotActivated
        case .inactive: return .sessionInactive
        case .activated: break
        }
        guard hasDelegate(process) else { return .sessionMissingDelegate }
        let watch = routes[outgoing(process)].watch
        guard devices[watch].isPaired else { return .deviceNotPaired }
        if process.device == 0 { return devices[watch].isInstalled ? nil : .watchAppNotInstalled }
        if devices[watch].isWatchOnly { return .watchOnlyApp }
        return devices[0].isInstalled ? nil : .companionAppNotInstalled
    }

    /// Returns the arrival time of a message sent now. It is never before that of an earlier one.
    private mutating func messageTime(_ route: Int) -> UInt64 {
        let latency = conditions.messageLatency.draw(&routes[route].messageRandom)
        let time = max(routes[route].lastMessageTime, now.addingReportingOverflow(latency).partialValue)
        routes[route].lastMessageTime = time
        return time
    }
}

// MARK: - Receiving

extension PairCore {
    mutating func messageArrives(_ id: UInt64) {
        guard let message = messages[id] else { return }
        let receiver = routes[message.route].receiver
        guard isOpen(message.route), devices[receiver].isInstalled, canTake(receiver) else {
            return failOnReturn(id, .deliveryFailed)
        }
        record(.arrived(.message, id: id), on: receiver)
        devices[receiver].waiting.append(id)
        enter(.messageExpires(id), after: conditions.deliveryTimeout.nanoseconds)
        if receiver == 0 { wake(0) }
    }

    /// Returns true if a message can reach the app. Messages wake a phone app, but not a watch app.
    private func canTake(_ device: Int) -> Bool {
        guard device > 0 else { return !devices[0].needsUnlock }
        return devices[device].state == .foreground && devices[device].process?.activation == .activated
    }

    mutating func nextMessage(for process: AppProcess) -> AppCall.Content? {
        while let id = devices[process.device].waiting.popFirst() {
            guard let message = messages[id] else { continue }
            guard routes[message.route].back == outgoing(process) else {
                failOnReturn(id, .deliveryFailed)
                continue
            }
            messages[id]?.receiver = process
            return .message(id, message.content, wantsReply: message.wantsReply)
        }
        return nil
    }

    mutating func expire(_ id: UInt64) {
        guard let message = messages[id] else { return }
        _ = devices[routes[message.route].receiver].waiting.remove { $0 == id }
        failOnReturn(id, .deliveryFailed)
    }

    /// Sends the first reply to a message; later ones are ignored. `content` is nil if it isn't a property list.
    mutating func reply(_ content: MessageContent?, to id: UInt64, by process: AppProcess) {
        guard let message = messages[id], message.receiver === process, !message.isAnswered else { return }
        messages[id]?.isAnswered = true
        guard let content, content.fits(payloadBytesMax) else {
            record(.refused(.reply, content == nil ? .payloadUnsupportedTypes : .payloadTooLarge), on: process.device)
            return failOnReturn(id, .messageReplyFailed)
        }
        messages[id]?.replyContent = content
        let back = routes[message.route].back
        record(.sent(.reply, id: id, byteCount: content.byteCount), on: process.device)
        let isLost = routes[back].messageRandom.happens(rate: conditions.replyLossRate)
        let time = messageTime(back)
        if isLost { return record(.lost(.reply, id: id), on: process.device) }
        enter(.replyArrives(id), at: time)
    }
}

// MARK: - Reporting to the sender

extension PairCore {
    mutating func replyArrives(_ id: UInt64) {
        guard let message = messages[id], let content = message.replyContent else { return }
        guard isOpen(message.route) else { return record(.lost(.reply, id: id), on: routes[message.route].receiver) }
        forget(id)
        guard message.sender.isAlive, let reply = message.reply else { return }
        record(.delivered(.reply, id: id), on: message.sender.device)
        message.sender.calls.append(.replied(reply, content))
    }

    /// Reports a failure to the sender after the latency of a message in the opposite direction.
    mutating func failOnReturn(_ id: UInt64, _ code: WCError.Code) {
        guard let message = messages[id] else { return }
        record(.lost(code == .messageReplyFailed ? .reply : .message, id: id), on: routes[message.route].receiver)
        enter(.messageFails(id, code), at: messageTime(routes[message.route].back))
    }

    mutating func resolve(_ id: UInt64, failing code: WCError.Code) {
        guard let message = messages[id] else { return }
        forget(id)
        guard message.sender.isAlive else { return }
        record(.finished(.message, id: id, error: code), on: message.sender.device)
        if let failure = message.failure { message.sender.calls.append(.failed(failure, code)) }
    }

    mutating func forget(_ id: UInt64) {
        guard let message = messages.removeValue(forKey: id) else { return }
        deferredReleases.append(message)
        if message.sender.isAlive { awaitedMessages -= 1 }
    }

    /// Drops the handlers of a sender that has ended. Its messages continue.
    mutating func forgetHandlers(of process: AppProcess) {
        for id in messages.keys where messages[id]?.sender === process {
            if let message = messages[id] { deferredReleases.append(message) }
            messages[id]?.reply = nil
            messages[id]?.failure = nil
            awaitedMessages -= 1
        }
    }
}
