#if Redis
    import MeshResumeGateway

    /// Conforms because the buffer hands each question to a thread of its own.
    extension RedisReplayBuffer: PromptReplayBuffer {}
#endif
