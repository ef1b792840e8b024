import Foundation
import MeshSimulatedWatch
import Testing

@Suite struct ErrorTests {
    @Test("Codes have Apple's numbers")
    func codes() {
        #expect(WCError.Code.allCases.map(\.rawValue) == Array(7001...7019))
        #expect(WCError.genericError.rawValue == 7001 && WCError.notReachable.rawValue == 7007)
        #expect(WCError.payloadTooLarge.rawValue == 7009 && WCError.payloadUnsupportedTypes.rawValue == 7010)
        #expect(WCError.messageReplyTimedOut.rawValue == 7012 && WCError.fileAccessDenied.rawValue == 7013)
        #expect(WCError.insufficientSpace.rawValue == 7015 && WCError.watchOnlyApp.rawValue == 7019)
    }

    @Test("Errors bridge to NSError and back, for this domain only", arguments: WCError.Code.allCases)
    func bridging(code: WCError.Code) {
        let error: any Error = WCError(code, userInfo: ["a": 1])
        let bridged = error as NSError
        #expect(bridged.domain == WCErrorDomain && bridged.code == code.rawValue)
        #expect(bridged.userInfo["a"] as? Int == 1)
        let foreign: any Error = NSError(domain: WCErrorDomain, code: code.rawValue)
        #expect((foreign as? WCError)?.code == code)
        #expect((NSError(domain: "other", code: code.rawValue) as any Error) as? WCError == nil)
        #expect(!error.localizedDescription.isEmpty && WCError.errorDomain == WCErrorDomain)
    }

    @Test("Errors are caught by code")
    func patterns() {
        do {
            throw WCError(.notReachable)
        } catch WCError.payloadTooLarge {
            Issue.record("the wrong one")
        } catch WCError.notReachable {
        } catch {
            Issue.record("none")
        }
        #expect(WCError(.notReachable) == WCError(.notReachable))
        #expect(WCError(.notReachable) != WCError(.deliveryFailed))
    }

    @Test("An unknown code is generic")
    func unknown() {
        let error: any Error = NSError(domain: WCErrorDomain, code: 7777)
        #expect((error as? WCError)?.code == .genericError && (error as? WCError)?.errorCode == 7777)
    }
}
