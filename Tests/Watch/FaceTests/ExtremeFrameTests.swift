import Foundation
import MeshBase
import SessionMeshWatchConnectivity
import Testing

@MainActor
@Suite("Numbers at the end of their range, in the frames of WatchConnectivitySwift 5")
struct ExtremeFrameTests {
    @Test func `never trap`() async throws {
        let bench = Bench(MockWCSession())
        bench.connection.register(Add.self) { $0.left + $0.right }
        let numbers = [
            "0", "-1", "1e308", "-1e308", "9223372036854775807", "-9223372036854775808", "18446744073709551615", "1e19",
        ]
        for time in numbers {
            for code in numbers {
                let payload = Data(#"{"left":1,"right":2}"#.utf8).base64EncodedString()
                let request = #"""
                    {"typeName":"Add","payload":"\#(payload)","requestID":"\#(UUID())","isFireAndForget":false,\#
                    "timestamp":\#(time)}
                    """#
                let outcome = #"{"failure":{"_0":{"sessionError":{"code":\#(code),"description":"d"}}}}"#
                let response = #"{"outcome":\#(outcome),"requestID":"\#(UUID())","timestamp":\#(time)}"#
                bench.session.simulateReceivedMessage(Data(request.utf8)) { _ in }
                bench.session.simulateReceivedMessage(Data(response.utf8))
                bench.session.simulateReceivedUserInfo([
                    "WatchConnectivitySwift.Request": Data(#"{"request":\#(request)}"#.utf8)
                ])
                bench.session.simulateReceivedApplicationContext([
                    "WatchConnectivitySwift.Request": Data(request.utf8), "sessionmesh.number": Int.max,
                    "sessionmesh.state/Counter": Data(repeating: 0xff, count: code.count),
                ])
                await bench.run()
            }
        }
        let reply = Locked<Data?>(nil)
        let request = try WireRequest(request: Add(left: 20, right: 3))
        bench.session.simulateReceivedMessage(try JSONEncoder().encode(request)) { data in reply.withLock { $0 = data }
        }
        await bench.run { reply.withLock { $0 } != nil }
        let response = try JSONDecoder().decode(WireResponse.self, from: try #require(reply.withLock { $0 }))
        #expect(try response.decodeSuccess(as: Int.self) == 23)
    }
}
