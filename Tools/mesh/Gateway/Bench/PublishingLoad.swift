#if CommandLineTools && WebSocket
    import Foundation

    /// Clients that publish over HTTP from one thread: each sends a request, then each reads its answer. Sockets are blocking
    /// ones, so that the load costs much less than the server.
    struct PublishingLoad {
        struct Failed: Error {}

        static let token = "a token for the benchmark"
        let port: Int
        let clients: Int
        /// False opens a connection for each request.
        let keepsConnections: Bool
        /// The number of events in each request.
        var events = 1

        /// Sends that many requests.
        func publish(_ requests: Int, _ payload: [UInt8]) throws {
            let request = request(payload)
            var sockets: [Int32] = []
            defer { for socket in sockets { close(socket) } }
            var left = requests
            while left > 0 {
                while sockets.count < min(clients, left) { sockets.append(try connected()) }
                for socket in sockets { try send(request, on: socket) }
                for socket in sockets { try receive(on: socket) }
                left -= sockets.count
                guard !keepsConnections else { continue }
                for socket in sockets { close(socket) }
                sockets = []
            }
        }

        private func request(_ payload: [UInt8]) -> [UInt8] {
            let text = String(decoding: payload, as: UTF8.self)
            let event = #"{"user":"0","type":"LOAD","data":\#(text)}"#
            let body = events == 1 ? text : "[" + Array(repeating: event, count: events).joined(separator: ",") + "]"
            let head = """
                POST \(events == 1 ? "/publish/0/LOAD" : "/publish") HTTP/1.1\r
                Host: 127.0.0.1:\(port)\r
                Authorization: Bearer \(Self.token)\r
                Content-Type: application/json\r
                Content-Length: \(body.utf8.count)\r
                \(keepsConnections ? "" : "Connection: close\r\n")\r\n
                """
            return Array((head + body).utf8)
        }

        private func connected() throws -> Int32 {
            #if canImport(Glibc)
                let stream = Int32(SOCK_STREAM.rawValue)
            #else
                let stream = SOCK_STREAM
            #endif
            let descriptor = socket(AF_INET, stream, 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = UInt16(port).bigEndian
            address.sin_addr.s_addr = inet_addr("127.0.0.1")
            let result = withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            guard result == 0 else { throw Failed() }
            return descriptor
        }

        private func send(_ bytes: [UInt8], on socket: Int32) throws {
            var sent = 0
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes { write(socket, $0.baseAddress, $0.count) }
                guard count > 0 else { throw Failed() }
                sent += count
            }
        }

        /// Reads one response, which ends with a line of the answer's JSON.
        private func receive(on socket: Int32) throws {
            var (received, chunk): ([UInt8], [UInt8]) = ([], Array(repeating: 0, count: 16 << 10))
            repeat {
                let count = read(socket, &chunk, chunk.count)
                guard count > 0 else { throw Failed() }
                received += chunk[..<count]
            } while !received.suffix(2).elementsEqual("}\n".utf8)
            guard received.starts(with: "HTTP/1.1 200".utf8) else { throw Failed() }
        }
    }
#endif
