import MeshBase
import MeshConnection
import Testing

@Suite struct ConnectionHealthTests {
    private let changes = Locked<[SessionHealth]>([])
    private let health: ConnectionHealth

    init() {
        let changes = changes
        health = ConnectionHealth { _, to in changes.withLock { $0.append(to) } }
    }

    private func fail(_ error: ConnectionError, isReachable: Bool, times: Int = ConnectionHealth.failuresMax) {
        for _ in 0..<times { health.failed(error, isReachable: isReachable) }
    }

    @Test func `Five failures in a row make a connection unhealthy, and one success healthy`() {
        fail(.timeout, isReachable: true, times: 4)
        #expect(health.current == .healthy)
        health.succeeded()
        fail(.timeout, isReachable: true, times: 4)
        #expect(health.current == .healthy)
        fail(.timeout, isReachable: true, times: 1)
        #expect(health.current == .unhealthy(suggestion: .restartOtherDevice))
        health.succeeded()
        #expect(changes.withLock { $0 } == [.unhealthy(suggestion: .restartOtherDevice), .healthy])
    }

    @Test(arguments: [ConnectionError.notReachable, .timeout, .deliveryFailed(reason: "")])
    func `W20 a closed app isn't a reason to restart a watch`(error: ConnectionError) {
        fail(error, isReachable: false, times: 1)
        #expect(health.current == .healthy)
        fail(error, isReachable: false)
        #expect(health.current == .unhealthy(suggestion: .openCompanionApp))
    }

    @Test func `One unreachable failure among others isn't a stuck session`() {
        fail(.timeout, isReachable: true, times: 2)
        fail(.timeout, isReachable: false, times: 1)
        fail(.timeout, isReachable: true, times: 2)
        #expect(health.current == .unhealthy(suggestion: .openCompanionApp))
    }

    @Test func `A failed recovery suggests more`() {
        fail(.timeout, isReachable: true)
        health.recoveryFailed()
        #expect(health.current == .unhealthy(suggestion: .restartBothDevices))
        fail(.timeout, isReachable: true)
        #expect(health.current == .unhealthy(suggestion: .restartBothDevices))
    }

    @Test func `A refusal counts as an answer, and a caller's mistake doesn't count`() {
        fail(.timeout, isReachable: true)
        health.failed(.encodingFailed(description: ""), isReachable: true)
        #expect(!health.current.isHealthy)
        health.failed(.handlerNotRegistered(requestType: "A"), isReachable: true)
        #expect(health.current.isHealthy)
        fail(.cancelled, isReachable: true)
        #expect(health.current.isHealthy)
    }

    @Test func `Strategies list their lanes`() {
        for strategy in DeliveryStrategy.allCases {
            #expect(strategy.hasFallback == (strategy.fallbackMethod != nil))
            #expect(strategy.fallbackMethod != strategy.primaryMethod)
        }
        #expect(DeliveryStrategy.liveThenLatest.fallbackMethod == .latest)
        #expect(DeliveryMethod.allCases.map(\.rawValue) == ["message", "userInfo", "context"])
    }
}
