/// A buffer that a gateway calls on its event loop: its functions compute briefly, and wait only by `await`. Other buffers are
/// called from the pool of tasks, so that one that blocks can't stop a gateway's sockets.
package protocol PromptReplayBuffer: ReplayBuffer {}

extension MemoryReplayBuffer: PromptReplayBuffer {}
