import Foundation
import MeshBase
import MeshVirtualTime
import Testing

@testable import MeshResume
@testable import MeshResumeGateway

/// Everybody comes at once.
@Suite struct AdmissionTests {
    private static let count = 1000

    /// - Returns: how many handshakes the app was asked about in each second.
    private func stampede(_ admission: GatewayAdmission) throws -> [Int] {
        var core = GatewayCore(admission: admission, seed: 1)
        var queue = EventQueue<Int>()
        var policies = (0..<UInt64(Self.count)).map {
            ReconnectPolicy(from: .seconds(1), to: .seconds(8), seed: $0)
        }
        let frame = try ClientFrame.identify(token: "t", properties: .current).json()
        for key in 0..<Self.count { queue.enter(key, at: 0) }
        var asked: [Int] = []
        while let (time, key) = queue.take(), time < 120_000_000_000 {
            let now = Duration(nanoseconds: time)
            core.open(key, now)
            core.receive(frame, on: key, now)
            for (key, directive) in core.takeDirectives() {
                switch directive {
                case .authenticate:
                    let second = Int(time / 1_000_000_000)
                    asked += Array(repeating: 0, count: max(0, second + 1 - asked.count))
                    asked[second] += 1
                case .send(let bytes):
                    guard let wait = try ServerFrame(json: bytes).retryAfter else { break }
                    let delay = policies[key].delay(after: .rateLimited, atLeast: wait)
                    queue.enter(key, at: time + (delay ?? .zero).nanoseconds)
                default: break
                }
            }
        }
        return asked
    }

    private func complaint(_ asked: [Int]) -> String? {
        if asked.reduce(0, +) != Self.count { return "\(asked.reduce(0, +)) came back" }
        if asked.count > 45 { return "it took \(asked.count) s" }
        return asked.allSatisfy { $0 <= 100 } ? nil : "\(asked.max() ?? 0) in one second"
    }

    @Test func `K21 a restarted gateway takes its clients one after another, and every one of them`() throws {
        #expect(try complaint(stampede(GatewayAdmission(perSecond: 50, atOnce: 50))) == nil)
        #expect(try complaint(stampede(.unlimited)) != nil)
    }
}
