/// A buffer that a gateway may call on its event loop, because its functions compute briefly and wait only by `await`.
/// The gateway calls other buffers on Swift's thread pool, so that a buffer that blocks can't stop the gateway's
/// sockets.
package protocol PromptReplayBuffer: ReplayBuffer {}

extension MemoryReplayBuffer: PromptReplayBuffer {}
