#if Redis
    public import MeshBus

    /// A plugin that registers MeshRedisReplay.
    public struct RedisReplayPlugin: Plugin {
        /// Creates the plugin, which has no settings.
        public init() {}

        public var descriptor: PluginDescriptor {
            PluginDescriptor(
                id: "replay.redis", kind: "replay", module: "MeshRedisReplay", version: "0.1.0",
                summary: "A gateway's events in Redis Streams, numbered there for any number of processes",
                requires: ["feature.resume-gateway"])
        }
    }
#endif
