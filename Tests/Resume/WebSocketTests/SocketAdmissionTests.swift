#if WebSocket
    import MeshBase
    import Testing

    @testable import MeshWebSocket

    @Suite struct SocketAdmissionTests {
        private func limits(_ count: Int) -> WebSocketLimits {
            var limits = WebSocketLimits()
            limits.connectionsMax = count
            return limits
        }

        @Test func `The last tenth of places is reserved for known addresses`() {
            var admission = SocketAdmission(limits(20))
            admission.remember("known")
            for number in 0..<18 { #expect(admission.admit("stranger \(number)") != nil) }
            #expect(admission.admit("one more stranger") == nil)
            #expect(admission.admit("known") != nil)
            #expect(admission.admit("known") != nil)
            #expect(admission.admit("known") == nil, "there is no place left")
            admission.release("known")
            #expect(admission.admit("one more stranger") == nil)
            #expect(admission.admit("known") != nil)
        }

        @Test func `A client behind a proxy takes one place, and strangers leave the last tenth free there too`() {
            var admission = SocketAdmission(limits(20))
            admission.remember("known")
            for number in 0..<18 {
                #expect(admission.admit(nil) != nil)
                #expect(admission.enter("stranger \(number)") == true)
            }
            #expect(admission.admit(nil) != nil, "the client may be known")
            #expect(admission.enter("one more stranger") == false)
            admission.release(nil)
            for _ in 0..<2 {
                #expect(admission.admit(nil) != nil)
                #expect(admission.enter("known") == true)
            }
            #expect(admission.admit(nil) == nil, "there is no place left")
        }

        @Test func `The number of known addresses is bounded, and the newest are kept`() {
            var admission = SocketAdmission(limits(1))
            let count = 3 * SocketAdmission.knownAddressesMax
            for number in 0..<count { admission.remember("\(number)") }
            #expect(admission.knownCount <= SocketAdmission.knownAddressesMax)
            for number in (count - SocketAdmission.knownAddressesMax / 2)..<count {
                #expect(admission.isKnown("\(number)"))
            }
        }

        @Test func `More connections than the hard limit of descriptors holds are refused`() throws {
            let most = WebSocketLimits.connectionsThatFit
            #expect(WebSocketLimits().connectionsMax == min(100_000, most))
            #expect(try limits(most).fitted().connectionsMax <= most)
            guard most < .max - 100 else { return }
            do throws(WebSocketError) {
                _ = try limits(most + 1).fitted()
                Issue.record("\(most + 1) connections are accepted")
            } catch {
                #expect(error.code == .invalidSettings)
                #expect(error.message.contains("set connectionsMax to at most \(most)"))
            }
        }
    }
#endif
