#if WebSocket
    import MeshBase
    import Testing

    @testable import MeshGatewayServer

    @Suite struct IdempotencyKeysTests {
        private func code(_ body: () throws(PublishingError) -> Void) -> PublishingError.Code? {
            do throws(PublishingError) { try body() } catch { return error.code }
            return nil
        }

        @Test func `A repeated key returns what the first request appended`() throws {
            var keys = IdempotencyKeys()
            #expect(try keys.begin("a", request: 1, count: 2, .zero) == [nil, nil])
            #expect(
                code { () throws(PublishingError) in _ = try keys.begin("a", request: 1, count: 2, .zero) }
                    == .inProgress)
            keys.end("a", [7, nil])
            #expect(try keys.begin("a", request: 1, count: 2, .zero) == [7, nil])
            keys.end("a", [7, 8])
            #expect(try keys.begin("a", request: 1, count: 2, .seconds(1)) == [7, 8])
            #expect(
                code { () throws(PublishingError) in _ = try keys.begin("a", request: 2, count: 2, .zero) }
                    == .keyReused)
        }

        @Test func `A request that appended nothing leaves no key`() throws {
            var keys = IdempotencyKeys()
            _ = try keys.begin("a", request: 1, count: 1, .zero)
            keys.end("a", [nil])
            #expect(keys.count == 0 && keys.sequenceCount == 0)
            #expect(try keys.begin("a", request: 2, count: 1, .zero) == [nil])
        }

        @Test func `A key is forgotten after its lifetime, and not before`() throws {
            var keys = IdempotencyKeys()
            _ = try keys.begin("a", request: 1, count: 1, .zero)
            keys.end("a", [1])
            let last = IdempotencyKeys.lifetime - .seconds(1)
            #expect(try keys.begin("a", request: 1, count: 1, last) == [1])
            keys.end("a", [1])
            #expect(try keys.begin("a", request: 1, count: 1, IdempotencyKeys.lifetime) == [nil])
            // The end of the request before counts for nothing.
            keys.end("a", [2, 3])
            #expect(
                code { () throws(PublishingError) in _ = try keys.begin("a", request: 1, count: 1, last) }
                    == .inProgress)
        }

        @Test func `Beyond a bound the oldest key is forgotten`() throws {
            var keys = IdempotencyKeys()
            for number in 0...IdempotencyKeys.keysMax {
                _ = try keys.begin("\(number)", request: 0, count: 1, .zero)
                keys.end("\(number)", [1])
            }
            #expect(keys.count == IdempotencyKeys.keysMax)
            #expect(try keys.begin("1", request: 0, count: 1, .zero) == [1])
            #expect(try keys.begin("0", request: 0, count: 1, .zero) == [nil])
            for key in ["0", "1"] { keys.end(key, [nil]) }
            for number in 0..<2 * IdempotencyKeys.sequencesMax / PublishedEvent.batchMax {
                _ = try keys.begin("batch \(number)", request: 0, count: PublishedEvent.batchMax, .zero)
                keys.end("batch \(number)", [UInt64?](repeating: 1, count: PublishedEvent.batchMax))
            }
            #expect(keys.sequenceCount == IdempotencyKeys.sequencesMax)
            #expect(keys.count == IdempotencyKeys.sequencesMax / PublishedEvent.batchMax)
        }

        @Test func `The key of a request that is being handled isn't forgotten`() throws {
            var keys = IdempotencyKeys()
            _ = try keys.begin("slow", request: 0, count: 1, .zero)
            for number in 0...2 * IdempotencyKeys.keysMax {
                _ = try keys.begin("\(number)", request: 0, count: 1, .zero)
                keys.end("\(number)", [1])
            }
            #expect(keys.count == IdempotencyKeys.keysMax)
            let late = IdempotencyKeys.lifetime * 2
            #expect(
                code { () throws(PublishingError) in
                    _ = try keys.begin("slow", request: 0, count: 1, late)
                } == .inProgress)
            #expect(keys.count == 1)
            keys.end("slow", [7])
            #expect(try keys.begin("slow", request: 0, count: 1, late) == [7])
            // Even if the bound can't be kept.
            for number in 0..<200 {
                _ = try keys.begin("batch \(number)", request: 0, count: PublishedEvent.batchMax, late)
            }
            #expect(keys.sequenceCount == 200 * PublishedEvent.batchMax + 1)
        }

        @Test(arguments: [["a", "a"], [""], ["a b"], ["é"], [String(repeating: "x", count: 129)]])
        func `A key is one short word`(values: [String]) {
            #expect(code { () throws(PublishingError) in _ = try IdempotencyKeys.key(in: values) } == .invalidKey)
        }
    }
#endif
