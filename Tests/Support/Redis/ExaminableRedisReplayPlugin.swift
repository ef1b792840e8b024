#if Redis
    package import MeshBus
    import Foundation
    import MeshRedisReplay
    import MeshResumeGateway

    /// MeshRedisReplay's plugin, with a separate server for each rule.
    package struct ExaminableRedisReplayPlugin: Plugin {
        private let plugin = RedisReplayPlugin()

        package init() {}

        package var descriptor: PluginDescriptor { plugin.descriptor }

        package func contribute(to registry: inout ExtensionRegistry) {
            let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
            let isThere = folders.contains { FileManager.default.isExecutableFile(atPath: "\($0)/redis-server") }
            registry.add(
                ReplayBufferFixture(
                    exemption: isThere ? nil : "there is no redis-server in PATH",
                    rules: ReplayBufferRules.all + MailboxStoreRules.all
                ) { limits in
                    try await RedisServer().subject(limits)
                }, to: .replayBuffers)
        }
    }
#endif
