import MeshBase
import Testing

@Suite struct TokenBucketTests {
    /// Tries to take one token at each time.
    private func taken(from bucket: inout TokenBucket, at times: [Duration]) -> [Bool] {
        times.map { bucket.take($0) }
    }

    @Test func `gives a burst at once, then a fixed number per second`() {
        var bucket = TokenBucket(perSecond: 2, atOnce: 3)
        let first = taken(from: &bucket, at: [.zero, .zero, .zero, .zero, .milliseconds(499)])
        #expect(first == [true, true, true, false, false])
        let second = taken(from: &bucket, at: [.milliseconds(500), .milliseconds(500), .seconds(1)])
        #expect(second == [true, false, true])
    }

    @Test func `holds no more than the burst after a long pause`() {
        var bucket = TokenBucket(perSecond: 2, atOnce: 3)
        let taken = taken(from: &bucket, at: Array(repeating: .seconds(3600), count: 5))
        #expect(taken == [true, true, true, false, false])
    }

    @Test func `takes several tokens or none`() {
        var bucket = TokenBucket(perSecond: 1, atOnce: 4)
        let taken = [5, 3, 2, 1].map { bucket.take(.zero, count: $0) }
        #expect(taken == [false, true, false, true])
        let available = bucket.available(.seconds(2))
        #expect(available == 2)
    }

    @Test func `gives nothing when time goes back`() {
        var bucket = TokenBucket(perSecond: 1, atOnce: 1)
        let taken = taken(from: &bucket, at: [.seconds(10), .seconds(5), .milliseconds(10_999), .seconds(11)])
        #expect(taken == [true, false, false, true])
    }

    @Test func `is full again when it is refilled`() {
        var bucket = TokenBucket(perSecond: 1, atOnce: 2)
        bucket.take(.zero, count: 2)
        bucket.refill()
        let available = bucket.available(.zero)
        #expect(available == 2)
    }

    @Test(arguments: [0, -1, .min])
    func `never gives a token if its rate is zero`(count: Int) {
        var bucket = TokenBucket(perSecond: Double(count), atOnce: count)
        let taken = taken(from: &bucket, at: [.zero, .seconds(1 << 40)])
        #expect(taken == [false, false])
    }

    @Test func `takes the largest numbers`() {
        var bucket = TokenBucket(perSecond: 1e12, atOnce: .max)
        let most = Int(Int32.max)
        let taken = [Duration.zero, .zero, .seconds(1)].map { bucket.take($0, count: most) }
        #expect(taken == [true, false, true])
    }
}
