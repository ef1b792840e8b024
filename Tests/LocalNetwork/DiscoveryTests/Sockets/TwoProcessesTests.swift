#if compiler(>=6.2) && os(Linux)
    import Foundation
    import MeshTestSupport
    import Testing

    @testable import MeshDiscovery

    @Suite struct TwoProcessesTests {
        @Test("Two processes that have MeshDiscovery alone find each other, and hear each other's goodbye")
        func twoProcesses() async throws {
            let party = try Party(.multicast, .of(process: getpid()))
            party.announce("parent", port: 1)
            let child = Task {
                await #expect(processExitsWith: .success) {
                    // Ends the process if it hangs.
                    alarm(600)
                    let party = try Party(.multicast, .of(process: getppid()))
                    party.announce("child", port: 2)
                    #expect(await party.recorder.service("parent") { $0["seen"] != nil }?.port == 1)
                    await party.discovery.stop()
                }
            }
            #expect(await party.recorder.service("child")?.port == 2)
            party.announce("parent", port: 1, [ServiceAttribute("seen", "yes")])
            await party.recorder.loss(of: "child")
            #expect(party.recorder.services.isEmpty)
            _ = await child.value
            await Party.stop(party)
        }
    }

    extension ServiceType {
        fileprivate static func of(process: pid_t) -> ServiceType {
            ServiceType("_p" + String(process, radix: 36) + "._tcp")
        }
    }
#endif
