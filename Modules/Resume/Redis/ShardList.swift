#if Redis
    internal import MeshBase
    internal import MeshResumeGateway

    /// The list of shards that all processes place streams by. Each shard keeps the newest one, and the script refuses questions
    /// by an earlier one (`LIST`). Otherwise two processes with different lists would number one stream on two shards.
    ///
    /// A process whose list isn't the newest when it connects begins a new one. From then on processes with the former list are
    /// refused until they are restarted.
    ///
    /// **Streams that come back.** If a shard is added and removed again, some streams return to a shard that has their earlier
    /// events. They must not continue there, because clients have seen later numbers elsewhere. So each stream notes the list
    /// under which it was last used, and continues only if that is the present one or the one just before it. A stream that
    /// wasn't used under a whole list gets a new epoch too, because nothing tells where it was.
    struct ShardList: Hashable, Sendable {
        /// Greater than the ID of every earlier list. Less than 2^53, because Lua's numbers are inexact beyond it.
        var id: UInt64 = 0
        /// The ID of the list before this one; 0 if there was none.
        var before: UInt64 = 0
        /// The digest of the shards' names.
        var digest: UInt64

        /// Returns a new list after this one. Its ID begins with the time, in case no shard of the list before is left.
        func next(_ digest: UInt64, seconds: Double, random: UInt64) -> ShardList {
            let time = UInt64(min(max(0, seconds), 4e9) * 1000)
            return ShardList(id: max(time << 10 | random & 0x3ff, id + 1), before: id, digest: digest)
        }
    }

    extension ShardList {
        init?(_ value: RedisValue) {
            guard let list = value.list, list.count == 5, let id = list[2].number, let before = list[3].number,
                let digest = list[4].number, before <= id, id < 1 << 53 - 1
            else { return nil }
            self.init(id: id, before: before, digest: digest)
        }
    }
#endif
