import Foundation
import MeshBase
import MeshVirtualTime
import Testing

@testable import MeshResume
@testable import MeshResumeGateway

/// All clients connect at once.
@Suite struct AdmissionTests {
    private static let count = 1000

    /// - Returns: The number of handshakes that the app was asked about in each second.
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

    @Test func `K21 a restarted gateway admits its clients one after another, and all of them`() throws {
        #expect(try complaint(stampede(GatewayAdmission(perSecond: 50, atOnce: 50))) == nil)
        #expect(try complaint(stampede(.unlimited)) != nil)
    }

    // MARK: Shares

    private static let admission = GatewayAdmission(perSecond: 40, atOnce: 40)

    /// - Returns: The connections that the app is asked to authenticate.
    private static func greet(
        _ core: inout GatewayCore, _ keys: Range<Int>, from address: String?, token: (Int) -> String, _ now: Duration
    ) throws -> [Int] {
        for key in keys {
            core.open(key, from: address, now)
            core.receive(try ClientFrame.identify(token: token(key), properties: .current).json(), on: key, now)
        }
        return core.takeDirectives().compactMap { key, directive in
            if case .authenticate = directive { key } else { nil }
        }
    }

    @Test func `Wrong tokens from one address turn away no honest client`() throws {
        var core = GatewayCore(admission: Self.admission, seed: 1)
        var key = 0
        for second in 0..<20 {
            let now = Duration.seconds(second)
            for asked in try Self.greet(&core, key..<key + 500, from: "192.0.2.1", token: { _ in "wrong" }, now) {
                core.authenticated(nil, on: asked, now)
            }
            key += 500
            let honest = try Self.greet(&core, key..<key + 10, from: "198.51.100.\(second)", token: { "\($0)" }, now)
            #expect(honest.count == 10, "in second \(second)")
            for asked in honest { core.authenticated("anna", on: asked, now) }
            key += 10
        }
    }

    @Test func `Clients that were accepted before come first, also at the address of the wrong tokens`() throws {
        var core = GatewayCore(admission: Self.admission, seed: 1)
        let address = "192.0.2.1"
        for key in try Self.greet(&core, 0..<5, from: address, token: { "right \($0)" }, .zero) {
            core.authenticated("anna", on: key, .zero)
        }
        // Many addresses with wrong tokens at once.
        let now = Duration.seconds(100)
        for number in 0..<100 {
            let keys = 1000 + 10 * number..<1010 + 10 * number
            let asked = try Self.greet(&core, keys, from: "203.0.113.\(number)", token: { "wrong \($0)" }, now)
            for key in asked { core.authenticated(nil, on: key, now) }
        }
        for key in try Self.greet(&core, 3000..<3100, from: address, token: { "wrong \($0)" }, now) {
            core.authenticated(nil, on: key, now)
        }
        let again = try Self.greet(&core, 5000..<5005, from: address, token: { "right \($0 - 5000)" }, now)
        #expect(again.count == 5)
    }

    @Test func `An accepted token costs its address nothing, and neither does an app that doesn't answer`() throws {
        var core = GatewayCore(admission: GatewayAdmission(perSecond: 1000, atOnce: 1000), seed: 1)
        for round in 0..<20 {
            let now = Duration.seconds(round)
            let keys = round * 400..<round * 400 + 400
            let asked = try Self.greet(&core, keys, from: "192.0.2.1", token: { "\($0)" }, now)
            #expect(asked.count == 400)
            for key in asked {
                if round % 2 == 0 {
                    core.authenticated("anna", on: key, now)
                } else {
                    core.failed("down", on: key, now)
                }
            }
        }
    }
}
