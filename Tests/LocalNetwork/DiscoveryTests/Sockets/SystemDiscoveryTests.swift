#if SystemDiscovery && os(Linux)
    import Foundation
    import MeshDiscovery
    import MeshTestSupport
    import Testing

    /// Behavior of `SystemDiscovery` without the responder or the interface.
    @Suite struct SystemDiscoveryTests {
        #if compiler(>=6.2)
            /// Runs in a separate process with a bus address at which no responder exists.
            @Test("the observer is notified if there is no responder") func unavailable() async {
                await #expect(processExitsWith: .success) {
                    // Ends the process if it hangs.
                    alarm(600)
                    setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nowhere", 1)
                    let recorder = DiscoveryRecorder()
                    let discovery = SystemDiscovery(type: .unique())
                    try discovery.start(recorder)
                    #expect(await recorder.failure()?.code == .unavailable)
                    await discovery.stop()
                }
            }
        #endif

        @Test("an interface that does not exist is refused at once") func unknownInterface() {
            let discovery = SystemDiscovery(type: .unique(), interface: "nowhere0")
            #expect { try discovery.start(DiscoveryRecorder()) } throws: {
                ($0 as? DiscoveryError)?.code == .noInterface
            }
        }
    }

    /// Behavior of `SystemDiscovery` when the responder stops and returns.
    @Suite(
        .enabled(
            if: ProcessInfo.processInfo.environment["MESH_OUTAGE"] != nil,
            "stops the responder: runs in Tests/Network/with-avahi env MESH_OUTAGE=1"))
    struct ResponderOutageTests {
        @Test("services are lost with the responder, and found again when it returns") func outage() async throws {
            let type = ServiceType.unique()
            let (announcer, seeker) = try (Party(.system, type), Party(.system, type))
            announcer.announce("phone", port: 1)
            for _ in 0..<3 {
                await seeker.recorder.service("phone")
                try await Self.shell(
                    "kill $(cat /run/avahi-daemon/pid); while [ -e /run/avahi-daemon/pid ]; do sleep 0.01; done")
                await seeker.recorder.loss(of: "phone")
                try await Self.shell(
                    "avahi-daemon --daemonize --file=/run/avahi.conf --no-drop-root --no-chroot --no-rlimits >&- 2>&-")
            }
            #expect(await seeker.recorder.service("phone")?.port == 1)
            await Party.stop(announcer, seeker)
        }

        private static func shell(_ command: String) async throws {
            let (status, output) = try await Program.run("sh", ["-ec", command])
            try #require(status == 0, "\(output)")
        }
    }
#endif
