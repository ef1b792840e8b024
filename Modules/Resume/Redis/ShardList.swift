#if Redis
    internal import MeshBase
    internal import MeshResumeGateway

    /// The list of shards by which all processes place streams. Each shard keeps the newest list, and the script
    /// refuses questions from processes with an earlier one (`LIST`). Otherwise two processes with different lists
    /// would number one stream on two shards.
    ///
    /// A process whose list isn't the newest when it connects begins a new one. From then on processes with the former list are
    /// refused until they are restarted.
    ///
    /// **Streams that come back.** If a shard is added and removed again, some streams return to a shard that has their
    /// earlier events. They must not continue there, because clients have seen later numbers elsewhere. So each stream
    /// stores the list under which it was last used, and continues only if that is the current list or the one just
    /// before it. A stream that wasn't used at all while one of the lists was in use gets a new epoch too, because the
    /// script can't tell which shard it was on.
    struct ShardList: Hashable, Sendable {
        /// Greater than the ID of every earlier list. Less than 2^53, because Lua's numbers are inexact beyond it.
        var id: UInt64 = 0
        /// The ID of the list before this one; 0 if there was none.
        var before: UInt64 = 0
        /// The digest of the shards' names.
        var digest: UInt64

        /// Returns a new list after this one. Its ID begins with the time, so that it is greater even if no shard of
        /// the earlier list is left.
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
