#if CommandLineTools && WebSocket
    import Foundation
    import MeshBase
    import MeshWebSocket
    import NIOCore
    import NIOPosix

    /// Clients on one event loop that count their events. Each is a separate user, or all are the user "0".
    final class BenchLoad: Sendable {
        struct State {
            let areOneUser: Bool
            var cursors: [Int: (session: String, sequence: Int)] = [:]
            var sockets: [Int: WebSocket] = [:]
            var ready = 0
            var events = 0
            var waiting: (count: Int, isMet: (State) -> Int, promise: EventLoopPromise<Void>)?
        }

        let loop: any EventLoop
        private let state: NIOLoopBoundBox<State>
        private let speaks: Bool

        /// - Parameters:
        ///   - speaks: True if clients identify and resume, as with a gateway.
        ///   - areOneUser: True if all clients have the stream of one user.
        init(speaks: Bool, areOneUser: Bool = false) {
            loop = MultiThreadedEventLoopGroup.singleton.next()
            state = NIOLoopBoundBox.makeBoxSendingValue(State(areOneUser: areOneUser), eventLoop: loop)
            self.speaks = speaks
        }

        /// Connects the clients, 200 at a time, and waits until each is ready or resumed. Retries if the server asks a client
        /// to come back later.
        func connect(_ keys: Range<Int>, to port: Int) async throws {
            let address = try WebSocketAddress("ws://127.0.0.1:\(port)/")
            loop.execute { self.state.value.ready = 0 }
            var next = keys.lowerBound
            while next < keys.upperBound {
                let batch = next..<min(next + 200, keys.upperBound)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for key in batch {
                        group.addTask {
                            try await Self.dial(address, self.state, key, speaks: self.speaks)
                        }
                    }
                    try await group.waitForAll()
                }
                next = batch.upperBound
            }
            try await wait(keys.count) { $0.ready }
        }

        fileprivate static func dial(
            _ address: WebSocketAddress, _ state: NIOLoopBoundBox<State>, _ key: Int, speaks: Bool
        ) async throws {
            try await WebSocketDialer.dial(address, on: state.eventLoop, key: key) {
                BenchClient(address, state, speaks: speaks)
            }
        }

        func resetEvents() async throws { try await loop.submit { self.state.value.events = 0 }.get() }
        func waitForEvents(_ count: Int) async throws { try await wait(count) { $0.events } }

        func dropAll() async throws {
            try await loop.submit { for socket in Array(self.state.value.sockets.values) { socket.drop() } }.get()
            while try await loop.submit({ !self.state.value.sockets.isEmpty }).get() { await Task.yield() }
        }

        private func wait(_ count: Int, _ isMet: @escaping @Sendable (State) -> Int) async throws {
            try await loop.flatSubmit {
                let promise = self.loop.makePromise(of: Void.self)
                if isMet(self.state.value) >= count {
                    promise.succeed()
                } else {
                    self.state.value.waiting = (count, isMet, promise)
                }
                return promise.futureResult
            }.get()
        }
    }

    private final class BenchClient: WebSocketObserver {
        private let address: WebSocketAddress
        private let state: NIOLoopBoundBox<BenchLoad.State>
        private let speaks: Bool
        // The time until the next attempt; nil unless the server has asked the client to come back later.
        private var pause: TimeAmount?

        init(_ address: WebSocketAddress, _ state: NIOLoopBoundBox<BenchLoad.State>, speaks: Bool) {
            (self.address, self.state, self.speaks) = (address, state, speaks)
        }

        func opened(_ socket: WebSocket) {
            state.value.sockets[socket.key] = socket
            if !speaks { state.value.ready += 1 }
            check()
        }

        func received(_ message: [UInt8], isText: Bool, on socket: WebSocket) {
            // {"op":0,"s":7,"t":"LOAD", as our gateways write it. Other messages are rare.
            if message.count > 20, message[6] == UInt8(ascii: "0"), let sequence = Self.sequence(message) {
                if message.contains(UInt8(ascii: "R")), Self.text(message, after: #""t":""#)?.hasPrefix("READY") == true
                {
                    let session = Self.text(message, after: #""session_id":""#) ?? ""
                    state.value.cursors[socket.key] = (session, sequence)
                    state.value.ready += 1
                } else {
                    state.value.events += 1
                    state.value.cursors[socket.key]?.sequence = sequence
                }
            } else if Self.text(message, after: #""op":1"#)?.hasPrefix("0") == true {
                greet(socket)
            } else if Self.text(message, after: #""t":""#)?.hasPrefix("RESUMED") == true {
                state.value.ready += 1
            } else if let delay = Self.text(message, after: #""retry_after":"#) {
                pause = .milliseconds(Int64(delay.prefix { $0.isNumber }) ?? 1000)
            }
            check()
        }

        func flushed(_ count: Int, on socket: WebSocket) {}

        func closed(_ code: UInt16?, _ socket: WebSocket) {
            state.value.sockets[socket.key] = nil
            guard let pause else { return }
            let (key, address, state, speaks) = (socket.key, address, state, speaks)
            state.eventLoop.scheduleTask(in: pause) {
                Task { try await BenchLoad.dial(address, state, key, speaks: speaks) }
            }
        }

        private func greet(_ socket: WebSocket) {
            let token = state.value.areOneUser ? 0 : socket.key
            let text =
                if let cursor = state.value.cursors[socket.key] {
                    #"{"op":6,"d":{"token":"\#(token)","session_id":"\#(cursor.session)","seq":\#(cursor.sequence)}}"#
                } else {
                    #"{"op":2,"d":{"token":"\#(token)"}}"#
                }
            socket.send(Array(text.utf8), isText: true)
        }

        private func check() {
            guard let waiting = state.value.waiting, waiting.isMet(state.value) >= waiting.count else { return }
            state.value.waiting = nil
            waiting.promise.succeed()
        }

        private static func sequence(_ message: [UInt8]) -> Int? {
            // After {"op":0,"s":
            guard message[9] == UInt8(ascii: "s") else { return nil }
            var number = 0
            for byte in message[12...] {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { break }
                number = number * 10 + Int(byte - UInt8(ascii: "0"))
            }
            return message[12] == UInt8(ascii: "n") ? nil : number
        }

        private static func text(_ message: [UInt8], after mark: String) -> String? {
            let text = String(decoding: message.prefix(200), as: UTF8.self)
            guard let range = text.range(of: mark) else { return nil }
            return String(text[range.upperBound...].prefix { $0 != "\"" })
        }
    }
#endif
