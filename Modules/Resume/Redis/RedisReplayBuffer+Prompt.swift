#if Redis
    import MeshResumeGateway

    /// Questions are handed to a thread of the buffer's own.
    extension RedisReplayBuffer: PromptReplayBuffer {}
#endif
