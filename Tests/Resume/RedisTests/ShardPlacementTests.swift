#if Redis
    import MeshResumeGateway
    import Testing

    @testable import MeshRedisReplay

    @Suite struct ShardPlacementTests {
        private let streams = (0..<20_000).map { "user \($0)" }

        private func places(_ names: [String]) -> [String] {
            let placement = ShardPlacement(names)
            return streams.map { names[placement.shard(of: $0)] }
        }

        @Test func `Streams stay where every version has placed them`() {
            let placement = ShardPlacement(["a", "b", "c", "d"])
            let places = (0..<16).map { placement.shard(of: "user \($0)") }
            #expect(places == [3, 0, 3, 0, 2, 1, 0, 2, 1, 0, 2, 1, 0, 1, 1, 1])
            #expect(placement.digest == 0x81c7_a61a_26bf_5a93)
        }

        @Test(arguments: 2...8) func `Each shard has its share of the streams`(count: Int) {
            let places = places((0..<count).map { "redis://10.0.0.\($0):6379/0" })
            for shares in Dictionary(grouping: places, by: \.self).values.map(\.count) {
                #expect(abs(Double(shares * count) / Double(streams.count) - 1) < 0.1, "\(shares)")
            }
        }

        @Test(arguments: 1...7) func `A new shard takes its share, equally from each, and nothing else moves`(
            count: Int
        ) {
            let names = (0...count).map { "shard \($0)" }
            let (before, after) = (places(Array(names.dropLast())), places(names))
            let moved = zip(before, after).filter { $0 != $1 }
            #expect(moved.allSatisfy { $0.1 == names[count] })
            #expect(abs(Double(moved.count * (count + 1)) / Double(streams.count) - 1) < 0.1)
            for shares in Dictionary(grouping: moved, by: \.0).values.map(\.count) {
                #expect(abs(Double(shares * count) / Double(moved.count) - 1) < 0.2)
            }
        }

        @Test func `Without a shard only its own streams move, and the order of the list doesn't matter`() {
            let names = ["a", "b", "c", "d", "e"]
            let before = places(names)
            for (was, now) in zip(before, places(names.filter { $0 != "c" })) { #expect(was == "c" || now == was) }
            #expect(places(names.reversed()) == before)
            #expect(ShardPlacement(names.reversed()).digest == ShardPlacement(names).digest)
            #expect(ShardPlacement(["a", "b"]).digest != ShardPlacement(["a", "c"]).digest)
        }

        @Test func `A single shard's name doesn't matter`() {
            #expect(ShardPlacement(["a"]).digest == ShardPlacement(["b"]).digest)
            #expect(ShardPlacement(["a"]).shard(of: "s") == 0)
        }

        @Test func `A new list has a greater number than the one before, whatever the clock says`() {
            let first = ShardList(digest: 0).next(7, seconds: 1.7e9, random: .max)
            #expect(first == ShardList(id: 1_700_000_000_000 << 10 | 0x3ff, before: 0, digest: 7))
            for seconds in [0, -1, .infinity, 1.7e9] as [Double] {
                let next = first.next(8, seconds: seconds, random: 0)
                #expect(next.id > first.id && next.before == first.id && next.id < 1 << 53)
            }
        }

        @Test func `A shard's name is its address, or what the list says`() throws {
            #expect(try RedisAddress("redis://:secret@h/3").name == "redis://h:6379/3")
            #expect(try RedisAddress("redis://:secret@h/3#a").name == "a")
            #expect(try RedisAddress("unix:///run/redis?db=2#b").name == "b")
            #expect(try RedisAddress("redis+sentinel://h,i:7/one").name == "one/0")
            #expect(try RedisAddress("redis+sentinel://h,i:7/one/2#c").name == "c")
        }

        @Test func `An address of Sentinels has each one's port, and the master's password`() throws {
            let address = try RedisAddress("redis+sentinel://me:secret@h,[::1]:7,i:26380/one/2")
            #expect(address.description == "redis+sentinel://h:26379,::1:7,i:26380/one/2")
            #expect(address.user == "me" && address.password == "secret" && address.database == 2)
            #expect(try RedisAddress("redis+sentinel://h/one", password: "x").password == "x")
        }

        @Test(arguments: [
            "redis+sentinel://h", "redis+sentinel://h/", "redis+sentinel:///one", "redis+sentinel://h,/one",
            "redis+sentinel://h:0/one", "redis+sentinel://h/one/x", "redis+sentinel://h/one/1/2",
            "redis+sentinel://,h/one",
            "redis+sentinel://" + Array(repeating: "h", count: 17).joined(separator: ",") + "/one",
        ])
        func `A URL that isn't an address of Sentinels is refused`(url: String) {
            #expect(throws: ReplayBufferError.self) { try RedisAddress(url) }
        }
    }
#endif
